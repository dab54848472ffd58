//! The registry: the only way to a tool.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use bonded_kernel::{
    BadCatalog, Catalog, Invocation, Mask, Outcome, RunConfig, ToolOutput, ToolSpec, paging_hint,
};
use futures_util::future::BoxFuture;
// Its time stands still where a simulation has stopped it, so that logs can be compared.
use tokio::time::Instant;

use crate::fault::{self, ToolFault};
use crate::heard::{self, OnOutput};
use crate::tool::{Tool, ToolValue};

/// The tools of a run. Frozen when it is made.
///
/// Only the kernel makes an [`Invocation`], from a call that it has decoded, held to the tool's schema and put into the
/// log:
///
/// ```
/// use std::sync::Arc;
///
/// use bonded_kernel::{
///     Effect, Input, Mask, Millis, Outcome, Reply, ReplyCall, RunConfig, RunId, RunStarted, Target, start, step,
/// };
/// use bonded_tools::sandbox::{Launcher, SandboxPolicy};
/// use bonded_tools::{Registry, Sandbox, Workdir, builtin};
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let dir = tempfile::tempdir()?;
/// std::fs::write(dir.path().join("a.txt"), "one\n")?;
/// let sandbox = Sandbox::prepare(SandboxPolicy::default(), dir.path(), &Launcher::None)?;
/// let registry = Registry::new(builtin(Workdir::open(dir.path())?, &Arc::new(sandbox)))?;
///
/// // A run that has asked a model, which wants to read a file.
/// let targets = vec![Target::new("script", "none", "none")];
/// let config = RunConfig::new(dir.path().display().to_string(), targets);
/// let catalog = registry.catalog().clone();
/// let started = RunStarted::new("goal".into(), "system".into(), config, catalog);
/// let id = RunId::new("example").expect("a usable name");
/// let (mut run, _asks) = start(id, Millis(0), started);
/// let reply = Reply {
///     calls: vec![ReplyCall {
///         id: "c1".into(),
///         tool: "read".into(),
///         arguments: r#"{"path": "a.txt"}"#.into(),
///     }],
///     ..Reply::default()
/// };
/// let (turn, attempt, reply) = (1, 1, Box::new(reply));
/// let next = step(&mut run, Millis(1), Input::Reply { turn, attempt, reply });
///
/// // A host appends the entries of the step first, and shows the head that its store acknowledged.
/// let head = next.after();
/// let Ok(Effect::Invoke(call)) = next.release(head) else {
///     panic!("the call is let through");
/// };
/// let output = registry.invoke(&call, &Mask::default()).await;
/// assert_eq!(output.outcome, Outcome::Ok);
/// assert!(output.text.contains("one"));
/// # Ok(())
/// # }
/// ```
pub struct Registry {
    tools: BTreeMap<String, Arc<dyn Tool>>,
    catalog: Catalog,
    /// Tools that have become others since the run began, each with why it is not called.
    changed: BTreeMap<String, ToolFault>,
    guard: Option<Arc<dyn CallGuard>>,
}

/// Looks at what a call may do to the place that a run works in, and at what it did.
pub trait CallGuard: Send + Sync {
    /// Why the call is not made, where it is not. All that it changes lies in the place if it `stays` there.
    fn before(&self, call: &Invocation, stays: bool) -> Result<(), ToolFault>;

    /// Called when a call has ended, however it ended. What it returned is not told before this has come to its end.
    fn after<'a>(&'a self, call: &'a Invocation) -> BoxFuture<'a, ()>;
}

impl Registry {
    /// Refuses names that come twice and schemas that no call could be held to.
    pub fn new(tools: Vec<Arc<dyn Tool>>) -> Result<Self, BadCatalog> {
        let catalog = Catalog::new(tools.iter().map(|tool| tool.spec().clone()))?;
        Ok(Self::of(catalog, tools))
    }

