//! What a run that works in loops shows a model: the segments of its states, and one message with its memory, what
//! came of the last turn, and the request. Nothing else that was said before is sent.

use std::sync::Arc;

use super::Looping;
use crate::config::segments_for;
use crate::event::Call;
use crate::memory::USER_REQUEST_KEY;
use crate::text::Text;

/// An entry of the memory, and all of them, are shown up to here. A memory that the agent itself wrote is smaller.
const ENTRY_BYTES_MAX: usize = 8_192;
const MEMORY_BYTES_MAX: usize = 65_536;

/// The segments that are always given and those of the states, in the order of the prompt file, and what the run itself
/// has to say.
pub(super) fn system(looping: &Looping, own: &str) -> Text {
    let states = looping.memory.states();
    let labels: Vec<&str> = states.iter().map(|state| state.as_str()).collect();
    let segments = segments_for(&looping.segments, &labels);
    let own = Some(own).filter(|own| !own.is_empty());
    let prompts = segments.map(|segment| segment.prompt.as_str()).chain(own);
    let prompts: Vec<&str> = prompts.collect();
    prompts.join("\n\n").into()
}

/// The one message of a turn.
pub(super) fn message(looping: &Looping, goal: &str) -> Text {
    let results = looping.results.text();
    let results = match results.is_empty() {
        true => String::new(),
        false => format!("Results of the last loop:\n{results}\n"),
    };
    let memory = memory_block(looping);
    format!("RAM:\n{memory}\n{results}Request:\n{goal}").into()
}

fn memory_block(looping: &Looping) -> String {
    let mut block = String::new();
    let mut left_out = 0u32;
    let entries = looping.memory.entries().iter();
    // The request stands at the end of the message.
    for (key, value) in entries.filter(|(key, _)| *key != USER_REQUEST_KEY) {
        let value = value.to_string();
        let shown = &value[..value.floor_char_boundary(ENTRY_BYTES_MAX)];
        let more = if shown.len() < value.len() { "…" } else { "" };
        let line = format!("{key}: {shown}{more}\n");
        if block.len() + line.len() > MEMORY_BYTES_MAX {
            left_out += 1;
        } else {
            block.push_str(&line);
        }
    }
    if left_out > 0 {
        block.push_str(&format!(
            "({left_out} more entries have no room here: delete what is no longer needed with ram_delete)\n"
        ));
    }
    block
}

/// What a reply that was not executed is answered with.
pub(crate) fn rejection(calls: &[Call]) -> Arc<str> {
    let faults = calls.iter().filter_map(|call| call.refused.as_ref());
    let faults: Vec<&str> = faults.map(|refusal| refusal.message.as_str()).collect();
    format!(
        "System notice: nothing of your last reply was executed. XML_PARSE_ERROR: {}\n\
         Write the whole reply again, as instructions only.",
        faults.join("; ")
    )
    .into()
}
