//! The prompt file of the agent: any bytes are read or refused with a reason, and what was read is read again.

#![no_main]

use bonded_workspace_rules::{AgentPrompt, PromptFault};
use bonded_kernel::{DEFAULT_CONDITION, STATES, TAGS};
use libfuzzer_sys::fuzz_target;

fn check_good(prompt: &AgentPrompt) {
    assert!(
        prompt
            .allowed_tags
            .iter()
            .all(|tag| TAGS.contains(&tag.as_str()))
    );
    for segment in &prompt.segments {
        let condition = segment.condition.as_str();
        assert!(condition == DEFAULT_CONDITION || STATES.contains(&condition));
        assert!(!segment.prompt.trim().is_empty());
    }
    assert_eq!(prompt.segments_for(&STATES).count(), prompt.segments.len());
    let written = serde_json::to_vec(prompt).expect("a prompt is JSON");
    let again = AgentPrompt::read(&written).expect("what was read is well");
    assert_eq!(&again.prompt, prompt);
    assert_eq!(again.warnings, []);
}

fuzz_target!(|bytes: &[u8]| {
    let read = AgentPrompt::read(bytes);
    assert_eq!(read, AgentPrompt::read(bytes));
    match read {
        Ok(read) => check_good(&read.prompt),
        Err(fault) => {
            assert!(fault.code().as_str().starts_with("PROMPT_"));
            if let PromptFault::Schema { faults } = &fault {
                assert!(!faults.is_empty() && faults.len() <= 8 + 2 * bytes.len());
            }
            assert!(fault.to_string().len() <= 4000 + 1000 * bytes.len());
        }
    }
});
