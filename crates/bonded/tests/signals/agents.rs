//! An agent that has something counted by a server of tools, which leaves a line in a file for each time.

use std::fs;

use bonded_testkit::tool_server;
use serde_json::json;

use crate::model;
use crate::place::Place;

const COUNTED: &str = "counted.txt";

/// A place with the agent, and the words by which a command is given it.
pub(crate) fn place() -> (Place, Vec<String>) {
    let place = Place::new();
    let counted = place.work().join(COUNTED);
    let test = "agents::serves_tools_where_it_is_asked_to";
    let server = tool_server::of_this_program(test, &json!({ "COUNT_FILE": counted }));
    let config = json!({
        "providers": { "local": { "type": "openai-compatible", "baseUrl": model::serve() } },
        "mcpServers": { "test": server },
    });
    let (agent, file) = (place.path("counter.ai"), place.path("config.json"));
    fs::write(&file, config.to_string()).expect("it can be written");
    let text = "---\nmodels: local/m\ndescription: It counts.\ntools: test\n---\nYou count.\n";
    fs::write(&agent, text).expect("it can be written");
    let (agent, file) = (agent.display().to_string(), file.display().to_string());
    let words = [
        "--agent",
        &agent,
        "--config",
        &file,
        "--trust",
        "--tooling-transport",
        "native",
    ];
    let words = words.map(str::to_owned).to_vec();
    (place, words)
}

/// How often something was counted.
pub(crate) fn counted(place: &Place) -> usize {
    let lines = fs::read_to_string(place.work().join(COUNTED)).unwrap_or_default();
    lines.lines().count()
}

#[test]
fn serves_tools_where_it_is_asked_to() {
    tool_server::serve_where_it_is_asked_to();
}
