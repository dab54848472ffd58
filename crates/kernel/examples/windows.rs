//! Plays runs whose models count with true vocabularies, and holds what the context guard does against those counts: no
//! request is larger than its window, and no run is brought to its end with much of the window free. `cargo xtask tokens
//! --worlds N` runs this; the counting program is its argument.

#![expect(
    clippy::disallowed_macros,
    clippy::disallowed_methods,
    clippy::disallowed_types,
    clippy::print_stdout,
    reason = "a program beside the kernel: it starts another, reads files and prints"
)]

use std::collections::BTreeMap;
use std::error::Error;
use std::io::{BufRead, BufReader, Write};
use std::process::{ChildStdin, ChildStdout, Command, ExitCode, Stdio};

use bonded_kernel::{
    AgentConfig, Catalog, Effect, Encoding, Event, Finish, Input, Limits, Message, Millis,
    OwnTools, Reply, ReplyCall, ReportSpec, Request, Run, RunConfig, RunId, RunStarted, Target,
    ToolEffect, ToolOutput, ToolSpec, Usage, Vocabulary, Window, request, start, step,
};

type Failed = Box<dyn Error>;

const VOCABULARIES: [(&str, Vocabulary); 3] = [
    ("claude", Vocabulary::Claude),
    ("o200k", Vocabulary::O200k),
    ("qwen", Vocabulary::Qwen),
];

const SAMPLES: [&str; 12] = [
    "english.txt",
    "module.rs.txt",
    "script.py.txt",
    "page.js.txt",
    "tool_output.json.txt",
    "compact.json.txt",
    "server.log.txt",
    "guide.md.txt",
    "changes.md.txt",
    "chinese.txt",
    "base64.txt",
    "certificate.txt",
];

/// What a message and a call cost besides their texts.
const MESSAGE: u64 = 4;
const CALL: u64 = 8;

/// What a person wants to stay free of every window.
const BUFFER: u64 = 256;

fn main() -> Result<ExitCode, Failed> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let [samples, worlds, seed, program @ ..] = words.as_slice() else {
        return Err(
            "a directory of samples, how many worlds, a seed and the program that counts".into(),
        );
    };
    let texts = SAMPLES.map(|name| std::fs::read_to_string(format!("{samples}/{name}")));
    let texts: Vec<String> = texts.into_iter().collect::<Result<_, _>>()?;
    let mut counts = Counts::start(program)?;
    let (worlds, seed): (u64, u64) = (worlds.parse()?, seed.parse()?);
    let mut sums = Sums::default();
    let mut faults = 0;
    for world in seed..seed.saturating_add(worlds) {
        if let Some(fault) = play(world, &texts, &mut counts, &mut sums)? {
            faults += 1;
            println!("world {world}: {fault}");
        }
    }
    println!(
        "{worlds} worlds, {} requests, {} compactions, {} outputs cut to what fits, {} runs brought to their end: {faults} \
         faults; the fullest request held {} per mille of its window",
        sums.requests, sums.compactions, sums.cut, sums.forced, sums.fullest,
    );
    Ok(match faults {
        0 => ExitCode::SUCCESS,
        _ => ExitCode::FAILURE,
    })
}

#[derive(Default)]
struct Sums {
    requests: u64,
    compactions: usize,
    cut: usize,
    forced: u64,
    fullest: u64,
}

/// The program that has the vocabularies; what it counted once is remembered.
struct Counts {
    to: ChildStdin,
    from: BufReader<ChildStdout>,
    known: BTreeMap<(usize, String), u64>,
}

impl Counts {
    fn start(program: &[String]) -> Result<Self, Failed> {
        let (name, rest) = program.split_first().ok_or("a program that counts")?;
        let mut child = Command::new(name)
            .args(rest)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()?;
        let (to, from) = (child.stdin.take(), child.stdout.take());
        Ok(Self {
            to: to.ok_or("no way to it")?,
            from: BufReader::new(from.ok_or("no way from it")?),
            known: BTreeMap::new(),
        })
    }

    fn of(&mut self, vocabulary: usize, text: &str) -> Result<u64, Failed> {
        let key = (vocabulary, text.to_owned());
        if let Some(tokens) = self.known.get(&key) {
            return Ok(*tokens);
        }
        let asked = serde_json::json!([VOCABULARIES[vocabulary].0, text]);
        writeln!(self.to, "{asked}")?;
        self.to.flush()?;
        let mut line = String::new();
        self.from.read_line(&mut line)?;
        let tokens = line.trim().parse()?;
        self.known.insert(key, tokens);
        Ok(tokens)
    }

