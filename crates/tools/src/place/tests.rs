use std::fs;
use std::os::unix::fs::MetadataExt;

use bonded_kernel::{
    Effect, Input, Millis, Reply, ReplyCall, RunConfig, RunId, RunStarted, Target, start, step,
};

use super::*;
use crate::sandbox::{Launcher, SandboxPolicy};
use crate::task::Cancel;
use crate::workdir::Workdir;
use crate::{Registry, Sandbox, builtin};

/// A working directory, and a call of `write` in it.
struct Scene {
    temp: tempfile::TempDir,
    workdir: Workdir,
    call: Invocation,
    cancel: Cancel,
}

impl Scene {
    fn new() -> Self {
        let temp = tempfile::tempdir().expect("a temporary directory");
        let dir = temp.path();
        Self {
            workdir: Workdir::open(dir).expect("it can be opened"),
            call: a_call(dir),
            cancel: Cancel::default(),
            temp,
        }
    }

    fn job(&self) -> FileJob<'_> {
        FileJob {
            workdir: &self.workdir,
            call: &self.call,
            cancel: &self.cancel,
        }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.temp.path().join(name)
    }

    fn put(&self, name: &str, content: &str) {
        fs::write(self.path(name), content).expect("it can be written");
    }

    fn get(&self, name: &str) -> String {
        fs::read_to_string(self.path(name)).expect("it is there")
    }

    fn names(&self) -> Vec<OsString> {
        let entries = fs::read_dir(self.temp.path()).expect("it can be listed");
        let mut names: Vec<_> = entries
            .map(|entry| entry.expect("an entry").file_name())
            .collect();
        names.sort();
        names
    }
}

/// Only the kernel makes calls.
fn a_call(dir: &Path) -> Invocation {
    let workdir = Workdir::open(dir).expect("it can be opened");
    let sandbox = Sandbox::prepare(SandboxPolicy::default(), dir, &Launcher::None);
    let tools = builtin(workdir, &sandbox.expect("it can be prepared").into());
    let registry = Registry::new(tools).expect("the specs are usable");
    let config = RunConfig::new(
        dir.display().to_string(),
        vec![Target::new("script", "none", "none")],
    );
    let catalog = registry.catalog().clone();
    let started = RunStarted::new("goal".into(), "system".into(), config, catalog);
    let (mut run, first) = start(
        RunId::new("test").expect("it is a run id"),
        Millis(0),
        started,
    );
    let head = first.after();
    let Ok(Effect::Ask { turn, attempt }) = first.release(head) else {
        panic!("the run asks first");
    };
    let call = ReplyCall {
        id: "c1".into(),
        tool: "write".into(),
        arguments: r#"{"path":"f","content":"x"}"#.into(),
    };
    let reply = Box::new(Reply {
        calls: vec![call],
        ..Reply::default()
    });
    let replied = Input::Reply {
        turn,
        attempt,
        reply,
    };
    let next = step(&mut run, Millis(1), replied);
    let head = next.after();
    match next.release(head) {
        Ok(Effect::Invoke(call)) => call,
        _ => panic!("the call is let through"),
    }
}

/// Adds a letter to what is there.
fn adding(seen: Option<&mut HeldFile>, letter: u8) -> Result<FileChange<()>, ToolFault> {
    let mut content = match seen {
        Some(seen) => seen.content("f")?.to_vec(),
        None => vec![],
    };
    content.push(letter);
    Ok(FileChange::Replace(content, ()))
}

#[test]
fn what_somebody_changes_between_the_look_and_the_exchange_is_kept_and_decided_about_anew() {
    let meddle: [fn(&Scene); 4] = [
        // Written in place, with the same length.
        |scene| scene.put("f", "their"),
        |scene| {
            scene.put("new", "their");
            fs::rename(scene.path("new"), scene.path("f")).expect("it can be renamed");
        },
        |scene| {
            fs::remove_file(scene.path("f")).expect("it can be removed");
            scene.put("f", "their");
        },
        |scene| {
            let file = fs::OpenOptions::new().append(true).open(scene.path("f"));
            file.expect("it is there").set_len(0).expect("it is ours");
            scene.put("f", "their");
        },
    ];
    for meddle in meddle {
        let scene = Scene::new();
        scene.put("f", "first");
        let mut looks = 0;
        update(&scene.job(), "f", |_, seen| {
            let change = adding(seen, b'!');
            looks += 1;
            if looks == 1 {
                meddle(&scene);
            }
            change
        })
        .expect("the second time nobody meddles");
        assert_eq!((looks, scene.get("f").as_str()), (2, "their!"));
        assert_eq!(scene.names(), ["f"]);
    }
}

