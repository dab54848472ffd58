//! Single moments that a kill seldom meets, made by hand.

use std::fs;
use std::path::PathBuf;

use crate::boundary::{Boundary, Lookout, resolve};
use crate::matrix::Undisturbed;
use crate::place::{finish, with};
use crate::plans::{failing_item, one_item, script};
use crate::runs::Finished;
use crate::world::{Kill, World};

/// Long enough to be met.
const LAST_REPLY_MS: u64 = 500;
/// Of the start and the first call.
const ENTRIES_OF_FIRST_CALL: u32 = 5;
/// The decision, its call, the call's end, and the run's.
const ENTRIES_OF_LAST_REPLY: u32 = 4;

fn found(world: &World, pattern: &str) -> PathBuf {
    resolve(&world.dir(), pattern).unwrap_or_else(|| panic!("{pattern} is not there"))
}

#[test]
fn an_item_that_a_process_was_sealing_when_it_died_keeps_its_place_in_the_chain() {
    let undisturbed = Undisturbed::new(failing_item());
    let world = undisturbed.world();
    finish(world.begin());
    let history = found(&world, "store.db.work/trees/*/history.jsonl");
    let before = fs::read(&history).expect("it can be read");
    // What a process leaves that dies when the receipt is remembered and the result is not written.
    for file in ["ended", "LEVEL-0.RECEIPT.json", "items/b/RESULT.json"] {
        let file = found(&world, &format!("store.db.work/plans/*/{file}"));
        fs::remove_file(file).expect("it can be removed");
    }
    undisturbed.check(&world, &Finished::default());
    assert_eq!(fs::read(&history).expect("it can be read"), before);
}

#[test]
fn what_a_tool_was_writing_when_its_process_died_is_not_published() {
    let undisturbed = Undisturbed::new(one_item());
    let world = undisturbed.world();
    let called = Boundary::Entries(ENTRIES_OF_FIRST_CALL);
    let killed = world.kill(world.begin(), &Kill::At(&called));
    assert!(killed.is_ok(), "{killed:?}");
    let Some(upper) = resolve(&world.dir(), "store.db.work/copies/*/a/upper") else {
        // Whole copies are never taken up.
        return;
    };
    let begun = upper.join("ignored/.bonded-0123456789abcdef01234567.tmp");
    fs::create_dir_all(upper.join("ignored")).expect("a directory can be made");
    fs::write(begun, "half of it").expect("a file can be written");
    undisturbed.check(&world, &Finished::default());
}

#[test]
fn an_item_whose_copy_was_lost_begins_again_with_a_new_one_however_often_it_is_killed() {
    let undisturbed = Undisturbed::new(one_item());
    let mut script = script();
    let last = script.pop().expect("the script has an end");
    script.push(with(last, "delay_ms", LAST_REPLY_MS));
    let world = undisturbed.world_with(&script);
    // All is done in the copy, and the model has yet to say so.
    let asked = undisturbed.entries() - ENTRIES_OF_LAST_REPLY;
    let killed = world.kill(world.begin(), &Kill::At(&Boundary::Entries(asked)));
    assert!(killed.is_ok(), "{killed:?}");
    assert_eq!(Lookout::new(&world.dir()).entries(), asked);
    let copy = found(&world, "store.db.work/copies/*/a");
    fs::write(copy.join("boot"), "another start of the machine").expect("it can be written");
    let again = Boundary::There("store.db.work/plans/*/items/a/attempt.json".into());
    let killed = world.kill(world.begin_again(), &Kill::At(&again));
    assert!(killed.is_ok(), "{killed:?}");
    if Lookout::new(&world.dir()).entries() == asked {
        // A moment later the new copy is there, and its run has yet to begin.
        fs::remove_dir_all(&copy).unwrap_or_default();
        for name in ["upper", "work", "merged"] {
            fs::create_dir_all(copy.join(name)).expect("a directory can be made");
        }
        let boot = fs::read("/proc/sys/kernel/random/boot_id").unwrap_or_default();
        fs::write(copy.join("boot"), boot).expect("it can be written");
    }
    undisturbed.check(&world, &Finished::default());
}
