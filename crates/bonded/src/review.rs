//! Calls that wait are asked about at once, where a person is at the terminal.
//!
//! A run that comes to such a call lets go of its log as it always does, so that its clock stands still and another
//! process may answer too. What is said here is recorded as any approval or denial is, and the run is driven on from
//! there. Elsewhere, without a terminal, nothing of this happens: the run is left, and `bonded approve` is for later.

mod call_view;
mod keyboard;
mod pager;
mod person;
mod question;
mod standing;

use std::io::IsTerminal as _;
use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;

use bonded_host::shapes::{text, waiting};
use bonded_host::{CancellationToken, Host, PendingReview, Reviewed};
use bonded_kernel::{Run, RunId, Verdict};
use tokio::signal::unix::SignalKind;

use crate::error::CliError;
use crate::render::narration::paint_of;
use crate::style::{self, Stream, Styled, Symbol};
use crate::{output, settings, signals};
use keyboard::{Stops, Unanswered};
use question::{Question, ReviewAnswer};

pub(crate) use call_view::{CallView, Proposal};
pub(crate) use person::person;
pub(crate) use standing::{Scope, Standing};

/// How much of a command a line about it shows.
const BRIEF_CHARS: usize = 60;

/// What came of a call that waits.
pub(crate) enum Judged {
    /// There is a verdict, ours or another one.
    Answered,
    /// No call waits, or nobody can be asked.
    Nothing,
    Stopped(ExitCode),
}

/// Asks the person at the terminal, and keeps what was said for more than one call.
pub(crate) struct Attendant {
    person: String,
    drawing: style::Look,
    standing: Standing,
    is_full: bool,
    /// Whether a prompt follows.
    is_conversation: bool,
}

impl Attendant {
    /// Somebody who can be asked: there is a terminal to ask at and one to answer at, in the foreground, and nothing
    /// that programs read is written.
    pub(crate) fn here(is_wanted: bool, store: Option<&Path>) -> Option<Self> {
        let is_here = std::io::stdin().is_terminal() && output::stderr_is_terminal();
        if !is_wanted || !is_here || !keyboard::is_in_front() {
            return None;
        }
        let store = settings::store_path(store).ok()?;
        Some(Self {
            person: person(),
            drawing: style::Look::of(Stream::Err),
            standing: Standing::new(vec![store.canonicalize().unwrap_or(store)]),
            is_full: false,
            is_conversation: false,
        })
    }

    /// A prompt says what can be done with a call that was not answered.
    #[must_use]
    pub(crate) fn in_conversation(mut self) -> Self {
        self.is_conversation = true;
        self
    }

    /// Shows long calls whole.
    #[must_use]
    pub(crate) fn showing_all(mut self, is_full: bool) -> Self {
        self.is_full = is_full;
        self
    }

    /// Asks about the call that a run waits for, its own or that of an agent below it, and records the verdict.
    pub(crate) async fn judge(
        &mut self,
        host: &Host,
        root: &Run,
        cancel: &CancellationToken,
    ) -> Result<Judged, CliError> {
        let waits = PendingReview::of(&*host.store, root).await?;
        // A shell may have put the process into the background meanwhile.
        let Some(waits) = waits.filter(|_| keyboard::is_in_front()) else {
            return Ok(Judged::Nothing);
        };
        let run = Arc::new(host.load(&waits.run).await?);
        let is_called = waits.run != *root.id();
        let look = CallView::of(&run, &waits.call, is_called);
        if let Some(scope) = self.standing.find(&run, &waits, &look) {
            let words = scope.words(&look.tool);
            let by = format!("{} (said always: {words})", self.person);
            self.record(host, &waits, Verdict::Approved, &by).await?;
            self.say_standing(&look, &words);
            return Ok(Judged::Answered);
        }
        let answer = self.ask(host, root, &run, &waits, cancel).await?;
        let person = &self.person;
        let (verdict, by, message) = match answer {
            ReviewAnswer::Unanswered(Unanswered::Withdrawn) => {
                self.say(Symbol::Warning, "it was answered elsewhere");
                return Ok(Judged::Answered);
            }
            ReviewAnswer::Unanswered(why) => {
                return Ok(Judged::Stopped(self.stopped(root.id(), &look, why)));
            }
            ReviewAnswer::Yes(None) => {
                let message = format!("approved by {person}");
                (Verdict::Approved, person.clone(), message)
            }
            ReviewAnswer::Yes(Some(scope)) => {
                let words = scope.words(&look.tool);
                let by = format!("{person} (always: {words})");
                let message = format!("approved by {person} ({words}, this run)");
                self.standing.add(&waits, scope);
                (Verdict::Approved, by, message)
            }
            ReviewAnswer::No(reason) => {
                let mut message = format!("denied by {person}");
                if !reason.is_empty() {
                    message.push_str(&format!(": {}", bonded_host::letters::written_out(&reason)));
                }
                let reason = reason.into();
                (Verdict::Denied { reason }, person.clone(), message)
            }
        };
        let symbol = match &verdict {
            Verdict::Approved => Symbol::Good,
            Verdict::Denied { .. } => Symbol::Bad,
        };
        if self.record(host, &waits, verdict, &by).await? == Reviewed::Recorded {
            self.say(symbol, &message);
        }
        Ok(Judged::Answered)
    }