#[test]
fn a_file_that_comes_into_being_meanwhile_is_not_overwritten() {
    let scene = Scene::new();
    let mut looks = 0;
    update(&scene.job(), "d/f", |_, seen| {
        let change = adding(seen, b'!');
        looks += 1;
        if looks == 1 {
            fs::create_dir(scene.path("d")).expect("it can be made");
            scene.put("d/f", "their");
        }
        change
    })
    .expect("the second time nobody meddles");
    assert_eq!((looks, scene.get("d/f").as_str()), (2, "their!"));
}

#[test]
fn who_changes_a_file_for_ever_is_told_of() {
    let scene = Scene::new();
    scene.put("f", "0");
    let mut number = 0;
    let fault = update(&scene.job(), "f", |_, seen| {
        let change = adding(seen, b'!');
        number += 1;
        scene.put("f", &number.to_string());
        change
    })
    .expect_err("it is never at rest");
    assert_eq!(fault.code, fault::PRECONDITION_FAILED);
    assert_eq!(scene.get("f"), number.to_string());
    assert_eq!(scene.names(), ["f"]);
}

#[test]
fn an_append_to_a_file_that_is_replaced_meanwhile_is_no_success() {
    let scene = Scene::new();
    scene.put("f", "first");
    let job = scene.job();
    let place = Place::find(&job, "f").expect("it is inside");
    let seen = place.hold(OFlags::RDWR | OFlags::APPEND);
    let seen = seen.expect("it can be opened").expect("it is there");
    scene.put("new", "their");
    fs::rename(scene.path("new"), scene.path("f")).expect("it can be renamed");
    let fault = place
        .append(seen, b"!")
        .expect_err("it went to another file");
    assert_eq!(fault.code, fault::PRECONDITION_FAILED);
    assert_eq!(scene.get("f"), "their");
}

#[test]
fn what_somebody_adds_between_the_look_and_the_append_stays_and_counts() {
    let scene = Scene::new();
    scene.put("f", "a");
    let job = scene.job();
    let place = Place::find(&job, "f").expect("it is inside");
    let seen = place.hold(OFlags::RDWR | OFlags::APPEND);
    let mut seen = seen.expect("it can be opened").expect("it is there");
    seen.content("f").expect("it can be read");
    scene.put("f", "ab");
    let content = place.append(seen, b"c").expect("it is appended");
    assert_eq!(
        (content.as_slice(), scene.get("f").as_str()),
        (&b"abc"[..], "abc")
    );
}

#[test]
fn a_cancelled_replacement_changes_nothing() {
    let mut scene = Scene::new();
    scene.cancel = Cancel::cancelled();
    let fault = update(&scene.job(), "deep/er/a", |_, seen| adding(seen, b'!'))
        .expect_err("it was cancelled");
    assert_eq!(fault.code, fault::CANCELLED);
    assert!(scene.names().is_empty());
}

#[test]
fn what_a_crash_left_behind_is_taken_over_when_the_call_is_repeated() {
    let scene = Scene::new();
    let dir = open_dir(&scene);
    let left = Temp::create(&dir, "a".as_ref(), &scene.call.key(), true).expect("it can be made");
    let name = scene.names().remove(0);
    assert!(is_unfinished(name.as_encoded_bytes()));
    // As when its process dies: the file is closed, and its name is left.
    fs::hard_link(
        scene.path(name.to_str().expect("a text")),
        scene.path("kept"),
    )
    .expect("it can");
    drop(left);
    fs::rename(scene.path("kept"), scene.temp.path().join(&name)).expect("it can be renamed");
    update(&scene.job(), "a", |_, seen| adding(seen, b'!')).expect("it is made");
    assert_eq!(scene.names(), ["a"]);
}

#[test]
fn two_calls_of_one_name_do_not_take_each_other_for_a_leftover() {
    let scene = Scene::new();
    let dir = open_dir(&scene);
    let make = || Temp::create(&dir, "a".as_ref(), "key", true).expect("it can be made");
    let (first, second) = (make(), make());
    let inode = |temp: &Temp<'_>| temp.file.metadata().expect("it is open").ino();
    assert_ne!(inode(&first), inode(&second));
    assert_eq!(scene.names().len(), 2);
    assert_eq!(first.file.metadata().expect("it is open").nlink(), 1);
}

fn open_dir(scene: &Scene) -> OwnedFd {
    rustix::fs::open(scene.temp.path(), DIRECTORY, Mode::empty()).expect("it can be opened")
}
