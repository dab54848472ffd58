//! What the kernel itself answers: batches with the results of their members, pages within their limit.

use bonded_kernel::{
    BATCH, Call, Event, FIND_TOOLS, PROGRESS_REPORT, RAM_ADD, RAM_DELETE, STATE_ADD, STATE_DELETE,
    TOOL_OUTPUT, ToolFinished,
};
use serde_json::Value;

use super::tools::decision;
use crate::sim::history::History;

/// Whether the kernel answers a tool itself.
pub(super) fn is_own(tool: &str) -> bool {
    [
        BATCH,
        PROGRESS_REPORT,
        TOOL_OUTPUT,
        FIND_TOOLS,
        STATE_ADD,
        STATE_DELETE,
        RAM_ADD,
        RAM_DELETE,
    ]
    .contains(&tool)
}

fn finished<'h>(history: &'h History, tool: &str) -> impl Iterator<Item = (u32, &'h ToolFinished)> {
    let tool = tool.to_owned();
    history
        .entries
        .iter()
        .filter_map(move |entry| match &entry.event {
            Event::ToolFinished(finished) if *finished.tool == *tool => {
                Some((entry.turn, &**finished))
            }
            _ => None,
        })
}

/// A batch is answered once with what its members came to, each once and in their order.
pub(super) fn a_batch_has_the_results_of_its_members(history: &History) -> Result<(), String> {
    for (turn, batch) in finished(history, BATCH) {
        let calls = decision(history, turn).unwrap_or_default();
        let own = calls.get(batch.call as usize).map(|call| &call.id);
        let is_member = |call: &&Call| call.member.as_ref().map(|it| &it.batch) == own;
        let members: Vec<&Call> = calls.iter().filter(is_member).collect();
        let answer: Value = serde_json::from_str(&batch.output).unwrap_or_default();
        let results = answer["results"].as_array().cloned().unwrap_or_default();
        let is_guarded = history.config.targets.iter().any(|it| it.window.is_some());
        // Where the context is guarded a flood of refused members is not told one by one.
        let mut rest = members
            .iter()
            .filter(|call| !is_guarded || call.refused.is_none() || results.len() == members.len());
        let told = results.iter().filter(|result| {
            !is_guarded || results.len() == members.len() || result["error"].is_null()
        });
        for result in told {
            let member = rest.find(|call| {
                let id = call.member.as_ref().map(|it| &*it.id);
                id == result["id"].as_str()
            });
            if member.is_none() {
                return Err(format!("turn {turn}: {result} belongs to no member"));
            }
        }
        if !is_guarded && results.len() != members.len() {
            let (told, all) = (results.len(), members.len());
            return Err(format!("turn {turn}: {told} results of {all} members"));
        }
    }
    Ok(())
}

pub(super) fn no_page_is_longer_than_an_output_may_be(history: &History) -> Result<(), String> {
    let max = history.config.limits.tool_output_bytes_max;
    for (turn, page) in finished(history, TOOL_OUTPUT) {
        let bytes = page.output.len() as u64;
        if bytes > max && page.dropped.is_none() {
            return Err(format!(
                "turn {turn}: a page of {bytes} bytes, the limit is {max}"
            ));
        }
    }
    Ok(())
}