    /// Everything that a request holds.
    fn request(&mut self, vocabulary: usize, request: &Request<'_>) -> Result<u64, Failed> {
        let mut sum = MESSAGE + self.of(vocabulary, request.system)?;
        for message in request.messages {
            sum += MESSAGE + self.message(vocabulary, message)?;
        }
        for notice in &request.notices {
            sum += MESSAGE + self.of(vocabulary, notice)?;
        }
        for spec in request.tools() {
            let written = serde_json::json!({
                "name": &*spec.name, "description": &*spec.description, "input_schema": spec.schema
            });
            sum += self.of(vocabulary, &written.to_string())?;
        }
        Ok(sum)
    }

    fn message(&mut self, vocabulary: usize, message: &Message) -> Result<u64, Failed> {
        match message {
            Message::User { text, .. } | Message::Tool { text, .. } => self.of(vocabulary, text),
            Message::Assistant { text, calls, .. } => {
                let mut sum = self.of(vocabulary, text)?;
                for call in calls {
                    sum += CALL
                        + self.of(vocabulary, &call.tool)?
                        + self.of(vocabulary, &call.arguments)?;
                }
                Ok(sum)
            }
        }
    }
}

/// Chance that comes from a seed.
struct Chance(u64);

impl Chance {
    fn below(&mut self, most: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (mixed ^ (mixed >> 31)) % most.max(1)
    }

    fn between(&mut self, least: u64, most: u64) -> u64 {
        least + self.below(most - least + 1)
    }

    /// A piece of one of the samples, repeated with other beginnings where it is not long enough.
    fn text(&mut self, texts: &[String], bytes: u64) -> String {
        let whole = &texts[self.below(texts.len() as u64) as usize];
        let mut text = String::new();
        while (text.len() as u64) < bytes {
            let begin = whole.floor_char_boundary(self.below(whole.len() as u64) as usize);
            let most = (bytes - text.len() as u64) as usize;
            let end = whole.floor_char_boundary((begin + most).min(whole.len()));
            text.push_str(&whole[begin..end.max(begin)]);
            if end <= begin {
                text.push('\n');
            }
        }
        text
    }
}

fn spec(name: &str, description: &str, property: &str) -> ToolSpec {
    let of_it =
        serde_json::json!({ "type": "string", "description": "Where, below the directory." });
    let properties = serde_json::json!({ property: of_it });
    ToolSpec::closed(
        name,
        ToolEffect::Read,
        description,
        &properties,
        &[property],
    )
}

struct Model {
    vocabulary: usize,
    window: u64,
    output_max: u64,
    says_usage: bool,
}

fn begin(chance: &mut Chance, texts: &[String]) -> Result<(Model, RunStarted), Failed> {
    let window = chance.between(4_000, 16_000);
    let model = Model {
        vocabulary: chance.below(3) as usize,
        window,
        output_max: chance.between(128, window / 10),
        says_usage: chance.below(5) > 0,
    };
    let mut target = Target::new("provider", "http://localhost:1", "model");
    target.window = Some(Window {
        tokens: model.window,
        buffer: BUFFER,
        vocabulary: VOCABULARIES[model.vocabulary].1,
    });
    let encodings = [Encoding::Native, Encoding::XmlFinal, Encoding::Xml];
    let config = RunConfig {
        limits: Limits {
            turns_max: 30,
            repeats_max: 0,
            ..Limits::default()
        },
        output_tokens_max: model.output_max as u32,
        own_tools: OwnTools {
            output_kept_bytes_max: Some(1 << 20),
            ..OwnTools::default()
        },
        agent: Some(Box::new(AgentConfig {
            name: "reader".into(),
            encoding: encodings[chance.below(3) as usize],
            nonce: "0123abcd".into(),
            report: ReportSpec::default(),
            tools: vec![],
            agents: vec![],
            config_files: vec![],
            quotes_are_text: true,
            handed_down: None,
            deferred_above: None,
        })),
        ..RunConfig::new("/shed", vec![target])
    };
    let specs = [
        spec("look", "Reads a text.", "path"),
        spec("find", "Finds texts by their words.", "words"),
    ];
    let catalog = Catalog::of_run(specs, &config)?;
    let (system_bytes, goal_bytes) = (chance.between(50, 3_000), chance.between(20, 2_000));
    let (system, goal) = (
        chance.text(texts, system_bytes),
        chance.text(texts, goal_bytes),
    );
    let started = RunStarted::new(
        goal.as_str().into(),
        system.as_str().into(),
        config,
        catalog,
    );
    Ok((model, started))
}