    /// The tools of a run, beside those that the kernel answers itself.
    pub fn of_run(tools: Vec<Arc<dyn Tool>>, config: &RunConfig) -> Result<Self, BadCatalog> {
        let is_admitted = |tool: &Arc<dyn Tool>| is_admitted(&**tool, config);
        let tools: Vec<Arc<dyn Tool>> = tools.into_iter().filter(is_admitted).collect();
        let specs = tools.iter().map(|tool| tool.spec().clone());
        let may_wait = tools.iter().filter(|tool| tool.may_be_deferred());
        let may_wait: BTreeSet<&str> = may_wait.map(|tool| tool.spec().name.as_str()).collect();
        let waits = |spec: &ToolSpec| may_wait.contains(spec.name.as_str());
        let catalog = Catalog::of_run_deferring(specs, config, waits)?;
        Ok(Self::of(catalog, tools))
    }

    fn of(catalog: Catalog, tools: Vec<Arc<dyn Tool>>) -> Self {
        let tools = tools
            .into_iter()
            .map(|tool| (tool.spec().name.clone(), tool))
            .collect();
        Self {
            tools,
            catalog,
            changed: BTreeMap::new(),
            guard: None,
        }
    }

    /// The same tools, with somebody who looks at every call.
    #[must_use]
    pub fn guarded_by(&self, guard: Arc<dyn CallGuard>) -> Self {
        Self {
            tools: self.tools.clone(),
            catalog: self.catalog.clone(),
            changed: self.changed.clone(),
            guard: Some(guard),
        }
    }

    /// The same tools for a place that is set back to what it was before an interrupted call is made again.
    pub fn in_disposable_place(&self) -> Result<Self, BadCatalog> {
        let stays = |name: &str| self.stays_in_place(name);
        Ok(Self {
            tools: self.tools.clone(),
            catalog: self.catalog.with_repeatable(stays)?,
            changed: self.changed.clone(),
            guard: self.guard.clone(),
        })
    }

    fn stays_in_place(&self, name: &str) -> bool {
        self.tools
            .get(name)
            .is_some_and(|tool| tool.stays_in_place())
    }

    /// The same tools for a run that began with another catalogue, the one in its log. A tool that has
    /// become another one since fails when it is called.
    #[must_use]
    pub fn pinned_to(self: Arc<Self>, pinned: &Catalog) -> Arc<Self> {
        let change_of = |spec: &ToolSpec| {
            let change = self.tools.get(&spec.name)?.change_since(spec)?;
            Some((spec.name.clone(), change))
        };
        let changed: BTreeMap<_, _> = pinned.specs().filter_map(change_of).collect();
        if changed.is_empty() {
            return self;
        }
        Arc::new(Self {
            tools: self.tools.clone(),
            catalog: self.catalog.clone(),
            changed,
            guard: self.guard.clone(),
        })
    }

    /// What a run that begins now is offered. A run keeps the one it began with.
    pub fn catalog(&self) -> &Catalog {
        &self.catalog
    }

    /// Runs a checked call under its queue, its timeout and its byte cap. The time in the queue counts
    /// neither as the call's time nor against its timeout. Secrets are masked before anything is cut.
    ///
    /// A panic of the tool unwinds to the caller. Dropping the future stops the call; a command's whole
    /// process group is killed.
    pub async fn invoke(&self, call: &Invocation, mask: &Mask) -> ToolOutput {
        let tool = self.tools.get(call.tool());
        let _place = match tool.and_then(|tool| tool.queue()) {
            Some(queue) => Some(queue.enter_for(call.tool()).await),
            None => None,
        };
        let started = Instant::now();
        let executed = match &self.guard {
            None => self.execute(call).await,
            Some(guard) => self.execute_guarded(call, &**guard).await,
        };
        let code = executed.as_ref().err().map(|fault| fault.code);
        let short = executed.as_ref().ok().and_then(ToolValue::short);
        let images = executed.as_ref().map(ToolValue::images);
        let images = images.unwrap_or_default();
        let (outcome, text) = match executed {
            Ok(value) => (value.outcome(), value.to_string()),
            Err(fault) if fault.code == fault::TIMEOUT => {
                (Outcome::TimedOut, "(tool failed: timeout)".into())
            }
            Err(fault) => (Outcome::Failed, format!("(tool failed: {fault})")),
        };
        let (text, short) = (mask.owned(text), short.map(|it| mask.owned(it)));
        ToolOutput {
            latency_ms: u64::try_from(started.elapsed().as_millis()).unwrap_or(u64::MAX),
            sandbox: tool.and_then(|tool| tool.sandbox()).cloned(),
            code: code.filter(|_| call.keeps_code()).map(Into::into),
            images,
            ..within_bounds(call, outcome, text, short.as_deref())
        }
    }

