//! What a seed means for agents: about half of the worlds have one.

use bonded_kernel::{AgentConfig, Encoding, OwnTools, ReportFormat, ReportSpec, RunConfig, Window};
use serde_json::json;

use crate::rng::Rng;

/// Marks the tags of every simulated agent.
pub(crate) const NONCE: &str = "51dec0de";

/// Turns about half of all runs into those of agents. What it draws shifts nothing of the other half.
pub(crate) fn make_agent(seed: u64, config: &mut RunConfig) {
    let mut rng = Rng::derive(seed, "agent", &[]);
    if rng.chance(500) {
        return;
    }
    let rng = &mut rng;
    config.repairs = rng.chance(800);
    config.agent = Some(Box::new(AgentConfig {
        name: "simulated".into(),
        encoding: rng.pick(&[Encoding::Native, Encoding::XmlFinal, Encoding::Xml]),
        nonce: NONCE.into(),
        report: report(rng),
        tools: vec![],
        agents: vec![],
        config_files: vec![],
        quotes_are_text: true,
        handed_down: None,
        // Of few tools nothing is left out but where nothing is sent that may wait.
        deferred_above: Rng::derive(seed, "deferral", &[]).chance(300).then_some(0),
    }));
    if rng.chance(600) {
        give_windows(rng, config);
    }
    if rng.chance(400) {
        share_a_key(config);
    }
    give_own_tools(seed, config);
}

/// Many agents have what the kernel itself answers.
fn give_own_tools(seed: u64, config: &mut RunConfig) {
    let mut rng = Rng::derive(seed, "own tools", &[]);
    config.own_tools = OwnTools {
        batch: rng.chance(500),
        progress: rng.chance(400),
        output_kept_bytes_max: rng.chance(400).then_some(3_000),
        // Follows from the catalogue.
        search: false,
    };
    if config.own_tools.output_kept_bytes_max.is_some() {
        // Small enough that outputs are cut, large enough that the cut says how to read on.
        config.limits.tool_output_bytes_max = 400;
    }
}

fn report(rng: &mut Rng) -> ReportSpec {
    let format = rng.pick(&ReportFormat::ALL);
    let schema = json!({
        "type": "object",
        "properties": { "answer": { "type": "string" } },
        "required": ["answer"],
    });
    let has_schema = format == ReportFormat::Json && rng.chance(500);
    ReportSpec {
        format,
        schema: has_schema.then_some(schema),
    }
}

fn give_windows(rng: &mut Rng, config: &mut RunConfig) {
    for target in &mut config.targets {
        let window = Window {
            tokens: rng.pick(&[1_000, 6_000, 12_000, 30_000, 200_000]),
            buffer: rng.pick(&[0, 256]),
            vocabulary: Default::default(),
        };
        target.window = rng.chance(900).then_some(window);
    }
}

fn share_a_key(config: &mut RunConfig) {
    for target in &mut config.targets {
        target.endpoint = "sim:shared".into();
        target.key_env = Some("SIM_KEY".into());
    }
}
