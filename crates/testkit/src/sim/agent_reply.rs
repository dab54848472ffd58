//! What a model writes as an agent: reports instead of `done`, and tags instead of calls.

use bonded_kernel::{
    AgentConfig, DONE, Encoding, FINAL_REPORT, Finish, Reply, ReplyCall, ReportFormat, Request,
    RunConfig,
};
use serde_json::{Value, json};

use super::own_reply::add_own_calls;
use crate::rng::Rng;

/// Rewrites a reply as the agent's encoding wants it, or as models get it wrong.
pub(crate) fn dress(rng: &mut Rng, config: &RunConfig, request: &Request<'_>, reply: &mut Reply) {
    let Some(agent) = &config.agent else { return };
    for call in &mut reply.calls {
        if call.tool == DONE {
            *call = report_call(rng, agent, call);
        }
    }
    if rng.chance(20) {
        flood(reply);
    }
    if rng.chance(50) {
        spoil_arguments(rng, reply);
    }
    add_own_calls(rng, config, request, reply);
    if agent.encoding != Encoding::Native {
        write_tags(rng, config, agent, request.turn, reply);
    } else if rng.chance(30) {
        reply.text = report_arguments(agent.report.format, "in the text").to_string();
    }
}

/// Fields by which a report of any format can be given.
fn report_arguments(format: ReportFormat, answer: &str) -> Value {
    let name = format.as_str();
    match format {
        ReportFormat::Json => {
            json!({ "report_format": name, "content_json": { "answer": answer } })
        }
        ReportFormat::SlackBlockKit => json!({ "report_format": name, "messages": [answer] }),
        _ => json!({ "report_format": name, "report_content": answer }),
    }
}

fn report_call(rng: &mut Rng, agent: &AgentConfig, done: &ReplyCall) -> ReplyCall {
    let reason = serde_json::from_str(&done.arguments)
        .ok()
        .and_then(|arguments: Value| Some(arguments.get("reason")?.as_str()?.to_owned()))
        .unwrap_or_default();
    let arguments = match rng.below(10) {
        0 => json!({ "report_format": "tty", "report_content": 5 }),
        1 => json!({ "status": "failure" }),
        _ => report_arguments(agent.report.format, &reason),
    };
    let name = rng.weighted(&[(9, FINAL_REPORT), (1, "final_report")]);
    ReplyCall {
        id: done.id.clone(),
        tool: name.into(),
        arguments: match rng.chance(50) {
            true => "I am done".into(),
            false => arguments.to_string(),
        },
    }
}

/// Far more calls than anybody executes.
fn flood(reply: &mut Reply) {
    let many = 0..80;
    let calls = many.map(|nth| ReplyCall {
        id: format!("flood-{nth}"),
        tool: "rm".into(),
        arguments: "{}".into(),
    });
    reply.calls.extend(calls);
}

/// JSON as models write it: almost.
fn spoil_arguments(rng: &mut Rng, reply: &mut Reply) {
    for call in &mut reply.calls {
        call.arguments = match rng.below(4) {
            0 => format!("```json\n{}\n```", call.arguments),
            1 => call.arguments.trim_end_matches('}').to_owned(),
            2 => call.arguments.replace('"', "'"),
            _ => format!("Sure: {}", call.arguments),
        };
    }
}

fn write_tags(
    rng: &mut Rng,
    config: &RunConfig,
    agent: &AgentConfig,
    turn: u32,
    reply: &mut Reply,
) {
    let calls = std::mem::take(&mut reply.calls);
    let mut slot = (turn - 1) * config.limits.calls_per_turn_max + 1;
    for call in calls {
        let is_report = call.tool.ends_with("final_report");
        if !is_report && (agent.encoding == Encoding::XmlFinal || rng.chance(20)) {
            reply.calls.push(call);
            continue;
        }
        let name = if is_report {
            "FINAL".into()
        } else {
            format!("{slot:04}")
        };
        slot += u32::from(!is_report);
        let payload = match is_report {
            true => report_payload(rng, agent, &call.arguments),
            false => call.arguments,
        };
        reply
            .text
            .push_str(&tag(rng, agent, &name, &call.tool, &payload));
    }
    if reply.calls.is_empty() && reply.finish == Finish::ToolCalls {
        reply.finish = rng.pick(&[Finish::Stop, Finish::Stop, Finish::Unknown, Finish::Length]);
    }
}

/// What stands in the tag of a report: not the arguments of a call, but the report itself.
fn report_payload(rng: &mut Rng, agent: &AgentConfig, arguments: &str) -> String {
    match agent.report.format {
        ReportFormat::Json if rng.chance(800) => json!({ "answer": "in a tag" }).to_string(),
        ReportFormat::SlackBlockKit if rng.chance(800) => json!(["in a tag"]).to_string(),
        _ => arguments.to_owned(),
    }
}

fn tag(rng: &mut Rng, agent: &AgentConfig, slot: &str, tool: &str, payload: &str) -> String {
    let nonce = if rng.chance(30) {
        "bad0bad0"
    } else {
        &agent.nonce
    };
    let name = format!("ai-agent-{nonce}-{slot}");
    let close = match rng.chance(50) {
        true => String::new(),
        false => format!("</{name}>"),
    };
    let tool = match slot {
        "FINAL" => FINAL_REPORT,
        _ => tool,
    };
    let written = format!("<{name} tool=\"{tool}\">{payload}{close}\n");
    match rng.chance(30) {
        true => written.repeat(2),
        false => written,
    }
}
