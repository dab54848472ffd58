//! Images in a run: what the log holds of them, what the model is shown, and what they count for.

use bonded_kernel::{
    Accepts, Catalog, Encoding, Entry, Event, IMAGES_MAX, Image, ImageInput, Message, Outcome,
    RunConfig, ToolOutput, audit, fork, request,
};

use crate::agent_common::{ENCODINGS, agent, tool_tag};
use crate::batch::{batch, batching, look_at};
use crate::common::{Setup, World, look, noise, output, reply, run_id, setup, text};
use crate::image_files::png;
use crate::replay::through_a_store;

/// Images that differ in their size alone.
fn image(width: u32, height: u32) -> Image {
    Image::read(png(width, height, 30)).expect("it is one")
}

fn with_images(images: &[Image]) -> ToolOutput {
    ToolOutput {
        images: images.to_vec(),
        ..output(Outcome::Ok, "see")
    }
}

fn begin(setup: Setup, images: Vec<Image>) -> World {
    let mut started = setup.started();
    started.images = images;
    World::new(started)
}

fn shown(world: &World) -> Vec<Image> {
    let messages = world.run.messages().iter();
    messages.flat_map(Message::images).cloned().collect()
}

/// Why the last output's images are not shown.
fn withheld(world: &World) -> Option<String> {
    let finished = world
        .entries
        .iter()
        .rev()
        .find_map(|entry| match &entry.event {
            Event::ToolFinished(finished) => Some(finished),
            _ => None,
        });
    let why = finished.and_then(|it| it.images_withheld.as_deref());
    why.map(str::to_owned)
}

/// What the next request is said to hold, as it is estimated.
fn expected(world: &World) -> u64 {
    let counters = world
        .entries
        .iter()
        .rev()
        .find_map(|entry| match &entry.event {
            Event::AttemptStarted { context, .. } => *context,
            _ => None,
        });
    counters.expect("the window is guarded").expected()
}

fn counted_as(mut setup: Setup, images: ImageInput) -> Setup {
    for target in &mut setup.config.targets {
        target.accepts = Some(Box::new(Accepts {
            images,
            ..Accepts::default()
        }));
    }
    setup
}

#[test]
fn the_log_has_type_size_and_hash_of_an_image_and_its_bytes_lie_beside() {
    let picture = image(800, 600);
    let world = begin(setup(), vec![picture.clone()]);
    let body = String::from_utf8(world.entries[0].body.to_vec()).expect("JSON");
    let hash = picture.blob().hash;
    let bytes = picture.blob().bytes;
    let written = format!(
        r#""images":[{{"blob":"{hash}","bytes":{bytes},"type":"image/png","width":800,"height":600}}]"#
    );
    assert!(body.contains(&written), "{body}");
    assert!(!body.contains(&picture.base64()));
    let again = through_a_store(&world.entries).expect("all blobs are there");
    let content = again[0].event.images()[0].content().expect("it is at hand");
    assert_eq!(**content, png(800, 600, 30)[..]);
    let lost = Entry::open(
        header(&again[0]),
        Some(again[0].hash),
        again[0].body.clone(),
        |it| (*it != hash).then(|| "".into()),
    );
    assert!(format!("{lost:?}").contains(&hash.to_string()), "{lost:?}");
}

fn header(entry: &Entry) -> bonded_kernel::Header {
    bonded_kernel::Header {
        format: entry.format,
        run: entry.run.clone(),
        goal: entry.goal.clone(),
        seq: entry.seq,
        at: entry.at,
        turn: entry.turn,
        prev: entry.prev,
    }
}

#[test]
fn the_images_of_a_goal_go_with_every_request_and_make_it_another_one() {
    let one = begin(setup(), vec![image(8, 8)]);
    let other = begin(setup(), vec![image(8, 9)]);
    let none = begin(setup(), vec![]);
    let digest = |world: &World| {
        let asked = world.entries.iter().find_map(|entry| match &entry.event {
            Event::AttemptStarted { request, .. } => Some(*request),
            _ => None,
        });
        asked.expect("it asks")
    };
    assert_ne!(digest(&one), digest(&other));
    assert_ne!(digest(&one), digest(&none));
    let mut world = one;
    world.turn(look("a"), "nothing");
    let asked = request(&world.run).expect("it asks");
    assert_eq!(asked.messages[0].images(), [image(8, 8)]);
    let copies = fork(&world.entries, &run_id(), 2, None).expect("there is a second turn");
    assert_eq!(copies[0].event.images(), [image(8, 8)]);
}