    /// The same. The listener is told each time that a command puts something out.
    pub async fn invoke_heard(
        &self,
        call: &Invocation,
        mask: &Mask,
        on_output: OnOutput,
    ) -> ToolOutput {
        heard::by(on_output, self.invoke(call, mask)).await
    }

    async fn execute_guarded(
        &self,
        call: &Invocation,
        guard: &dyn CallGuard,
    ) -> Result<ToolValue, ToolFault> {
        guard.before(call, self.stays_in_place(call.tool()))?;
        let executed = self.execute(call).await;
        guard.after(call).await;
        executed
    }

    async fn execute(&self, call: &Invocation) -> Result<ToolValue, ToolFault> {
        let tool = self.tools.get(call.tool()).ok_or_else(|| {
            ToolFault::new(
                fault::UNKNOWN_TOOL,
                format!("there is no tool {:?}", call.tool()),
            )
        })?;
        if let Some(fault) = self.changed.get(call.tool()) {
            return Err(fault.clone());
        }
        let arguments = serde_json::from_str(call.arguments())
            .map_err(|error| ToolFault::new(fault::BAD_ARGUMENTS, error.to_string()))?;
        let timeout = Duration::from_millis(call.timeout_ms());
        tokio::time::timeout(timeout, tool.call(arguments, call))
            .await
            .unwrap_or_else(|_| Err(ToolFault::timeout()))
    }
}

impl fmt::Debug for Registry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.tools.keys()).finish()
    }
}

/// Whether a run may have a tool. In one that reads only, a server whose tool the policy calls untrusted is not believed that it
/// changes nothing.
fn is_admitted(tool: &dyn Tool, config: &RunConfig) -> bool {
    let is_untrusted = || {
        let policy = config.policy.as_ref();
        policy.is_some_and(|policy| policy.is_untrusted(&tool.spec().name))
    };
    let is_doubted = config.reads_only() && tool.is_vouched_by_server() && is_untrusted();
    config.admits(tool.spec()) && !is_doubted
}

/// The output of a call that was executed elsewhere: masked and cut as that of a tool is.
pub fn output_from_elsewhere(
    call: &Invocation,
    text: &str,
    mask: &Mask,
    latency_ms: u64,
) -> ToolOutput {
    let text = mask.text(text).into_owned();
    ToolOutput {
        latency_ms,
        ..within_bounds(call, Outcome::Ok, text, None)
    }
}

/// An output without what is not known of its call yet. What is too long is cut, and kept where the run wants that.
fn within_bounds(
    call: &Invocation,
    outcome: Outcome,
    text: String,
    short: Option<&str>,
) -> ToolOutput {
    let is_cut = text.len() as u64 > call.output_bytes_max();
    let kept = call.kept_bytes_max().filter(|_| is_cut);
    let original = kept.map(|bytes_max| first_bytes(&text, bytes_max).to_owned());
    let (handle, max) = (call.output_handle(), call.output_bytes_max());
    let shortened = shortened(&text, short, max, handle.as_deref());
    let (text, cut_from_bytes) = match shortened {
        Some(shown) => (shown, Some(text.len() as u64)),
        None => cut(text, max, handle.as_deref()),
    };
    ToolOutput {
        outcome,
        text,
        cut_from_bytes,
        original,
        latency_ms: 0,
        tokens: None,
        spent: None,
        marked: false,
        sandbox: None,
        code: None,
        images: vec![],
    }
}

/// The beginning of a text, cut at a character.
fn first_bytes(text: &str, bytes_max: u64) -> &str {
    let max = usize::try_from(bytes_max).unwrap_or(usize::MAX);
    &text[..text.floor_char_boundary(max)]
}