/// Plays one run, and says what is wrong with it.
fn play(
    seed: u64,
    texts: &[String],
    counts: &mut Counts,
    sums: &mut Sums,
) -> Result<Option<String>, Failed> {
    let mut chance = Chance(seed.wrapping_mul(0x2545_f491_4f6c_dd1d));
    let (model, started) = begin(&mut chance, texts)?;
    let (mut run, first) = start(RunId::new("run-1")?, Millis(1_000_000), started);
    let mut events: Vec<Event> = first.entries().iter().map(|it| it.event.clone()).collect();
    let mut effect = bonded_kernel::next(&run);
    let (mut replies, mut begun) = (0, false);
    counts.known.clear();
    for nth in 0..120 {
        let input = match &effect {
            Effect::Ask { turn, attempt } => {
                let asked = request(&run).ok_or("the run asks")?;
                let held = counts.request(model.vocabulary, &asked)?;
                sums.requests += 1;
                if let Some(fault) = judge(&model, held, &asked, &events, begun, sums) {
                    return Ok(Some(fault));
                }
                begun = true;
                replies += 1;
                let reply = answer(&mut chance, &run, nth, held, &model, counts)?;
                Input::Reply {
                    turn: *turn,
                    attempt: *attempt,
                    reply: Box::new(reply),
                }
            }
            Effect::Invoke(invocation) => {
                let bytes = match chance.below(6) {
                    0 => chance.between(1, 60_000),
                    _ => chance.between(1, 6_000),
                };
                let text = chance.text(texts, bytes);
                Input::ToolReturned {
                    turn: invocation.turn(),
                    call: invocation.call(),
                    output: Box::new(ToolOutput {
                        text,
                        ..ToolOutput::default()
                    }),
                }
            }
            Effect::Wait { .. } => Input::Woke,
            Effect::Review(_) | Effect::Stop(_) => break,
        };
        let made = step(&mut run, Millis(1_000_000 + nth), input);
        events.extend(made.entries().iter().map(|it| it.event.clone()));
        effect = bonded_kernel::next(&run);
    }
    sums.compactions += count(&events, "context_compacted");
    let cut = |it: &&Event| matches!(it, Event::ToolFinished(it) if it.dropped.as_ref().is_some_and(|it| it.shown_bytes.is_some()));
    sums.cut += events.iter().filter(cut).count();
    Ok((replies == 0).then(|| "nothing was asked".into()))
}

fn count(events: &[Event], kind: &str) -> usize {
    events.iter().filter(|it| it.kind() == kind).count()
}

fn judge(
    model: &Model,
    held: u64,
    asked: &Request<'_>,
    events: &[Event],
    begun: bool,
    sums: &mut Sums,
) -> Option<String> {
    let with_reply = held + u64::from(asked.output_tokens_max);
    sums.fullest = sums.fullest.max(with_reply * 1_000 / model.window);
    let forced = count(events, "context_guarded") > 0;
    if with_reply > model.window {
        return Some(format!(
            "{with_reply} tokens in a window of {}",
            model.window
        ));
    }
    // A first request that does not fit is the person's own.
    if !forced || !begun {
        return None;
    }
    let is_first_of_it = matches!(
        events.last(),
        Some(Event::AttemptStarted { attempt: 1, .. })
    );
    let free = model
        .window
        .saturating_sub(BUFFER + model.output_max + held);
    if is_first_of_it {
        sums.forced += 1;
    }
    (is_first_of_it && free > model.window / 3).then(|| {
        format!(
            "brought to its end with {free} of {} tokens free",
            model.window
        )
    })
}

/// What the model says next.
fn answer(
    chance: &mut Chance,
    run: &Run,
    nth: u64,
    held: u64,
    model: &Model,
    counts: &mut Counts,
) -> Result<Reply, Failed> {
    let asked = request(run).ok_or("the run asks")?;
    let is_tagged = asked.tools().all(|spec| &*spec.name != "look");
    let calls = chance.between(1, 3);
    let mut reply = Reply {
        finish: Finish::ToolCalls,
        ..Reply::default()
    };
    for call in 0..calls {
        let arguments = format!("{{\"path\":\"src/part{nth}/{call}.rs\"}}");
        if is_tagged {
            let slot = u64::from(asked.turn - 1) * 10 + call + 1;
            reply.text.push_str(&format!(
                "<ai-agent-0123abcd-{slot:04} tool=\"look\">{arguments}</ai-agent-0123abcd-{slot:04}>"
            ));
        } else {
            reply.calls.push(ReplyCall {
                id: format!("c{nth}-{call}"),
                tool: "look".into(),
                arguments,
            });
        }
    }
    let mut output = counts.of(model.vocabulary, &reply.text)?;
    for call in &reply.calls {
        output += CALL + counts.of(model.vocabulary, &call.arguments)?;
    }
    reply.usage = model.says_usage.then(|| Usage {
        input: held,
        output,
        ..Usage::default()
    });
    Ok(reply)
}
