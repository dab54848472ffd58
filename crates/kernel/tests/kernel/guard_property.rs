//! Whatever a model and its tools do: no request exceeds a window, and the last turn has its room.

use bonded_kernel::{
    Effect, Encoding, FailureClass, Finish, Message, Reply, ReplyCall, Request, ToolSpec, Usage,
    request,
};
use proptest::prelude::*;

use crate::agent_common::{agent, final_tag, markdown, tool_tag};
use crate::common::{Setup, World, call, estimated, noise};

/// A model that counts less than the estimate or, where it says so, more.
#[derive(Clone, Copy, Debug)]
struct Meter {
    percent: u64,
}

impl Meter {
    fn of(self, tokens: u64) -> u64 {
        tokens * self.percent / 100
    }

    fn request(self, request: &Request<'_>) -> u64 {
        let spec_tokens = |spec: &ToolSpec| {
            estimated(&spec.name)
                + estimated(&spec.description)
                + estimated(&spec.schema.to_string())
        };
        let offered: Vec<&str> = request.tools().map(|spec| &*spec.name).collect();
        let (shown, hidden): (Vec<&ToolSpec>, Vec<&ToolSpec>) = request
            .catalog
            .specs()
            .partition(|spec| offered.contains(&&*spec.name));
        let tools: u64 = match shown.len() > 1 {
            // As one text, but for what is not offered.
            true => {
                let all = estimated(request.catalog.text());
                all - hidden.into_iter().map(spec_tokens).sum::<u64>()
            }
            false => shown.into_iter().map(spec_tokens).sum(),
        };
        let messages = request.messages.iter().map(message_tokens);
        let notices = request.notices.iter().map(|notice| 4 + estimated(notice));
        let system = 4 + estimated(request.system);
        let all = tools + messages.sum::<u64>() + notices.sum::<u64>() + system;
        self.of(all)
    }

    fn reply(self, reply: &Reply) -> u64 {
        let calls = reply
            .calls
            .iter()
            .map(|call| 8 + estimated(&call.tool) + estimated(&call.arguments));
        let said = estimated(&reply.text) + estimated(&reply.reasoning);
        self.of(said + calls.sum::<u64>())
    }
}

fn message_tokens(message: &Message) -> u64 {
    4 + match message {
        Message::User { text, .. } | Message::Tool { text, .. } => estimated(text),
        Message::Assistant {
            text,
            reasoning,
            calls,
            ..
        } => {
            let calls = calls
                .iter()
                .map(|call| 8 + estimated(&call.tool) + estimated(&call.arguments));
            estimated(text) + estimated(reasoning) + calls.sum::<u64>()
        }
    }
}

/// What a model writes next; it is cut to what the request allows.
#[derive(Clone, Debug)]
enum Saying {
    Calls(Vec<(usize, usize)>),
    Broken(usize),
    Text(usize),
    Reasoning(usize),
    Report,
    Fails(bool),
}

#[derive(Clone, Debug)]
struct Scene {
    encoding: Encoding,
    windows: Vec<u64>,
    output_tokens_max: u32,
    calls_max: u32,
    turns_max: u32,
    attempts_max: u32,
    meter: Meter,
    says_usage: bool,
    sayings: Vec<Saying>,
    outputs: Vec<usize>,
}

fn scene() -> impl Strategy<Value = Scene> {
    let encoding = prop::sample::select(vec![Encoding::Native, Encoding::XmlFinal, Encoding::Xml]);
    let sizes = (32..600u32, 1..5u32, 1..9u32, 1..4u32);
    let saying = prop_oneof![
        8 => prop::collection::vec((0..6usize, 0..400usize), 1..8).prop_map(Saying::Calls),
        1 => prop::collection::vec((0..6usize, 0..30usize), 8..80).prop_map(Saying::Calls),
        1 => (1..9usize).prop_map(Saying::Broken),
        1 => (0..900usize).prop_map(Saying::Text),
        1 => (1..900usize).prop_map(Saying::Reasoning),
        1 => Just(Saying::Report),
        1 => any::<bool>().prop_map(Saying::Fails),
    ];
    (
        (
            encoding,
            prop::collection::vec(2_500..12_000u64, 1..4),
            sizes,
        ),
        prop_oneof![(20..=100u64, any::<bool>()), (100..=160u64, Just(true))],
        prop::collection::vec(saying, 1..30),
        prop::collection::vec(prop_oneof![0..300usize, 0..9_000usize], 1..20),
    )
        .prop_map(
            |((encoding, windows, sizes), (percent, says_usage), sayings, outputs)| Scene {
                encoding,
                windows,
                output_tokens_max: sizes.0,
                calls_max: sizes.1,
                turns_max: sizes.2,
                attempts_max: sizes.3,
                meter: Meter { percent },
                says_usage,
                sayings,
                outputs,
            },
        )
}

