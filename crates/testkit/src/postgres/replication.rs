//! A server and its synchronous standby: the one is lost, and the other takes its place.

use std::fs;
use std::thread;
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};

use super::{Database, PASSWORD, PostgresServer};
use crate::patience::wait_until;

impl PostgresServer {
    /// A standby that has what this server acknowledges from now on.
    pub fn synchronous_standby(&self) -> Self {
        let standby = self.standby();
        self.wait_for_standbys("*");
        let streams = "SELECT count(*) FROM pg_stat_replication WHERE sync_state = 'sync'";
        wait_until("the standby follows", || {
            self.sql("postgres", streams) == "1"
        });
        standby
    }

    /// Names the standbys that a commit waits for.
    pub fn wait_for_standbys(&self, names: &str) {
        let set = format!("ALTER SYSTEM SET synchronous_standby_names = '{names}'");
        self.sql("postgres", &set);
        self.sql("postgres", "SELECT pg_reload_conf()");
        let show = "SHOW synchronous_standby_names";
        wait_until("it is set", || self.sql("postgres", show) == names);
    }

    /// Makes a primary of a standby.
    pub fn promote(&self) {
        assert_eq!(self.sql("postgres", "SELECT pg_promote()"), "t");
    }

    /// Kills it with all its processes, as a machine that is lost.
    pub fn kill_with_all(&self) {
        let server = Pid::from_child(&self.server);
        let send = |pid, signal| kill_process(pid, signal).expect("a process of ours is signalled");
        // It starts no others meanwhile.
        send(server, Signal::STOP);
        for child in children(server) {
            // One that has ended needs no end.
            let _ended = kill_process(child, Signal::KILL);
        }
        send(server, Signal::KILL);
        while self.psql("postgres", "SELECT 1").status.success() {
            thread::sleep(Duration::from_millis(5));
        }
    }
}

fn children(of: Pid) -> Vec<Pid> {
    let of = of.as_raw_nonzero().get().to_string();
    let pid = |entry: fs::DirEntry| {
        let pid: i32 = entry.file_name().to_str()?.parse().ok()?;
        let stat = fs::read_to_string(entry.path().join("stat")).ok()?;
        // The name, which may hold anything, ends with the last bracket; its state and its parent follow.
        let (_, after) = stat.rsplit_once(')')?;
        let parent = after.split_whitespace().nth(1)?;
        Pid::from_raw(pid).filter(|_| parent == of)
    };
    let all = fs::read_dir("/proc").expect("the system lists its processes");
    all.filter_map(|entry| pid(entry.ok()?)).collect()
}

impl Database {
    /// Its address for this user on whichever of both servers takes writes.
    pub fn address_on_either(&self, standby: &PostgresServer, user: &str) -> String {
        let (first, second) = (self.server.port(), standby.port());
        let name = &self.name;
        format!("postgres://{user}:{PASSWORD}@127.0.0.1:{first},127.0.0.1:{second}/{name}")
    }
}
