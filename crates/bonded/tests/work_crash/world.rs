//! One place in which a plan is worked off, killed and resumed, and all that must hold there.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::boundary::{Boundary, Lookout, resolve};
use crate::place::{Done, Place, finish, parse, start};
use crate::remains;
use crate::snapshot::Snapshot;

const JOURNAL: &str = "store.db.work/trees/*/journal.json";
/// Where new contents wait for their rename.
const STAGE: &str = "bonded-publish";

pub(crate) struct World {
    pub(crate) place: Place,
    model: String,
    plan: PathBuf,
    options: &'static [&'static str],
}

/// When a process is killed.
pub(crate) enum Kill<'a> {
    At(&'a Boundary),
    After(Duration),
    /// So long after a boundary.
    Past(&'a Boundary, Duration),
}

/// What can be seen of a plan that has ended, and does not depend on when and where.
#[derive(Debug, PartialEq)]
pub(crate) struct End {
    pub(crate) code: Option<i32>,
    results: Vec<Value>,
    pub(crate) tree: Snapshot,
}

impl World {
    /// A world whose tree is a copy of another.
    pub(crate) fn new(tree: &Path, script: &[Value], plan: &Value) -> Self {
        let place = Place::new();
        fs::remove_dir(place.work()).expect("it is empty");
        let copied = Command::new("cp")
            .arg("-a")
            .args([tree, &place.work()])
            .status();
        assert!(copied.expect("cp can be started").success());
        let model = place.script(script);
        let file = place.path("plan.json");
        fs::write(&file, plan.to_string()).expect("the plan can be written");
        Self {
            place,
            model,
            plan: file,
            options: &[],
        }
    }

    /// The same with more options on the command line.
    pub(crate) fn options(self, options: &'static [&'static str]) -> Self {
        Self { options, ..self }
    }

    pub(crate) fn root(&self) -> PathBuf {
        self.place.work()
    }

    pub(crate) fn dir(&self) -> PathBuf {
        self.place.path("")
    }

    pub(crate) fn begin(&self) -> Child {
        let plan = self.plan.to_string_lossy();
        let mut arguments = vec!["work", &plan, "--json", "--model", &self.model];
        arguments.extend(self.options);
        start(&mut self.place.command(&arguments))
    }

    /// Goes on with the plan, or begins it where nothing is known of it. Its id is needed only if it ended unseen.
    pub(crate) fn begin_again(&self) -> Child {
        let record = resolve(&self.dir(), "store.db.work/plans/*/plan.json");
        let Some(plan) = record.as_deref().and_then(Path::parent) else {
            return self.begin();
        };
        let id = plan.file_name().unwrap_or_default().to_string_lossy();
        let mut arguments = vec!["work", "--json", "--resume"];
        if plan.join("ended").exists() {
            arguments.push(&id);
        }
        start(&mut self.place.command(&arguments))
    }

    /// Kills a process, unless it ends before; says which.
    pub(crate) fn kill(&self, mut child: Child, kill: &Kill<'_>) -> Result<(), Done> {
        let began = Instant::now();
        let dir = self.dir();
        let mut lookout = Lookout::new(&dir);
        let mut reached = None;
        loop {
            let is_time = match kill {
                Kill::At(boundary) => lookout.sees(boundary),
                Kill::After(time) => began.elapsed() >= *time,
                Kill::Past(boundary, time) => {
                    if reached.is_none() && lookout.sees(boundary) {
                        reached = Some(Instant::now());
                    }
                    reached.is_some_and(|reached: Instant| reached.elapsed() >= *time)
                }
            };
            if is_time {
                break;
            }
            if child.try_wait().expect("it can be waited for").is_some() {
                return Err(finish(child));
            }
            thread::sleep(Duration::from_micros(100));
        }
        child.kill().expect("a child can be killed");
        child.wait().expect("a killed child ends");
        Ok(())
    }

    /// Before anything is recovered: the tree is one of those that a publish begins or ends with, unless there is a
    /// journal, and what git keeps is as it was. Says whether there is one.
    pub(crate) fn check_after_kill(&self, trees: &[&Snapshot], repository: &Snapshot) -> bool {
        let is_under_way = resolve(&self.dir(), JOURNAL).is_some();
        let tree = Snapshot::of_tree(&self.root());
        if !is_under_way && !trees.contains(&&tree) {
            let nearest = trees.iter().map(|it| it.difference(&tree));
            let nearest = nearest.min_by_key(Vec::len);
            panic!("no journal, and the tree is between: {nearest:#?}");
        }
        let now = Snapshot::of_repository(&self.root()).without(STAGE);
        assert_eq!(repository.difference(&now), Vec::<String>::new());
        is_under_way
    }

    /// What a plan came to, as far as it must not differ.
    pub(crate) fn end(&self, done: &Done) -> End {
        assert!(!done.stdout.is_empty(), "{done:?}");
        let root = self.root();
        let told = done.stdout.replace(&*root.to_string_lossy(), "ROOT");
        let results = match parse(&told) {
            Value::Array(results) => results,
            one => vec![one],
        };
        let changing = ["receipt_id", "receipt_path", "metrics", "proof_script"];
        let lasting = |mut result: Value| {
            if let Value::Object(fields) = &mut result {
                fields.retain(|name, _| !changing.contains(&name.as_str()));
            }
            result
        };
        End {
            code: done.code,
            results: results.into_iter().map(lasting).collect(),
            tree: Snapshot::of_tree(&root),
        }
    }

    /// All receipts are one chain, and each level is that of its items.
    pub(crate) fn check_receipts(&self) {
        let history = self.read("store.db.work/trees/*/history.jsonl");
        let plan = resolve(&self.dir(), "store.db.work/plans/*/plan.json");
        let plan = plan.as_deref().and_then(Path::parent);
        let plan = plan.expect("there is a plan");
        let receipt = |item: &str| {
            let file = plan.join("items").join(item).join("RECEIPT.json");
            file.to_string_lossy().into_owned()
        };
        let item = |line: &str| parse(line)["item"].as_str().unwrap_or_default().to_owned();
        let chain: Vec<String> = history.lines().map(|line| receipt(&item(line))).collect();
        self.verify(&chain);
        for level in 0.. {
            let file = plan.join(format!("LEVEL-{level}.RECEIPT.json"));
            let Ok(text) = fs::read_to_string(&file) else {
                break;
            };
            let items = parse(&text)["items"].as_array().map_or(0, Vec::len);
            assert!(items > 0, "{text}");
            self.verify(&[file.to_string_lossy().into_owned()]);
        }
    }

    fn verify(&self, files: &[String]) {
        let arguments: Vec<&str> = std::iter::once("verify")
            .chain(files.iter().map(String::as_str))
            .collect();
        let verified = self.place.bonded(&arguments);
        // The receipt of a level alone is signed by nobody.
        let expected = match files {
            [one] if one.contains("LEVEL-") => 7,
            _ => 0,
        };
        assert_eq!(verified.code, Some(expected), "{files:?} {verified:?}");
    }

    pub(crate) fn read(&self, pattern: &str) -> String {
        let path = resolve(&self.dir(), pattern);
        let path = path.unwrap_or_else(|| panic!("{pattern} is not there"));
        fs::read_to_string(path).expect("it can be read")
    }

    /// What git keeps is as it was, and nothing is left of what was only needed on the way.
    pub(crate) fn check_remains(&self, repository: &Snapshot) {
        let now = Snapshot::of_repository(&self.root());
        assert_eq!(repository.difference(&now), Vec::<String>::new());
        self.check_nothing_left();
    }

    pub(crate) fn check_nothing_left(&self) {
        assert_eq!(resolve(&self.root(), ".git/bonded-publish"), None);
        assert_eq!(resolve(&self.root(), ".bonded-publish"), None);
        let dir = self.dir();
        assert_eq!(resolve(&dir, "store.db.work/copies/*"), None);
        assert_eq!(resolve(&dir, JOURNAL), None);
        assert_eq!(remains::unfinished_files(&dir), Vec::<PathBuf>::new());
        assert_eq!(remains::mounts(&dir), Vec::<String>::new());
        assert_eq!(remains::processes(&dir), Vec::<String>::new());
    }
}
