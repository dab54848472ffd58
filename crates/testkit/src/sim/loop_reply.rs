//! What a model writes in loops: instructions in place of calls, or what models make of them.

use bonded_kernel::{DONE, Finish, Reply, RunConfig};

use crate::rng::Rng;

/// Rewrites a reply as instructions.
pub(crate) fn dress(rng: &mut Rng, config: &RunConfig, reply: &mut Reply) {
    if config.looping.is_none() {
        return;
    }
    let calls = std::mem::take(&mut reply.calls);
    for call in calls {
        let written = match call.tool.as_str() {
            "look" => format!("<record_search><query>{}</query></record_search>", word(rng)),
            "put" => put(rng),
            "push" => push(rng),
            DONE => "<ram_add><key>steps</key><value>[]</value></ram_add><state_add><state>idle</state></state_add>"
                .into(),
            _ => broken(rng),
        };
        reply.text.push_str(&written);
        reply.text.push('\n');
        if rng.chance(20) {
            reply.calls.push(call);
        }
    }
    if reply.finish == Finish::ToolCalls && reply.calls.is_empty() {
        reply.finish = Finish::Stop;
    }
}

fn word(rng: &mut Rng) -> String {
    let length = rng.weighted(&[(12, 1), (3, 20), (1, 200)]);
    format!("w{:x}", rng.next_u64()).repeat(length)
}

fn put(rng: &mut Rng) -> String {
    let (key, value) = (rng.between(1, 3), word(rng));
    let value = match rng.below(4) {
        0 => format!("[\"{value}\", 1]"),
        1 => "12.50".into(),
        2 => format!("<![CDATA[{value}</value>]]>"),
        _ => value,
    };
    match rng.below(5) {
        0 => format!("<record_update><key>{key}</key><value>{value}</value></record_update>"),
        1 | 2 => format!("<ram_delete><key>k{key}</key></ram_delete>"),
        _ => format!("<ram_add><key>k{key}</key><value>{value}</value></ram_add>"),
    }
}

fn push(rng: &mut Rng) -> String {
    let states = [
        "planning",
        "executing",
        "evaluating",
        "idle",
        "record_organizing",
        "paging",
        "asleep",
    ];
    match rng.below(4) {
        0 => format!(
            "<record_add><keywords>k</keywords><value>{}</value></record_add>",
            word(rng)
        ),
        1 => "<record_issue><key>k</key><value>v</value><metadata>{}</metadata></record_issue>"
            .into(),
        2 => format!(
            "<state_delete><state>{}</state></state_delete>",
            rng.pick(&states)
        ),
        _ => format!(
            "<state_add><state>{}</state></state_add>",
            rng.pick(&states)
        ),
    }
}

fn broken(rng: &mut Rng) -> String {
    rng.pick(&[
        "<ram_add><key>k</key>",
        "<ram_add id=\"1\"><key>k</key><value>v</value></ram_add>",
        "<ram_add><key>k</key></ram_add>",
        "<ram_add/>",
        "<rm><path>/</path></rm>",
        "<!DOCTYPE x>",
        "<record_add><keywords>k</keywords><value>{\"title\":\"t\",\"kind\":\"settings\"}</value></record_add>",
        "</ram_add>",
        "rm -rf /",
        "<ram_add><key>run_id</key><value>mine</value></ram_add>",
    ])
    .into()
}
