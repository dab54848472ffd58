//! What a model writes: good calls, and everything else that models are known to write.

use bonded_kernel::{DONE, Finish, Reply, ReplyCall, Request};
use serde_json::json;

use super::plan::Temper;
use crate::rng::Rng;

#[derive(Clone, Copy)]
enum Kind {
    Calls,
    Done,
    Blocked,
    DoneThenCalls,
    BadCalls,
    MixedCalls,
    SameIds,
    CutOff,
    FreeText,
    Garbage,
    Empty,
    ReasoningOnly,
    Filtered,
}

/// Writes the reply to a request.
pub(crate) fn write(rng: &mut Rng, temper: Temper, request: &Request<'_>) -> Reply {
    let kind = draw_kind(rng, temper);
    let mut reply = Reply {
        finish: Finish::ToolCalls,
        model: rng.chance(500).then(|| request.target.model.clone()),
        request_id: rng.chance(500).then(|| format!("req-{}", request.ordinal)),
        ..Reply::default()
    };
    if rng.chance(300) {
        reply.text = free_text(rng);
    }
    match kind {
        Kind::Calls => reply.calls = good_calls(rng),
        Kind::Done => reply.calls = vec![done(rng, "")],
        Kind::Blocked => reply.calls = vec![done(rng, "blocked: ")],
        Kind::DoneThenCalls => {
            reply.calls = good_calls(rng);
            reply.calls.push(done(rng, ""));
            reply.calls.extend(good_calls(rng));
        }
        Kind::BadCalls => reply.calls = (0..rng.between(1, 4)).map(|_| bad_call(rng)).collect(),
        Kind::MixedCalls => {
            let many = 0..rng.between(2, 12);
            reply.calls = many.map(|_| good_or_bad_call(rng)).collect();
        }
        Kind::SameIds => {
            reply.calls = good_calls(rng);
            let id = rng.pick(&["", "same", "call_1_1"]);
            reply.calls.iter_mut().for_each(|call| call.id = id.into());
        }
        Kind::CutOff => {
            reply.finish = Finish::Length;
            reply.calls = good_calls(rng);
            if let Some(last) = reply.calls.last_mut() {
                let half = last.arguments.len() / 2;
                last.arguments
                    .truncate(last.arguments.floor_char_boundary(half));
            }
        }
        Kind::FreeText => (reply.text, reply.finish) = (free_text(rng), Finish::Stop),
        Kind::Garbage => (reply.text, reply.finish) = (garbage(rng), Finish::Unknown),
        Kind::Empty => {
            reply.text = rng.pick(&["", " ", "\n"]).into();
            reply.finish = Finish::Stop;
        }
        Kind::ReasoningOnly => {
            reply.text.clear();
            reply.reasoning = free_text(rng);
        }
        Kind::Filtered => {
            reply.finish = Finish::ContentFilter;
            reply.calls = good_calls(rng);
        }
    }
    reply
}

fn draw_kind(rng: &mut Rng, temper: Temper) -> Kind {
    let (good, ends, bad, mute) = match temper {
        Temper::Diligent => (40, 4, 3, 1),
        Temper::Endless => (40, 0, 5, 2),
        Temper::Erratic => (8, 1, 10, 4),
        Temper::Silent => (4, 1, 2, 20),
    };
    rng.weighted(&[
        (good, Kind::Calls),
        (ends, Kind::Done),
        (ends.min(1), Kind::Blocked),
        (ends.min(1), Kind::DoneThenCalls),
        (bad, Kind::BadCalls),
        (bad, Kind::MixedCalls),
        (bad, Kind::SameIds),
        (bad, Kind::CutOff),
        (bad, Kind::FreeText),
        (bad, Kind::Garbage),
        (mute, Kind::Empty),
        (mute, Kind::ReasoningOnly),
        (mute.min(2), Kind::Filtered),
    ])
}

fn call(rng: &mut Rng, tool: &str, arguments: impl Into<String>) -> ReplyCall {
    ReplyCall {
        id: format!("c{:x}", rng.next_u64()),
        tool: tool.into(),
        arguments: arguments.into(),
    }
}

fn done(rng: &mut Rng, prefix: &str) -> ReplyCall {
    let reason = format!("{prefix}{}", word(rng));
    call(rng, DONE, json!({ "reason": reason }).to_string())
}

fn good_calls(rng: &mut Rng) -> Vec<ReplyCall> {
    let many = rng.weighted(&[(5, 1), (4, 3), (3, 6), (1, 12)]);
    (0..rng.between(1, many)).map(|_| good_call(rng)).collect()
}

fn good_or_bad_call(rng: &mut Rng) -> ReplyCall {
    if rng.chance(500) {
        good_call(rng)
    } else {
        bad_call(rng)
    }
}

fn good_call(rng: &mut Rng) -> ReplyCall {
    let word = word(rng);
    let (tool, arguments) = match rng.below(3) {
        0 => ("look", json!({ "at": word })),
        1 => (
            "put",
            json!({ "key": rng.between(1, 5).to_string(), "value": word }),
        ),
        _ => ("push", json!({ "item": word })),
    };
    call(rng, tool, arguments.to_string())
}

fn bad_call(rng: &mut Rng) -> ReplyCall {
    let (tool, arguments): (&str, String) = match rng.below(11) {
        0 => ("push", r#"{"item": "#.into()),
        1 => ("push", r#"{"item": 5}"#.into()),
        2 => ("push", r#"{"item": "x", "more": true}"#.into()),
        3 => ("push", r#"["item"]"#.into()),
        4 => ("push", format!("{{\"item\":{}", "[".repeat(10_000))),
        5 => ("put", r#"{"key": "k"}"#.into()),
        6 => ("rm", r#"{"path": "/"}"#.into()),
        7 => ("", "{}".into()),
        8 => ("done", r#"{"reason": ""}"#.into()),
        9 => ("done", "done".into()),
        _ => ("push", "null".into()),
    };
    call(rng, tool, arguments)
}

fn word(rng: &mut Rng) -> String {
    let length = rng.weighted(&[(12, 4), (3, 40), (1, 1_500)]);
    let first = rng.next_u64();
    let letters = (0..length).map(|_| rng.pick(&['a', 'b', 'ä', 'z', '"', '\\', '☃', ' ']));
    format!("{first:x}{}", letters.collect::<String>())
}

/// Text that a careless program would take for an order.
fn free_text(rng: &mut Rng) -> String {
    let order = rng.pick(&[
        "```sh\npush everything\n```",
        "<tool_call>{\"name\":\"push\",\"arguments\":{\"item\":\"x\"}}</tool_call>",
        "{\"tool\":\"done\",\"arguments\":{\"reason\":\"finished\"}}",
        "done(reason=\"all is well\")",
        "Let me think about this.",
    ]);
    format!("{order} {}", word(rng))
}

fn garbage(rng: &mut Rng) -> String {
    let length = rng.between(1, 60);
    let drawn = (0..length).map(|_| char::from_u32(rng.below(0xd7ff) as u32).unwrap_or('?'));
    drawn.collect()
}
