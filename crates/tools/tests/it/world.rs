//! A working directory, its tools, and calls made by the kernel.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use bonded_kernel::{
    Effect, Input, Invocation, Limits, Mask, Millis, Outcome, OwnTools, Reply, ReplyCall,
    RunConfig, RunId, RunStarted, Target, ToolOutput, start, step,
};
use bonded_tools::sandbox::{Launcher, SandboxPolicy};
use bonded_tools::{Registry, Sandbox, Tool, Workdir, builtin};
use serde_json::Value;
use tempfile::TempDir;

pub(crate) struct World {
    temp: TempDir,
    pub(crate) registry: Registry,
    pub(crate) limits: Limits,
    /// How much is kept of an output that is cut, where the model can read on in it.
    pub(crate) kept_bytes_max: Option<u64>,
}

impl World {
    pub(crate) fn new() -> Self {
        Self::under(SandboxPolicy::default())
    }

    pub(crate) fn under(policy: SandboxPolicy) -> Self {
        Self::laid_out(|_| (policy, launcher()))
    }

    /// A world where something is made around the working directory first.
    pub(crate) fn laid_out(lay_out: impl FnOnce(&Path) -> (SandboxPolicy, Launcher)) -> Self {
        let temp = tempfile::tempdir().expect("a temporary directory");
        let dir = temp.path().join("dir");
        std::fs::create_dir(&dir).expect("it can be made");
        let (policy, launcher) = lay_out(temp.path());
        let workdir = Workdir::open(&dir).expect("it can be opened");
        let sandbox = Sandbox::prepare(policy, &dir, &launcher).expect("it can be prepared");
        let tools = builtin(workdir, &Arc::new(sandbox));
        Self {
            temp,
            registry: Registry::new(tools).expect("the specs are usable"),
            limits: Limits::default(),
            kept_bytes_max: None,
        }
    }

    /// The tools on a directory that is there already.
    pub(crate) fn at(dir: &Path) -> Self {
        let workdir = Workdir::open(dir).expect("it can be opened");
        let sandbox = Sandbox::prepare(SandboxPolicy::default(), dir, &launcher());
        Self::of(builtin(
            workdir,
            &Arc::new(sandbox.expect("it can be prepared")),
        ))
    }

    pub(crate) fn of(tools: Vec<Arc<dyn Tool>>) -> Self {
        let mut world = Self::new();
        world.registry = Registry::new(tools).expect("the specs are usable");
        world
    }

    /// What lies around the working directory, which is `dir` in it.
    pub(crate) fn outside(&self) -> &Path {
        self.temp.path()
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.temp.path().join("dir").join(name)
    }

    pub(crate) fn put(&self, name: &str, content: impl AsRef<[u8]>) {
        let path = self.path(name);
        let parent = path.parent().expect("it has a parent");
        std::fs::create_dir_all(parent).expect("it can be made");
        std::fs::write(path, content).expect("it can be written");
    }

    pub(crate) fn get(&self, name: &str) -> String {
        std::fs::read_to_string(self.path(name)).expect("it is there")
    }

    pub(crate) fn link(&self, target: impl AsRef<Path>, name: &str) {
        std::os::unix::fs::symlink(target, self.path(name)).expect("it can be made");
    }

    pub(crate) fn invocation(&self, tool: &str, arguments: &Value) -> Invocation {
        let config = RunConfig {
            limits: self.limits.clone(),
            own_tools: OwnTools {
                output_kept_bytes_max: self.kept_bytes_max,
                ..OwnTools::default()
            },
            ..RunConfig::new(
                self.path("").display().to_string(),
                vec![Target::new("script", "none", "none")],
            )
        };
        let catalog = self.registry.catalog().clone();
        let started = RunStarted::new("goal".into(), "system".into(), config, catalog);
        let id = RunId::new("test").expect("it is a run id");
        let (mut run, first) = start(id, Millis(0), started);
        let head = first.after();
        let effect = first.release(head).expect("it is durable");
        let Effect::Ask { turn, attempt } = effect else {
            panic!("the run asks first: {effect:?}");
        };
        let reply = Reply {
            calls: vec![ReplyCall {
                id: "c1".into(),
                tool: tool.into(),
                arguments: arguments.to_string(),
            }],
            ..Reply::default()
        };
        let replied = Input::Reply {
            turn,
            attempt,
            reply: Box::new(reply),
        };
        let next = step(&mut run, Millis(1), replied);
        let head = next.after();
        match next.release(head).expect("it is durable") {
            Effect::Invoke(invocation) => invocation,
            other => panic!("{tool} {arguments} was not let through: {other:?}"),
        }
    }

    pub(crate) async fn call(&self, tool: &str, arguments: Value) -> ToolOutput {
        self.registry
            .invoke(&self.invocation(tool, &arguments), &Mask::default())
            .await
    }

    /// The output of a call that must succeed.
    pub(crate) async fn ok(&self, tool: &str, arguments: Value) -> Value {
        let output = self.call(tool, arguments).await;
        assert_eq!(output.outcome, Outcome::Ok, "{}", output.text);
        assert_eq!(output.cut_from_bytes, None, "{}", output.text);
        serde_json::from_str(&output.text).expect("the output is JSON")
    }

    /// What is told of a command that ran; its exit status is its outcome.
    pub(crate) async fn ran(&self, arguments: Value) -> Value {
        let output = self.call("run", arguments).await;
        assert_eq!(output.cut_from_bytes, None, "{}", output.text);
        let ran: Value = serde_json::from_str(&output.text).expect("the output is JSON");
        let expected = match ran["exit"] == 0 {
            true => Outcome::Ok,
            false => Outcome::Failed,
        };
        assert_eq!(output.outcome, expected, "{ran}");
        ran
    }

    /// The code of a call that must fail.
    pub(crate) async fn fault(&self, tool: &str, arguments: Value) -> String {
        let output = self.call(tool, arguments).await;
        assert_eq!(output.outcome, Outcome::Failed, "{}", output.text);
        let reason = output
            .text
            .strip_prefix("(tool failed: ")
            .and_then(|rest| rest.strip_suffix(')'))
            .expect("a failure says so");
        let (code, _) = reason.split_once(": ").expect("code and message");
        code.to_owned()
    }
}

pub(crate) fn launcher() -> Launcher {
    Launcher::Program(env!("CARGO_BIN_EXE_sandbox_launcher").into())
}

pub(crate) fn make_fifo(path: &Path) {
    use rustix::fs::{CWD, FileType, Mode, mknodat};
    mknodat(CWD, path, FileType::Fifo, Mode::RUSR | Mode::WUSR, 0).expect("it can be made");
}

/// Every path below a directory with its content, to show that nothing was touched.
pub(crate) fn snapshot(dir: &Path) -> Vec<(PathBuf, Vec<u8>)> {
    let mut seen = Vec::new();
    let mut left = vec![dir.to_path_buf()];
    while let Some(dir) = left.pop() {
        for entry in std::fs::read_dir(dir).expect("it can be listed") {
            let entry = entry.expect("an entry");
            let kind = entry.file_type().expect("it has a type");
            let content = if kind.is_dir() {
                left.push(entry.path());
                Vec::new()
            } else if kind.is_symlink() {
                let target = std::fs::read_link(entry.path()).expect("it is a link");
                target.into_os_string().into_encoded_bytes()
            } else {
                std::fs::read(entry.path()).expect("it can be read")
            };
            seen.push((entry.path(), content));
        }
    }
    seen.sort();
    seen
}