#[test]
fn images_of_a_tool_are_shown_with_what_it_said_however_it_was_called() {
    for encoding in ENCODINGS {
        let mut world = agent(encoding).begin();
        world.reply(match encoding {
            Encoding::Xml => text(&tool_tag(1, "look", r#"{"path":"a"}"#)),
            _ => reply([look("a")]),
        });
        world.returned(with_images(&[image(8, 8), image(9, 9)]));
        assert_eq!(shown(&world), [image(8, 8), image(9, 9)], "{encoding:?}");
        assert_eq!(withheld(&world), None);
        audit(&world.entries).expect("the same kernel wrote it");
    }
}

#[test]
fn images_of_the_members_of_a_batch_stand_in_its_answer() {
    let mut world = batching(Encoding::Native).begin();
    world.reply(reply([batch(
        [look_at("1"), look_at("2")].into_iter().collect(),
    )]));
    world.returned(with_images(&[image(8, 8)]));
    world.returned(with_images(&[image(9, 9)]));
    assert!(world.is_asking(), "{:?}", world.effect);
    let last = world
        .run
        .messages()
        .last()
        .expect("the answer to the batch");
    assert_eq!(last.images(), [image(8, 8), image(9, 9)]);
}

#[test]
fn images_count_in_the_window_for_what_the_model_that_counts_most_says() {
    let area = ImageInput::Area {
        pixels: 100,
        most: 5_000,
    };
    let begun = |images| expected(&begin(counted_as(setup().windows(&[50_000]), area), images));
    let words = begun(vec![]);
    let more = begun(vec![image(100, 100), image(200, 100)]) - words;
    // As much as estimates are rounded up for what nobody has counted.
    assert!((300..400).contains(&more), "{more}");
    let of_two = counted_as(setup().windows(&[50_000, 50_000]), ImageInput::None);
    let mut of_two = of_two;
    of_two.config.targets[1].accepts = Some(Box::new(Accepts {
        images: area,
        ..Accepts::default()
    }));
    let more = expected(&begin(of_two, vec![image(100, 200)])) - words;
    assert!((200..300).contains(&more), "{more}");
}

#[test]
fn a_request_with_images_reserves_what_they_count_for() {
    let same = counted_as(setup(), ImageInput::Same { tokens: 7_000 });
    let reserved = |world: &World| {
        let asked = world.entries.iter().find_map(|entry| match &entry.event {
            Event::AttemptStarted { reserved, .. } => Some(reserved.input),
            _ => None,
        });
        asked.expect("it asks")
    };
    let other = counted_as(setup(), ImageInput::Same { tokens: 7_000 });
    let with = reserved(&begin(same, vec![image(8, 8)]));
    let without = reserved(&begin(other, vec![]));
    assert_eq!(with - without, 7_000);
}

#[test]
fn an_image_that_no_window_has_room_for_is_named_in_its_place() {
    let large = counted_as(
        agent(Encoding::Native).windows(&[16_000]),
        ImageInput::Same { tokens: 20_000 },
    );
    let mut world = large.begin();
    world.reply(reply([look("a")]));
    world.returned(with_images(&[image(800, 600)]));
    assert!(shown(&world).is_empty());
    let why = "the context window has no room for it";
    assert_eq!(withheld(&world).as_deref(), Some(why));
    let (_, told) = world.results().pop().expect("an answer");
    let bytes = image(800, 600).blob().bytes;
    assert_eq!(
        told,
        format!("see\n[image, image/png, 800x600, {bytes} bytes, not shown: {why}]")
    );
    assert_eq!(world.count("context_guarded"), 0, "the run goes on");
    // What came in is in the log, so that a replay decides the same.
    audit(&world.entries).expect("the same kernel wrote it");
    let again = World::from_log(through_a_store(&world.entries).expect("all blobs"));
    assert_eq!(again.results(), world.results());
}

#[test]
fn old_images_make_room_for_new_ones_and_then_for_words() {
    let setup = counted_as(
        agent(Encoding::Native)
            .turns(40)
            .calls(10)
            .windows(&[16_000]),
        ImageInput::Same { tokens: 3_000 },
    );
    let mut world = setup.begin();
    for turn in 1..=12 {
        world.reply(bonded_kernel::Reply {
            usage: None,
            ..reply([look(&format!("path {turn}"))])
        });
        match turn % 3 {
            0 => world.ok(&noise(2_500)),
            _ => world.returned(with_images(&[image(8, turn)])),
        };
        assert!(world.is_asking(), "turn {turn}: {:?}", world.effect);
        assert_eq!(withheld(&world), None, "turn {turn}");
    }
    assert_eq!(world.count("context_guarded"), 0);
    assert!(world.count("context_compacted") > 0);
    let there = shown(&world);
    assert!((1..4).contains(&there.len()), "{there:?}");
    let stubs = world.results();
    let stubs = stubs
        .iter()
        .filter(|(_, it)| it.contains("[images taken out with it: 1]"));
    assert_eq!(stubs.count() + there.len(), 8);
    audit(&world.entries).expect("the same kernel wrote it");
}

#[test]
fn a_conversation_holds_so_many_images_and_no_more() {
    let mut world = begin(setup(), vec![image(1, 1)]);
    for nth in 1..IMAGES_MAX as u32 {
        world.reply(reply([look(&nth.to_string())]));
        world.returned(with_images(&[image(8, nth)]));
    }
    assert_eq!(shown(&world).len(), IMAGES_MAX);
    world.reply(reply([look("one more")]));
    world.returned(with_images(&[image(9, 9)]));
    assert_eq!(shown(&world).len(), IMAGES_MAX);
    let why = withheld(&world).expect("it is one too many");
    assert!(why.starts_with("21 images are too many"), "{why}");
    audit(&world.entries).expect("the same kernel wrote it");
}

#[test]
fn a_run_without_images_is_written_as_it_always_was() {
    let config = RunConfig::new("/shed", vec![crate::common::target(0)]);
    let catalog = Catalog::of_run([], &config).expect("no tools");
    let started = bonded_kernel::RunStarted::new("goal".into(), "system".into(), config, catalog);
    let body = World::new(started).entries[0].body.to_vec();
    let body = String::from_utf8(body).expect("JSON");
    assert!(!body.contains("images"), "{body}");
}