impl Scene {
    fn setup(&self) -> Setup {
        let mut setup = agent(self.encoding)
            .turns(self.turns_max)
            .attempts(self.attempts_max)
            .calls(self.calls_max)
            .windows(&self.windows);
        setup.config.output_tokens_max = self.output_tokens_max;
        setup
    }

    fn written(&self, saying: &Saying, turn: u32) -> Reply {
        let first_slot = (turn - 1) * self.calls_max + 1;
        let mut reply = Reply {
            finish: Finish::Stop,
            ..Reply::default()
        };
        match saying {
            Saying::Calls(calls) => {
                for (nth, (tool, bytes)) in calls.iter().enumerate() {
                    let tool = ["look", "put", "push", "shell", "look", "final_report"][*tool];
                    let arguments = format!(r#"{{"path":"{}"}}"#, "=".repeat(*bytes));
                    match self.encoding {
                        Encoding::Xml => {
                            let slot = first_slot + nth as u32;
                            reply.text.push_str(&tool_tag(slot, tool, &arguments));
                        }
                        _ => reply.calls.push(ReplyCall {
                            id: format!("c{nth}"),
                            ..call(tool, &arguments)
                        }),
                    }
                }
            }
            Saying::Broken(count) => {
                reply.calls = (0..*count).map(|_| call("look", "=====")).collect();
            }
            Saying::Text(bytes) => reply.text = "+".repeat(*bytes),
            Saying::Reasoning(bytes) => reply.reasoning = "?".repeat(*bytes),
            Saying::Report if self.encoding == Encoding::Native => {
                reply.calls = vec![markdown("tidy")];
            }
            Saying::Report => reply.text = final_tag("tidy"),
            Saying::Fails(_) => {}
        }
        reply
    }

    /// The reply as a provider gives it: cut where its output limit ends.
    fn fitted(&self, mut reply: Reply, request: &Request<'_>) -> Reply {
        let most = u64::from(request.output_tokens_max);
        while self.meter.reply(&reply) > most {
            reply.finish = Finish::Length;
            let longer = reply.text.len().max(reply.reasoning.len());
            match reply.calls.is_empty() {
                true => {
                    reply.text.truncate(longer * 3 / 4);
                    reply.reasoning.truncate(longer * 3 / 4);
                }
                false => drop(reply.calls.pop()),
            }
        }
        reply.usage = self.says_usage.then(|| Usage {
            input: self.meter.request(request),
            output: self.meter.reply(&reply),
            cached: 0,
            written: 0,
        });
        reply
    }
}

fn forced(world: &World) -> bool {
    world.count("context_guarded") > 0
}

fn play(scene: &Scene) -> Result<(), TestCaseError> {
    let mut world = scene.setup().begin();
    let seed_fits = !forced(&world);
    let (mut sayings, mut outputs) = (scene.sayings.iter().cycle(), scene.outputs.iter().cycle());
    let mut most_forced_turn = None;
    for _ in 0..200 {
        match &world.effect {
            Effect::Ask { turn, .. } => {
                let turn = *turn;
                let asked = request(&world.run).expect("the run is asking");
                let window = asked.target.window.map_or(u64::MAX, |window| window.tokens);
                let holds = scene.meter.request(&asked);
                // A few per cent more count as none, because every text is off by so much.
                let missed = if scene.meter.percent > 100 {
                    holds * 4 / 100
                } else {
                    0
                };
                let held = holds - missed + u64::from(asked.output_tokens_max);
                prop_assert!(
                    held <= window || !seed_fits,
                    "{held} tokens in a window of {window}: {:?}",
                    world.kinds()
                );
                if !forced(&world) {
                    prop_assert_eq!(asked.output_tokens_max, scene.output_tokens_max);
                } else {
                    prop_assert!(asked.output_tokens_max >= scene.output_tokens_max.min(64));
                    let last = *most_forced_turn.get_or_insert(turn);
                    prop_assert_eq!(turn, last, "the forced turn is the last");
                }
                let saying = sayings.next().expect("it never ends");
                if let Saying::Fails(limited) = saying {
                    world.fail_as(match limited {
                        true => FailureClass::RateLimit,
                        false => FailureClass::Network,
                    });
                } else {
                    let reply = scene.fitted(scene.written(saying, turn), &asked);
                    world.reply(reply);
                }
            }
            Effect::Invoke(_) => {
                let bytes = *outputs.next().expect("it never ends");
                world.ok(&noise(bytes));
            }
            Effect::Wait { .. } => {
                let before = world.entries.len();
                world.wake();
                prop_assert!(world.entries.len() > before, "it waited for nothing");
            }
            Effect::Review(_) | Effect::Stop(_) => break,
        }
    }
    prop_assert!(world.ended().is_some(), "{:?}", world.kinds());
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn no_request_exceeds_a_window_and_the_last_turn_has_its_room(scene in scene()) {
        play(&scene)?;
    }
}
