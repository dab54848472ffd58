//! Images with a goal: what a real listener hears, what is kept and shown of them, and files that are none.

use std::fs::File;
use std::os::unix::fs::symlink;
use std::time::{Duration, Instant};

use bonded_kernel::{Hash, Image};
use bonded_testkit::provider::{self, Asked, Provider};
use serde_json::{Value, json};

use crate::done::Done;
use crate::place::{Place, of_kind};
use crate::watch::with_stdin;

/// One pixel, as tools that draw write it.
pub(crate) const PIXEL: &[u8] = include_bytes!("../../../../fuzz/seeds/image/pixel.png");

/// A provider that ends every run at once.
fn provider() -> Provider {
    Provider::answering(|_| provider::call("done", json!({ "reason": "seen" })))
}

fn data_url() -> String {
    Image::read(PIXEL).expect("a pixel").data_url()
}

/// The content of the first message of the person in the first request.
fn goal_heard(provider: &Provider) -> Value {
    let asked: Vec<Asked> = provider.asked();
    let body = asked.first().expect("it was asked").body.clone();
    let messages = body["messages"].as_array().expect("messages").iter();
    let mut users = messages.filter(|it| it["role"] == "user");
    users.next().expect("the goal")["content"].clone()
}

fn run(place: &Place, provider: &Provider, words: &[&str]) -> Done {
    let url = provider.base_url();
    let words = [
        &["run", "--id", "run", "--model", "m", "--base-url", &url][..],
        words,
    ]
    .concat();
    place.bonded(&words)
}

#[test]
fn images_that_flags_and_the_goal_name_are_sent_before_its_words() {
    let (place, provider) = (Place::new(), provider());
    place.write("elsewhere.png", PIXEL);
    place.write("work/shots/my shot.png", PIXEL);
    let other = [PIXEL, b"more"].concat();
    place.write("work/a.png", &other);
    let goal = "what differs in @a.png, and @\"shots/my shot.png\"?";
    let flag = place.path("elsewhere.png");
    run(
        &place,
        &provider,
        &["--image", &flag.display().to_string(), goal],
    )
    .succeeds();
    let part = |url: &str| json!({ "type": "image_url", "image_url": { "url": url } });
    let other = Image::read(other).expect("a pixel").data_url();
    // What is named twice is sent once.
    let expected = json!([part(&data_url()), part(&other), { "type": "text", "text": goal }]);
    assert_eq!(goal_heard(&provider), expected);
}

#[test]
fn what_is_kept_and_shown_of_an_image_is_its_type_size_and_hash_and_a_replay_needs_no_file() {
    let (place, provider) = (Place::new(), provider());
    let file = place.write("work/shot.png", PIXEL);
    let ran = run(&place, &provider, &["look at @shot.png"]);
    ran.succeeds();
    let hash = Hash::of(PIXEL).to_string();
    ran.says(&format!("image/png 1x1 69 B {}", &hash[..12]));
    std::fs::remove_file(file).expect("it is there");
    let entries = place.entries("run");
    let started = of_kind(&entries, "run_started")[0];
    let expected =
        json!([{ "blob": hash, "bytes": 69, "type": "image/png", "width": 1, "height": 1 }]);
    assert_eq!(started["images"], expected);
    place.passes_the_audit("run");
    let verified = place.bonded(&["verify", "run"]);
    assert!(verified.stdout.contains("log intact"), "{verified:?}");
    let encoded = Image::read(PIXEL).expect("a pixel").base64();
    for words in [
        &["show", "run"][..],
        &["show", "run", "--json"],
        &["replay", "run"],
    ] {
        let shown = place.bonded(words);
        shown.succeeds();
        assert!(
            !shown.stdout.contains(&encoded),
            "{words:?}: {}",
            shown.stdout
        );
    }
    let shown = place.bonded(&["show", "run"]);
    assert!(shown.stdout.contains("image/png 1x1 69 B"), "{shown:?}");
    // The bytes lie in the store's file, once, as they are.
    let stored = std::fs::read(place.store()).expect("the store");
    let found = stored.windows(PIXEL.len()).filter(|it| *it == PIXEL);
    assert_eq!(found.count(), 1);
}

#[test]
fn what_is_piped_in_names_no_images_and_neither_does_a_file_of_goals() {
    let (place, provider) = (Place::new(), provider());
    place.write("work/a.png", PIXEL);
    let url = provider.base_url();
    let words = ["run", "--model", "m", "--base-url", &url, "sum this up"];
    with_stdin(&place, &words, b"look at @a.png").succeeds();
    assert!(goal_heard(&provider).is_string());
    place.write("work/goals.jsonl", "\"look at @a.png\"\n");
    let each = [
        "run",
        "--model",
        "m",
        "--base-url",
        &url,
        "--each",
        "goals.jsonl",
    ];
    let refused = place.bonded(&each);
    assert_eq!(refused.code, Some(1));
    assert!(
        refused.stdout.contains("cannot name an image"),
        "{}",
        refused.stdout
    );
    assert_eq!(provider.asked().len(), 1);
}

