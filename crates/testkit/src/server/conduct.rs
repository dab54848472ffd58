//! How the server behaves in a conversation: which notes it has read, and which faults it makes first.
//!
//! The model's name says it, in parts joined by `+`; any other part is only a name:
//!
//! | part | means |
//! |---|---|
//! | `turns-N` | N turns with one `read` each before `done`; 10 if not said |
//! | `429xN`, `500xN` | at every turn, N refused requests first |
//! | `not-json`, `empty`, `cut` | at every turn, one page of HTML, one empty reply, one connection cut within the body |
//! | `bad-args`, `unknown-tool` | before every good turn, one whose call cannot be accepted |
//! | `all` | all of the above, `429x2` and `500x2` |
//! | `report` | ends with an agent's report instead of `done` |
//! | `loops` | answers an agent that works in loops: each loop remembers something new, and none is the last |
//! | `hang`, `hang-at-N` | no answer at all, or none from the turn after N outputs on, until released |

use std::hash::{DefaultHasher, Hash, Hasher};

use super::ending;

const TURNS_DEFAULT: u32 = 10;

/// The tool that ends a plain run.
pub(super) const DONE: &str = "done";

/// A fault of the request: it is answered with something that is not a reply.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RequestFault {
    TooMany,
    ServerError,
    NotJson,
    Empty,
    Cut,
}

/// A fault of the model: a reply whose call cannot be accepted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CallFault {
    BadArguments,
    UnknownTool,
}

/// What a model's name asks for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Conduct {
    pub turns: u32,
    /// Made one after the other at every point of the conversation, before the reply.
    pub request_faults: Vec<RequestFault>,
    /// Made one after the other before every good call; each is answered by one tool message.
    pub call_faults: Vec<CallFault>,
    /// From so many tool messages on, nothing is answered.
    pub hang_at: Option<u32>,
    /// Whether it ends with an agent's report.
    pub report: bool,
    /// Whether it speaks to an agent that works in loops.
    pub loops: bool,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Answer {
    Call(CallMade),
    Fault(RequestFault),
    Hang,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct CallMade {
    pub(super) tool: &'static str,
    /// As the model writes them: a text that should be a JSON object.
    pub(super) arguments: String,
}

/// What matters of a request's body.
pub(super) struct Asked {
    pub(super) model: String,
    pub(super) conduct: Conduct,
    /// How many tool messages the conversation holds.
    pub(super) outputs: u32,
    pub(super) stream: bool,
    /// The same for every request of one conversation: from the model and the first user message.
    pub(super) key: u64,
    /// Of the tag that an agent's report is to be written in.
    pub(super) nonce: Option<String>,
}

/// Where a conversation stands, and how often it was heard there.
#[derive(Debug, Default)]
pub(super) struct Tally {
    outputs: u32,
    heard: u32,
}

/// The point of a conversation that a request comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Point {
    pub(super) outputs: u32,
    /// Earlier requests from the same point.
    pub(super) earlier: u32,
}

impl Tally {
    pub(super) fn hear(&mut self, outputs: u32) -> Point {
        if self.outputs != outputs {
            *self = Self { outputs, heard: 0 };
        }
        let earlier = self.heard;
        self.heard += 1;
        Point { outputs, earlier }
    }
}

impl Conduct {
    pub fn of(model: &str) -> Self {
        let mut conduct = Self {
            turns: TURNS_DEFAULT,
            request_faults: vec![],
            call_faults: vec![],
            hang_at: None,
            report: false,
            loops: false,
        };
        for part in model.split('+') {
            conduct.take(part);
        }
        conduct
    }

    fn take(&mut self, part: &str) {
        let number = |prefix: &str| {
            part.strip_prefix(prefix)
                .and_then(|n| n.parse::<u32>().ok())
        };
        match part {
            "not-json" => self.request_faults.push(RequestFault::NotJson),
            "empty" => self.request_faults.push(RequestFault::Empty),
            "cut" => self.request_faults.push(RequestFault::Cut),
            "bad-args" => self.call_faults.push(CallFault::BadArguments),
            "unknown-tool" => self.call_faults.push(CallFault::UnknownTool),
            "hang" => self.hang_at = Some(0),
            "report" => self.report = true,
            "loops" => self.loops = true,
            "all" => {
                let all = "429x2+500x2+not-json+empty+cut+bad-args+unknown-tool";
                all.split('+').for_each(|part| self.take(part));
            }
            _ => {
                if let Some(turns) = number("turns-") {
                    self.turns = turns;
                } else if let Some(outputs) = number("hang-at-") {
                    self.hang_at = Some(outputs);
                } else if let Some(times) = number("429x") {
                    self.repeat(RequestFault::TooMany, times);
                } else if let Some(times) = number("500x") {
                    self.repeat(RequestFault::ServerError, times);
                }
            }
        }
    }

    fn repeat(&mut self, fault: RequestFault, times: u32) {
        let times = times.min(100) as usize;
        self.request_faults
            .extend(std::iter::repeat_n(fault, times));
    }

    pub(super) fn answer(&self, point: Point) -> Answer {
        if self.hang_at.is_some_and(|at| point.outputs >= at) {
            return Answer::Hang;
        }
        match self.request_faults.get(point.earlier as usize) {
            Some(fault) => Answer::Fault(*fault),
            None => Answer::Call(self.call(point.outputs)),
        }
    }