    /// A verdict that comes too late is told: whoever answered first is heard.
    async fn record(
        &self,
        host: &Host,
        waits: &PendingReview,
        verdict: Verdict,
        by: &str,
    ) -> Result<Reviewed, CliError> {
        let reviewed = host.review(waits, verdict, by).await?;
        if reviewed == Reviewed::TooLate {
            self.say(Symbol::Warning, "too late: it was answered elsewhere");
        }
        Ok(reviewed)
    }

    fn say_standing(&self, look: &CallView, words: &str) {
        let about = match &look.subject {
            Proposal::Command(command, _) => {
                let command = bonded_host::letters::written_out(&command.command);
                format!("run {}", text::brief(&command, BRIEF_CHARS))
            }
            Proposal::Change(_) | Proposal::Failure(..) | Proposal::Arguments(_) => look.title(),
        };
        let person = &self.person;
        let message = format!("approved by {person} ({words}, this run): {about}");
        self.say(Symbol::Good, &message);
    }

    fn say(&self, symbol: Symbol, text: &str) {
        let mark = Styled::new().with(paint_of(symbol), self.drawing.symbol(symbol));
        output::draw(&(mark.text(" ").text(text).render(&self.drawing) + "\n"));
    }

    /// The question has a thread of its own: it waits for keys, and signals are heard meanwhile. Where the log goes on,
    /// somebody else has answered, and the question is taken back.
    async fn ask(
        &self,
        host: &Host,
        root: &Run,
        run: &Arc<Run>,
        waits: &PendingReview,
        cancel: &CancellationToken,
    ) -> Result<ReviewAnswer, CliError> {
        let withdrawn = CancellationToken::new();
        let stops = Stops {
            cancel: cancel.clone(),
            interrupt: signals::interrupt(),
            withdrawn: withdrawn.clone(),
        };
        let (shown, call) = (run.clone(), waits.call.clone());
        let is_called = waits.run != *root.id();
        let question = Question {
            look: move || CallView::of(&shown, &call, is_called),
            is_full: self.is_full,
            elsewhere: format!("From elsewhere: {}", waiting::approval(run, waits)),
        };
        let mut asking = tokio::task::spawn_blocking(move || question.ask(stops));
        let answered = tokio::select! {
            answered = &mut asking => answered,
            () = goes_on(host, run) => {
                withdrawn.cancel();
                asking.await
            }
        };
        // A terminal that cannot be asked at is one that is gone.
        Ok(match answered {
            Ok(Ok(answer)) => answer,
            Ok(Err(_)) | Err(_) => ReviewAnswer::Unanswered(Unanswered::HungUp),
        })
    }

    /// The last line is the command that asks again.
    fn stopped(&self, run: &RunId, look: &CallView, why: Unanswered) -> ExitCode {
        let (title, id) = (look.title(), text::short_id(run));
        let message = format!("stopped: {title} still needs your approval");
        self.say(Symbol::Stopped, &message);
        if !self.is_conversation {
            output::draw(&format!("Resume: bonded resume {id}\n"));
        }
        let of_signal = |kind: SignalKind| {
            let number = u8::try_from(kind.as_raw_value()).unwrap_or_default();
            ExitCode::from(signals::BY_SIGNAL + number)
        };
        match why {
            Unanswered::Interrupted => ExitCode::from(signals::interrupted_code()),
            Unanswered::HungUp => of_signal(SignalKind::hangup()),
            Unanswered::Stopped | Unanswered::Withdrawn => of_signal(SignalKind::interrupt()),
        }
    }
}

/// Resolves when somebody else has written to the log of a run that waits.
async fn goes_on(host: &Host, run: &Run) {
    let known = run.head();
    loop {
        if host.store.changed(run.id(), known.seq).await.is_err() {
            return std::future::pending().await;
        }
        if let Ok(Some(head)) = host.store.head(run.id()).await
            && head != known
        {
            return;
        }
    }
}