/// What a tool itself made of an output that is too long, with how to read all of it.
fn shortened(
    text: &str,
    short: Option<&str>,
    bytes_max: u64,
    handle: Option<&str>,
) -> Option<String> {
    let (short, handle, size) = (short?, handle?, text.len());
    if size as u64 <= bytes_max {
        return None;
    }
    let notice =
        format!("[TRUNCATED] Original size {size} bytes; truncated to {bytes_max} bytes.\n");
    let shown = format!("{notice}{}\n{short}", paging_hint(handle, 0));
    (shown.len() as u64 <= bytes_max).then_some(shown)
}

/// Shortens a text to `bytes_max`, with a notice at its beginning that counts inside the limit. Where the
/// whole is kept under a handle, the notice says how to read on. The second value is the original size,
/// where something was cut.
fn cut(text: String, bytes_max: u64, handle: Option<&str>) -> (String, Option<u64>) {
    let size = text.len();
    let max = usize::try_from(bytes_max).unwrap_or(usize::MAX);
    if size <= max {
        return (text, None);
    }
    let notice = format!("[TRUNCATED] Original size {size} bytes; truncated to {max} bytes.\n");
    // No offset is longer than the size; a hint that leaves no room for the text is no help.
    let hint_bytes = handle.map_or(0, |handle| paging_hint(handle, size).len());
    let handle = handle.filter(|_| notice.len() + hint_bytes < max / 2);
    let used = notice.len() + 1 + handle.map_or(0, |_| hint_bytes);
    let shown_text = first_bytes(&text, max.saturating_sub(used) as u64);
    let hint = handle.map(|handle| paging_hint(handle, shown_text.len()));
    let mut shown = format!("{notice}{}\n{shown_text}", hint.unwrap_or_default());
    // Only a limit shorter than the notice itself makes this cut anything.
    shown.truncate(max);
    (shown, Some(size as u64))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_within_the_limit_is_left_alone() {
        for text in ["", "x", "0123456789"] {
            assert_eq!(cut(text.into(), 10, None), (text.into(), None));
        }
    }

    #[test]
    fn a_cut_text_fits_begins_with_the_notice_and_ends_at_a_character() {
        let text = "ä".repeat(500);
        for max in 64..200u64 {
            let (shown, from) = cut(text.clone(), max, None);
            let notice =
                format!("[TRUNCATED] Original size 1000 bytes; truncated to {max} bytes.\n\n");
            assert_eq!(from, Some(1000));
            assert!(
                shown.len() as u64 <= max && shown.len() as u64 + 1 >= max,
                "{max}"
            );
            let rest = shown.strip_prefix(&notice).expect("the notice comes first");
            assert!(rest.chars().all(|c| c == 'ä'));
        }
    }

    #[test]
    fn a_limit_below_the_notice_cuts_the_notice() {
        for max in [0, 1, 11, 40] {
            let (shown, from) = cut("y".repeat(300), max, Some("out-1-0"));
            assert_eq!(shown.len() as u64, max);
            assert!("[TRUNCATED] Original size 300 bytes; truncated to".starts_with(&shown));
            assert_eq!(from, Some(300));
        }
    }

    #[test]
    fn a_cut_text_whose_whole_is_kept_says_where_to_read_on() {
        let text = "ä€😀".repeat(500);
        for max in 300..400u64 {
            let (shown, _) = cut(text.clone(), max, Some("out-3-1"));
            assert!(shown.len() as u64 <= max && shown.len() as u64 + 8 > max);
            let (head, rest) = shown.split_once("\n\n").expect("a notice and a text");
            let mut lines = head.lines();
            let first = format!("[TRUNCATED] Original size 4500 bytes; truncated to {max} bytes.");
            assert_eq!(lines.next(), Some(first.as_str()));
            let offset = rest.len();
            let hint = format!(
                "Read on with tool_output {{\"handle\": \"out-3-1\", \"offset\": {offset}}}."
            );
            assert_eq!(lines.next(), Some(hint.as_str()));
            assert!(text.starts_with(rest), "nothing lies between the two");
        }
    }

    #[test]
    fn a_limit_that_the_hint_would_fill_has_the_notice_alone() {
        let (shown, _) = cut("y".repeat(300), 150, Some("out-3-1"));
        assert!(!shown.contains("tool_output"), "{shown}");
        assert_eq!(shown.len(), 150);
    }
}
