//! Arguments that are no JSON: mended where their meaning is plain, else refused, and always on record.

use crate::reply::{report, written_calls};
use crate::world::World;

#[test]
fn a_call_is_mended_an_unreadable_one_dropped_and_the_good_one_beside_them_runs() {
    let slip = "{text: 'single',}";
    let broken = format!("not an object {}", "z".repeat(600));
    let written = [slip, &broken, r#"{"text":"good"}"#].map(|it| ("test__test", it));
    let world = World::with_tools().says([written_calls(&written), report("done")]);
    let outcome = world.run(&[], "mend").good();
    let texts = outcome.tool_texts();
    assert_eq!((texts[0], texts[2]), ("single", "good"));
    let refused = "(tool failed: the arguments are not a JSON object";
    assert!(texts[1].starts_with(refused), "{texts:?}");
    let log = world.log(outcome.run_id());
    let of_kind = |kind| log.iter().filter(move |entry| entry["kind"] == kind);
    let [mended] = &of_kind("call_repaired").collect::<Vec<_>>()[..] else {
        panic!("one was mended: {log:#?}");
    };
    assert_eq!(mended["data"]["original"], slip);
    assert!(mended["data"]["steps"][0].is_string(), "{mended}");
    let result = mended["data"]["result"].as_str();
    assert_eq!(result, Some(r#"{"text":"single"}"#));
    let invoked = of_kind("tool_invoked").filter(|entry| entry["data"]["tool"] == "test__test");
    assert_eq!(invoked.count(), 2);
    let kept = log.iter().any(|entry| entry.to_string().contains(&broken));
    assert!(kept, "the payload is kept whole");
}