    /// What a request is answered with that hung for a while.
    pub(super) fn answer_released(&self, outputs: u32) -> Answer {
        Answer::Call(self.call(outputs))
    }

    fn call(&self, outputs: u32) -> CallMade {
        let period = self.call_faults.len() as u32 + 1;
        match self.call_faults.get((outputs % period) as usize) {
            Some(CallFault::BadArguments) => CallMade {
                tool: "read",
                arguments: format!("{{\"path\": {outputs}"),
            },
            Some(CallFault::UnknownTool) => CallMade {
                tool: "no_such_tool",
                arguments: format!("{{\"outputs\":{outputs}}}"),
            },
            None => self.good_call(outputs),
        }
    }

    pub(super) fn good_call(&self, outputs: u32) -> CallMade {
        let turn = outputs / (self.call_faults.len() as u32 + 1);
        if turn < self.turns {
            CallMade {
                tool: "read",
                arguments: format!("{{\"path\":\"note-{turn}.txt\"}}"),
            }
        } else {
            let turns = self.turns;
            CallMade {
                tool: DONE,
                arguments: format!("{{\"reason\":\"all {turns} notes are read\"}}"),
            }
        }
    }
}

impl Asked {
    /// Looks for what it needs instead of parsing: conversations are long, and the server must stay
    /// light. Inside a JSON string every quote is escaped, so none of these patterns can stand in one.
    pub(super) fn read(body: &str) -> Self {
        let model = string_after(body, "\"model\":\"").unwrap_or_default();
        let goal = string_after(body, "\"role\":\"user\",\"content\":\"").unwrap_or_default();
        let mut hasher = DefaultHasher::new();
        (model, goal).hash(&mut hasher);
        let conduct = Conduct::of(model);
        Self {
            model: model.to_owned(),
            nonce: conduct.report.then(|| ending::nonce(body)).flatten(),
            conduct,
            outputs: body.matches("\"role\":\"tool\"").count() as u32,
            stream: body.contains("\"stream\":true"),
            key: hasher.finish(),
        }
    }
}

/// The JSON string that follows the first place of a pattern, as it is written.
fn string_after<'a>(body: &'a str, pattern: &str) -> Option<&'a str> {
    let start = body.find(pattern)? + pattern.len();
    let rest = &body[start..];
    let mut escaped = false;
    let end = rest.bytes().position(|byte| {
        let ends = byte == b'"' && !escaped;
        escaped = byte == b'\\' && !escaped;
        ends
    })?;
    Some(&rest[..end])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answers(model: &str, outputs: u32, requests: u32) -> Vec<Answer> {
        let conduct = Conduct::of(model);
        let point = |earlier| Point { outputs, earlier };
        (0..requests).map(|n| conduct.answer(point(n))).collect()
    }

    #[test]
    fn a_model_with_any_other_name_makes_no_faults() {
        for model in ["custom-model", "", "429", "turns-x", "x+y"] {
            let plain = Conduct {
                turns: TURNS_DEFAULT,
                request_faults: vec![],
                call_faults: vec![],
                hang_at: None,
                report: false,
                loops: false,
            };
            assert_eq!(Conduct::of(model), plain, "{model:?}");
        }
    }

    #[test]
    fn the_faults_of_a_request_come_before_the_reply_at_every_point() {
        use RequestFault::{Cut, ServerError, TooMany};
        for outputs in [0, 3, 10] {
            let made = answers("429x2+500x1+cut", outputs, 5);
            let faults = [TooMany, TooMany, ServerError, Cut].map(Answer::Fault);
            assert_eq!(made[..4], faults);
            assert!(matches!(made[4], Answer::Call(_)));
        }
    }

    #[test]
    fn refused_calls_do_not_count_as_turns() {
        let conduct = Conduct::of("bad-args+unknown-tool+turns-2");
        let calls: Vec<_> = (0..9).map(|outputs| conduct.call(outputs)).collect();
        let tools: Vec<_> = calls.iter().map(|call| call.tool).collect();
        let round = ["read", "no_such_tool", "read"];
        assert_eq!(tools[..6], [round, round].concat());
        assert_eq!(tools[8], "done");
        assert_eq!(calls[2].arguments, "{\"path\":\"note-0.txt\"}");
        assert_eq!(calls[5].arguments, "{\"path\":\"note-1.txt\"}");
    }

    #[test]
    fn a_conversation_is_read_without_being_fooled_by_what_it_quotes() {
        let body = r#"{"model":"turns-3+cut","messages":[
            {"role":"system","content":"say \"role\":\"tool\" and \"stream\":true"},
            {"role":"user","content":"a \"goal\" \\"},
            {"role":"assistant","content":null},
            {"role":"tool","content":"\"role\":\"tool\"","tool_call_id":"1"}]}"#;
        let asked = Asked::read(body);
        assert_eq!((asked.outputs, asked.stream), (1, false));
        assert_eq!(asked.model, "turns-3+cut");
        let goal = string_after(body, "\"role\":\"user\",\"content\":\"");
        assert_eq!(goal, Some(r#"a \"goal\" \\"#));
    }

    #[test]
    fn a_tally_starts_anew_when_the_conversation_goes_on() {
        let mut tally = Tally::default();
        let heard = [0, 0, 1, 1, 1, 2].map(|outputs| tally.hear(outputs).earlier);
        assert_eq!(heard, [0, 1, 0, 1, 2, 0]);
    }
}