#[test]
fn a_file_that_is_no_image_or_lies_elsewhere_is_refused_before_anything_is_asked() {
    let (place, provider) = (Place::new(), provider());
    place.write("secret.png", PIXEL);
    let at = |name: &str| place.work().join(name);
    place.write("work/text.png", "hello");
    place.write(
        "work/drawing.png",
        "<svg xmlns='http://www.w3.org/2000/svg'/>",
    );
    place.write("work/cut.png", &PIXEL[..60]);
    let mut bomb = PIXEL.to_vec();
    bomb[16..24].copy_from_slice(&[0, 1, 0, 0, 0, 1, 0, 0]);
    place.write("work/bomb.png", bomb);
    File::create(at("large.png"))
        .and_then(|file| file.set_len(100_000_000))
        .expect("a sparse file");
    symlink(place.path("secret.png"), at("link.png")).expect("a link");
    symlink("/dev/zero", at("zero.png")).expect("a link");
    let fifo = std::process::Command::new("mkfifo")
        .arg(at("pipe.png"))
        .status();
    assert!(fifo.expect("mkfifo is here").success());
    std::fs::create_dir(at("dir.png")).expect("a directory");
    let begun = Instant::now();
    for (name, by_goal, by_flag) in [
        ("text.png", "it is not an image", "it is not an image"),
        ("drawing.png", "it is an SVG", "it is an SVG"),
        ("cut.png", "it is cut off", "it is cut off"),
        (
            "bomb.png",
            "it is 65536x65536 pixels",
            "it is 65536x65536 pixels",
        ),
        ("large.png", "3932160", "it has 100000000 bytes"),
        ("link.png", "link.png", ""),
        ("../secret.png", "secret.png", ""),
        ("zero.png", "zero.png", "not a regular file"),
        ("pipe.png", "pipe.png", "not a regular file"),
        ("dir.png", "dir.png", "not a regular file"),
        ("none.png", "none.png", "none.png"),
    ] {
        let named = run(&place, &provider, &[&format!("see @{name}")]);
        named.fails_with(4, "bad-goal");
        assert!(named.stderr.contains(by_goal), "{name}: {}", named.stderr);
        // A person may name what lies anywhere.
        if !by_flag.is_empty() {
            let named = run(&place, &provider, &["--image", name, "see"]);
            named.fails_with(4, "bad-goal");
            assert!(named.stderr.contains(by_flag), "{name}: {}", named.stderr);
        }
    }
    assert!(
        begun.elapsed() < Duration::from_secs(60),
        "nobody waits for a pipe"
    );
    assert!(provider.asked().is_empty());
    assert!(!place.path("store.db").exists(), "nothing may have begun");
}

#[test]
fn a_model_that_takes_no_images_is_not_asked_unless_the_configuration_says_that_it_does() {
    let (place, provider) = (Place::new(), provider());
    place.write("work/a.png", PIXEL);
    let url = provider.base_url();
    let words = [
        "run",
        "--model",
        "gpt-3.5-turbo",
        "--base-url",
        &url,
        "see @a.png",
    ];
    let refused = place.bonded(&words);
    refused.fails_with(4, "bad-goal");
    refused.says("gpt-3.5-turbo takes no images");
    refused.says("accepts.images");
    assert!(provider.asked().is_empty());
    let config = json!({ "providers": { "lab": { "type": "openai-compatible", "baseUrl": url, "apiKey": "k",
        "accepts": { "images": true } } } });
    place.write(".ai-agent/ai-agent.json", config.to_string());
    let ran = place.bonded(&["run", "--model", "lab/gpt-3.5-turbo", "see @a.png"]);
    ran.succeeds();
    assert!(goal_heard(&provider).is_array());
}

#[test]
fn the_same_image_is_the_same_goal_and_another_is_another() {
    let (place, provider) = (Place::new(), provider());
    place.write("work/a.png", PIXEL);
    run(&place, &provider, &["--image", "a.png", "see"]).succeeds();
    run(&place, &provider, &["--image", "a.png", "see"]).succeeds();
    assert_eq!(provider.asked().len(), 1, "it is the same run");
    place.write("work/a.png", [PIXEL, b"x"].concat());
    run(&place, &provider, &["--image", "a.png", "see"]).fails_with(4, "id-taken");
}
