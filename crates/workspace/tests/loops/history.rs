//! What a run did, loop by loop, as its log tells it afterwards.

use bonded_workspace::loop_history::{InstructionOutcome, loops_of};
use serde_json::json;

use crate::world::{HERE, add, world};

#[tokio::test]
async fn each_loop_is_told_with_its_instructions_what_was_refused_and_what_it_changed_in_the_memory()
 {
    let world = world().await;
    world.note(1, HERE, "One").await;
    let first = format!(
        "{}<ram_add><key>plan</key><value>two steps</value></ram_add>\
         <record_update><key>Nowhere</key><value>x</value></record_update>",
        add("made")
    );
    let second = "<ram_delete><key>plan</key></ram_delete>\
                  <ram_add><key>count</key><value>2</value></ram_add>\
                  <state_add><state>executing</state></state_add>";
    let last = "<state_add><state>evaluating</state></state_add><state_add><state>idle</state></state_add>";
    world.run("one", &[&first, second, last]).await;
    let loops = loops_of(&world.entries("one").await).expect("the log is whole");
    let numbers: Vec<u32> = loops.iter().map(|it| it.number).collect();
    assert_eq!(numbers, [1, 2, 3]);
    let told: Vec<(&str, &str, InstructionOutcome)> = loops[0]
        .instructions
        .iter()
        .map(|it| (&*it.instruction, &*it.about, it.outcome))
        .collect();
    assert_eq!(told[1], ("ram_add", "plan", InstructionOutcome::Done));
    assert_eq!(told[2].2, InstructionOutcome::Refused);
    assert_eq!(
        loops[0].instructions[2].code.as_deref(),
        Some("NOTE_NOT_FOUND")
    );
    assert!(loops[0].instructions[2].message.is_some());
    assert_eq!(loops[0].change.set["plan"], json!("two steps"));
    assert_eq!(loops[1].memory["count"], json!(2));
    assert_eq!(loops[1].change.removed, ["plan"]);
    assert_eq!(loops[1].change.set.get("plan"), None);
    assert!(loops.iter().all(|it| it.ended_at.is_some()));
    // A loop that is under way has no end yet.
    let entries = world.entries("one").await;
    let begun = entries.iter().take_while(|entry| entry.turn < 2).count() + 1;
    let part = loops_of(&entries[..begun]).expect("the beginning of a log is one");
    assert_eq!(
        part.last().map(|it| (it.number, it.ended_at)),
        Some((2, None))
    );
    assert_eq!(part[0].memory, loops[0].memory);
}
