//! What a layer that was found can do to what is allowed: random layers, held against the order of capabilities.

use std::collections::BTreeMap;

use bonded_host::config::options::{Given, Options, Sources, resolve};
use bonded_host::config::{Capabilities, Config, Environment};
use bonded_host::trust::{Stance, Trust, TrustRecord};
use proptest::collection::{btree_map, vec};
use proptest::prelude::*;
use proptest::sample::select;
use serde_json::{Map, Value, json};

use crate::world::World;

fn any_of(values: &[Value]) -> BoxedStrategy<Value> {
    select(values.to_vec()).boxed()
}

fn numbers() -> BoxedStrategy<Value> {
    any_of(&[
        json!(1),
        json!(7),
        json!(12),
        json!(5_000),
        json!("9"),
        json!(20_000_000),
        Value::Null,
    ])
}

fn flags() -> BoxedStrategy<Value> {
    any_of(&[
        json!(true),
        json!(false),
        json!("yes"),
        json!("${SET}"),
        Value::Null,
    ])
}

fn levels() -> BoxedStrategy<Value> {
    any_of(&[
        json!("read-only"),
        json!("workspace-write"),
        json!("full"),
        Value::Null,
    ])
}

fn names() -> BoxedStrategy<Value> {
    vec(select(vec!["a", "b", "c", "*"]), 0..3)
        .prop_map(|names| json!(names))
        .boxed()
}

fn rules() -> BoxedStrategy<Value> {
    let rule = (
        select(vec!["allow", "ask", "deny"]),
        select(vec!["*", "write", "run", "s__*", "read"]),
    );
    vec(
        rule.prop_map(|(word, tools)| format!("{word}:{tools}")),
        0..3,
    )
    .prop_map(|rules| json!(rules))
    .boxed()
}

