//! Agent files: any text is an agent or refused at a line that it has, and an agent is the same each time.

#![no_main]

use std::path::Path;

use bonded_host::agent_file::{AgentFile, IncludePolicy, Variables};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    let nowhere = Path::new("/nonexistent");
    let file = nowhere.join("a.ai");
    let read = || AgentFile::from_text(text, &file, nowhere, IncludePolicy::InsideTree);
    match (read(), read()) {
        (Ok(agent), Ok(again)) => {
            assert_eq!(agent, again);
            assert!(agent.body.len() <= text.len() && text.ends_with(&agent.body));
            assert_eq!(agent.prompt(&Variables::default()), agent.body);
            assert!(agent.input_schema().is_object() || agent.input.is_some());
            for (key, given) in &agent.options {
                assert!(
                    text.contains("---") && given.place.contains("line"),
                    "{key}"
                );
            }
        }
        (Err(error), Err(again)) => {
            assert_eq!(error.to_string(), again.to_string());
            assert!(error.to_string().len() <= 2000 + 4 * text.len());
        }
        (one, other) => panic!("{one:?} and then {other:?}"),
    }
});
