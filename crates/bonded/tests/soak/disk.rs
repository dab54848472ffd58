//! Disks that are full for a while. What is refused then is excused, and nothing else is.

use std::time::Duration;

use crate::http;
use crate::world::World;

/// A short soak has so many episodes, a long one has them this far apart.
const EPISODES: u32 = 6;
const APART: Duration = Duration::from_secs(150);

const FULL: Duration = Duration::from_secs(1);

/// Soon after there is room again a server says that it is ready.
const READY_WITHIN: u32 = 100;

pub(crate) fn fill_now_and_then(world: &World) {
    let calm = APART.min(world.time / (EPISODES + 1));
    for episode in 0.. {
        world.pause(calm);
        if world.is_over() {
            return;
        }
        let process = world.processes()[episode % 3];
        world.excuse(FULL);
        process.set_disk_full(true);
        world.pause(FULL);
        process.set_disk_full(false);
        world.excuse(Duration::ZERO);
        world
            .tally
            .count("disk", &format!("full: {}", process.name));
        is_ready_again(world);
    }
}

fn is_ready_again(world: &World) {
    for _ in 0..READY_WITHIN {
        let ready = http::ask(&world.workspace_at, "GET /readyz", "", None);
        if ready.is_ok_and(|ready| ready.status == 200) {
            return world.tally.right("disk, ready");
        }
        world.pause(Duration::from_millis(100));
    }
    world.tally.is_wrong("disk, ready", "it does not come back");
}