/// An object with some of these fields.
fn some_of(fields: Vec<(&'static str, BoxedStrategy<Value>)>) -> BoxedStrategy<Value> {
    let fields: Vec<_> = fields
        .into_iter()
        .map(|(name, value)| (Just(name), proptest::option::weighted(0.4, value)))
        .collect();
    fields
        .prop_map(|fields| {
            let said = fields.into_iter();
            let said = said.filter_map(|(name, value)| Some((name.to_owned(), value?)));
            Value::Object(said.collect::<Map<String, Value>>())
        })
        .boxed()
}

fn defaults() -> BoxedStrategy<Value> {
    let mut fields = vec![
        ("sandbox", levels()),
        ("sandboxRequired", flags()),
        ("sandboxBestEffort", flags()),
        ("sandboxShow", names()),
        ("sandboxNetwork", flags()),
        ("sandboxEnv", names()),
        ("readOnly", flags()),
        ("approvals", rules()),
        ("untrusted", names()),
        (
            "afterUntrusted",
            any_of(&[json!("allow"), json!("ask"), json!("deny")]),
        ),
        ("temperature", any_of(&[json!(0.5), Value::Null])),
    ];
    for name in [
        "maxTurns",
        "maxRetries",
        "maxOutputTokens",
        "toolTimeout",
        "sandboxCpuMs",
    ] {
        fields.push((name, numbers()));
    }
    some_of(fields)
}

fn server() -> BoxedStrategy<Value> {
    let fields = vec![
        (
            "command",
            any_of(&[json!("good"), json!("evil"), json!(["evil", "x"])]),
        ),
        ("args", names()),
        (
            "url",
            any_of(&[
                json!("https://good/mcp"),
                json!("https://evil/mcp"),
                Value::Null,
            ]),
        ),
        ("enabled", any_of(&[json!(true), json!(false), Value::Null])),
        ("toolsAllowed", names()),
        ("toolsDenied", names()),
        ("sandbox", levels()),
        (
            "sandboxNetwork",
            any_of(&[json!(true), json!(false), Value::Null]),
        ),
        ("env", any_of(&[json!({ "LD_PRELOAD": "x" }), json!({})])),
        ("secretEnv", any_of(&[json!({ "K": "secret" }), json!({})])),
    ];
    prop_oneof![9 => some_of(fields), 1 => Just(Value::Null)].boxed()
}

fn entries(entry: BoxedStrategy<Value>) -> BoxedStrategy<Value> {
    let map = btree_map(select(vec!["s", "t"]), entry, 0..3);
    let map = map.prop_map(|map: BTreeMap<&str, Value>| json!(map));
    prop_oneof![12 => map, 1 => Just(Value::Null)].boxed()
}

fn layer() -> BoxedStrategy<Value> {
    let provider = some_of(vec![
        ("type", any_of(&[json!("openai"), json!("anthropic")])),
        (
            "baseUrl",
            any_of(&[
                json!("https://good/v1"),
                json!("https://evil/v1"),
                Value::Null,
            ]),
        ),
        ("apiKey", any_of(&[json!("key"), Value::Null])),
    ]);
    let request = some_of(vec![
        (
            "url",
            any_of(&[json!("https://good/"), json!("https://evil/")]),
        ),
        ("headers", any_of(&[json!({ "X-Key": "secret" })])),
        ("privateAddresses", any_of(&[json!(true), json!(false)])),
    ]);
    let path = any_of(&[json!("/a"), json!("/b"), Value::Null]);
    some_of(vec![
        (
            "defaults",
            prop_oneof![9 => defaults(), 1 => Just(Value::Null)].boxed(),
        ),
        ("mcpServers", entries(server())),
        ("providers", entries(provider)),
        ("restTools", entries(request)),
        (
            "persistence",
            some_of(vec![
                ("sessionsDir", path.clone()),
                ("billingFile", path.clone()),
            ]),
        ),
        ("accounting", some_of(vec![("file", path)])),
    ])
}

/// A world of these layers in which those that are to be trusted are.
struct Layers {
    world: World,
    record: TrustRecord,
}

impl Layers {
    fn new(files: &[(&str, &Value)]) -> Self {
        let world = files.iter().fold(World::new(), |world, (file, value)| {
            world.file(file, value.to_string())
        });
        let record = TrustRecord::at(world.path("config/trust.json"));
        Self { world, record }
    }

    fn trusting(self, file: &str) -> Self {
        let file = self.world.path(file).canonicalize().expect("it is there");
        let found = Config::examine(&self.world.places, &Environment::default());
        let found = found.expect("layers are well formed").into_iter();
        let meant: Vec<_> = found
            .map(|(contents, _)| contents)
            .filter(|contents| contents.main() == file)
            .collect();
        self.record.add(&meant).expect("it can be recorded");
        self
    }

    /// What comes of it; `None` where it is refused, which allows nothing.
    fn allow(&self, flags: &BTreeMap<String, Given>) -> Option<(Capabilities, Options, Sources)> {
        let own = self.world.places.own();
        let trust = Trust::new(own, Some(self.record.clone()), Stance::Look);
        let variables = [("SET".to_owned(), "true".to_owned())];
        let environment = variables.into_iter().collect();
        let config = Config::load(&self.world.places, environment, &trust).ok()?;
        let sources = Sources {
            command_line: flags.clone(),
            ..config.sources().ok()?
        };
        let options = resolve(&sources).ok()?.options;
        let allowed = Capabilities::of(&config, &options).ok()?;
        Some((allowed, options, sources))
    }
}

const HOME: &str = "home/.ai-agent/ai-agent.json";
const AGENT: &str = "agent/.ai-agent.json";
const CWD: &str = "cwd/.ai-agent.json";

fn flag(key: &str, value: Value) -> (String, Given) {
    let place = format!("--{key}");
    (key.to_owned(), Given { value, place })
}

/// No name stands for "none": a server may give any name to a tool.
#[test]
fn lists_without_a_common_tool_let_none_through() {
    let server = |tools: Value| json!({ "mcpServers": { "s": { "command": "good", "toolsAllowed": tools } } });
    let (own, found) = (server(json!(["a"])), server(json!(["b"])));
    let untrusted = Layers::new(&[(HOME, &own), (CWD, &found)]);
    let trusted = Layers::new(&[(HOME, &own), (CWD, &found)]).trusting(CWD);
    for layers in [untrusted, trusted] {
        let trust = Trust::new(
            layers.world.places.own(),
            Some(layers.record.clone()),
            Stance::Look,
        );
        let config = Config::load(&layers.world.places, Environment::default(), &trust)
            .expect("it can be read");
        let server = config
            .mcp_server("s")
            .expect("it can be read")
            .expect("it is there");
        assert_eq!(
            (server.tools_allowed, server.tools_denied),
            (vec!["a".to_owned()], vec!["*".to_owned()])
        );
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn an_untrusted_layer_never_allows_more(
        home in layer(), agent in layer(), agent_is_trusted in any::<bool>(), cwd in layer(),
    ) {
        let trusted = |layers: Layers| match agent_is_trusted {
            true => layers.trusting(AGENT),
            false => layers,
        };
        let before = trusted(Layers::new(&[(HOME, &home), (AGENT, &agent)]));
        let after = trusted(Layers::new(&[(HOME, &home), (AGENT, &agent), (CWD, &cwd)]));
        let flags = BTreeMap::new();
        if let (Some((before, ..)), Some((after, ..))) = (before.allow(&flags), after.allow(&flags)) {
            prop_assert!(after <= before, "before {before:#?}\nafter {after:#?}");
        }
    }

    #[test]
    fn a_trusted_layer_allows_no_more_than_a_flag_or_the_persons_own_files(
        home in layer(), cwd in layer(), level in levels(), turns in numbers(),
    ) {
        let flags = BTreeMap::from([
            flag("sandbox", level), flag("sandboxRequired", json!(true)), flag("ask", json!("*")),
            flag("maxTurns", turns), flag("sandboxEnv", json!("a")),
        ]);
        let layers = Layers::new(&[(HOME, &home), (CWD, &cwd)]).trusting(CWD);
        let Some((_, own, said)) = Layers::new(&[(HOME, &home)]).allow(&BTreeMap::new()) else {
            return Ok(());
        };
        for (flags, is_flagged) in [(BTreeMap::new(), false), (flags, true)] {
            let Some((_, after, _)) = layers.allow(&flags) else { continue };
            let bound = match is_flagged {
                true => Layers::new(&[(HOME, &home)]).allow(&flags).map(|it| it.1),
                false => Some(own.clone()),
            };
            let Some(bound) = bound else { continue };
            let holds = |key: &str| said.own.contains_key(key) || flags.get(key).is_some_and(|it| !it.value.is_null());
            prop_assert!(!holds("sandbox") || after.sandbox.level <= bound.sandbox.level);
            prop_assert!(!holds("sandboxRequired") || after.sandbox.required >= bound.sandbox.required);
            prop_assert!(!holds("sandboxNetwork") || after.sandbox.network <= bound.sandbox.network);
            prop_assert!(!holds("sandboxEnv") || after.sandbox.env.iter().all(|it| bound.sandbox.env.contains(it)));
            prop_assert!(!holds("maxTurns") || after.turns_max <= bound.turns_max);
            prop_assert!(!holds("maxRetries") || after.attempts_per_turn_max <= bound.attempts_per_turn_max);
            prop_assert!(!holds("afterUntrusted") || after.after_untrusted >= bound.after_untrusted);
            prop_assert!(!holds("readOnly") || after.reads_only >= bound.reads_only);
            prop_assert!(!holds("untrusted") || after.untrusted == bound.untrusted);
            prop_assert!(!holds("sessionsDir") || after.sessions_dir == bound.sessions_dir);
            prop_assert!(!holds("billingFile") || after.billing_file == bound.billing_file);
            let both = [(&after, "after"), (&bound, "bound")].map(|(options, _)| {
                bonded_host::policy(options, &[], &[], "").map(|it| *it).unwrap_or_default()
            });
            if said.own.contains_key("approvals") || is_flagged {
                for tool in ["read", "write", "run", "s__x", "other"] {
                    prop_assert!(both[0].permission(tool).0 >= both[1].permission(tool).0, "{tool}");
                }
            }
        }
    }
}
