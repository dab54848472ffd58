//! The stable codes of errors: one row for each, with its name, its exit code and its page.
//!
//! A code is a promise: scripts branch on its name and on the exit code. Exit codes: 1 says that something is not as it
//! should be, 3 that the machine failed, 4 that what was typed or configured does, 5 a schema, 6 and 7 that nothing failed
//! and something is still open.

/// Makes the codes. A page that is missing is a compile error.
macro_rules! codes {
    ($($(#[$doc:meta])* $code:ident = $name:literal, $exit:literal;)*) => {
        /// The stable codes. Each has a page in `docs/errors`, which `bonded explain CODE` prints.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub(crate) enum Code {
            $($(#[$doc])* $code,)*
        }

        impl Code {
            /// Every code once. The order is that of `bonded explain` without an argument.
            pub(crate) const ALL: &'static [Self] = &[$(Self::$code,)*];

            /// The code's name, its exit code, and its page.
            fn entry(self) -> (&'static str, u8, &'static str) {
                match self {
                    $(Self::$code => (
                        $name,
                        $exit,
                        include_str!(concat!("../../../../docs/errors/", $name, ".md")),
                    ),)*
                }
            }
        }
    };
}

codes! {
    /// A mistake in the arguments; nothing was begun, and nothing is put on record.
    Usage = "usage", 4;
    /// Neither a flag, a file nor a variable names a model.
    NoModel = "no-model", 4;
    /// The name of the model leads to no endpoint.
    BadModel = "bad-model", 4;
    /// The goal is empty, too large, no UTF-8, or not what the agent takes.
    BadGoal = "bad-goal", 4;
    /// A file of scripted replies is missing, or a line of it is no reply.
    BadScript = "bad-script", 4;
    /// The text cannot be the id of any run.
    BadRunId = "bad-run-id", 4;
    /// No run of this store has this id, nor one that begins so.
    UnknownRun = "unknown-run", 4;
    /// Several ids begin with what was typed; the hint lists them.
    AmbiguousRun = "ambiguous-run", 4;
    /// A chosen id belongs to another run.
    IdTaken = "id-taken", 4;
    /// The run has fewer turns.
    NoSuchTurn = "no-such-turn", 4;
    /// No call of the run waits for a person.
    NothingWaits = "nothing-waits", 4;
    /// Another call waits than the one that was looked at; nothing was recorded.
    OtherCall = "other-call", 4;
    /// Nobody could be asked, or not all was shown: nothing was approved.
    LookFirst = "look-first", 4;
    /// There is a limit of cost, and no price for one of the models.
    NoPrice = "no-price", 4;
    /// There is no such plan to resume, or its record cannot be read.
    UnknownPlan = "unknown-plan", 4;
    /// The plan has faults; all of them are listed, and nothing was run.
    BadPlan = "bad-plan", 4;
    /// The working directory is missing, cannot be read, or has no UTF-8 path.
    Workdir = "workdir", 4;
    /// The tree cannot be worked on as it is, and is untouched.
    Tree = "tree", 4;
    /// An agent file, or one that it includes or calls, cannot be used.
    AgentFile = "agent-file", 4;
    /// The configuration cannot be used; the hints are its further problems.
    Config = "config", 4;
    /// Something that was found wants more than to tighten, and nobody trusts it. Nothing of it was started.
    Untrusted = "untrusted", 4;
    /// The record of what the person trusts cannot be read or written; until then nothing is trusted.
    TrustRecord = "trust-record", 4;
    /// A tool that is not built in, a server that is switched off, or a login that a server cannot have.
    UnknownTool = "unknown-tool", 4;
    /// A skill that was named is not there, not trusted, or cannot be used.
    UnknownSkill = "unknown-skill", 4;
    /// A schema is no JSON Schema, or something does not fit it.
    Schema = "schema", 5;
    /// A tool server did not start, so that the run did not begin.
    ToolServer = "tool-server", 3;
    /// The machine cannot enforce the sandbox that is required, or no command can be started in it.
    Sandbox = "sandbox", 3;
    /// The address of a server cannot be listened on.
    Listen = "listen", 3;
    /// Something of the tree, of its copies or of what is kept beside the store could not be read or written.
    TreeFailed = "tree-failed", 3;
    /// Another plan works on the tree, or on one around it. It is untouched.
    TreeBusy = "tree-busy", 3;
    /// The run takes no other goal, as it is or by what the configuration says now.
    CannotContinue = "cannot-continue", 4;
    /// A run that should have planned has no plan that can be used.
    NoPlan = "no-plan", 1;
    /// Another process drives the run, or a plan does.
    RunHeld = "run-held", 3;
    /// Another process wrote to the log meanwhile; this one let go, so that nothing is done twice.
    TakenOver = "taken-over", 3;
    /// There is no store where one was named, or there is no home to look for one in.
    StoreMissing = "store-missing", 4;
    /// The file is something else.
    StoreNotAStore = "store-not-a-store", 4;
    /// The store's file is damaged.
    StoreCorrupt = "store-corrupt", 3;
    /// A newer version has written it; this one does not guess what it says.
    StoreNewer = "store-newer", 3;
    /// The disk is full. What was durable before still is.
    StoreFull = "store-full", 3;
    /// The store cannot be written.
    StoreReadOnly = "store-read-only", 3;
    /// Another process keeps it locked for too long.
    StoreLocked = "store-locked", 3;
    /// The file was removed, moved or replaced while it was open.
    StoreReplaced = "store-replaced", 3;
    /// No server answers at the store's address.
    StoreUnreachable = "store-unreachable", 3;
    /// The store's server does not let this user in, or not do what is needed.
    StoreDenied = "store-denied", 3;
    /// The server has no store yet, or an older one.
    StoreNotReady = "store-not-ready", 3;
    /// The server would acknowledge what a crash can lose.
    StoreUnsynced = "store-unsynced", 3;
    /// The server takes no further connections.
    StoreConnections = "store-connections", 3;
    /// A pooler stands before the server.
    StorePooler = "store-pooler", 3;
    /// The process could not show in time that it lives, and stopped what it did for the run.
    LeaseLost = "lease-lost", 3;
    /// Reading or writing it failed otherwise.
    StoreIo = "store-io", 3;
    /// The run is a copy, or was moved: another store continues it.
    RunElsewhere = "run-elsewhere", 3;
    /// A log in the store to copy to is not the beginning of the one that was to be copied.
    CopyDiverged = "copy-diverged", 1;
    /// Runs were driven while they were copied: the copy is made again.
    CopyUnfinished = "copy-unfinished", 6;
    /// Entries of a log are not what their hashes say, or are not the log of one run.
    BrokenLog = "broken-log", 1;
    /// A log contradicts what is known of it elsewhere.
    Tampered = "tampered", 1;
    /// No fault was found, and there was nothing to compare with. It has an exit code of its own, because it is
    /// neither success nor a fault: a log that was cut at its end looks the same.
    NotCompared = "not-compared", 7;
    /// Something stands in the way of an undo; nothing was changed.
    UndoRefused = "undo-refused", 1;
    /// The record of a run's changes cannot be read, or an undo was not made; nothing was changed.
    UndoFailed = "undo-failed", 3;
    /// A replay computed something else than what is recorded.
    ReplayDiffers = "replay-differs", 1;
    /// A receipt is not what it claims to be.
    BadReceipt = "bad-receipt", 1;
    /// The data directory of a workspace is missing or holds a file that cannot be used.
    DataDir = "data-dir", 4;
    /// The workspace did not make the change. The message begins with the code that programs meet over HTTP.
    Refused = "refused", 4;
    /// The run ended, and not with success.
    RunFailed = "run-failed", 1;
    /// A call waits for a person; the run goes on after the verdict.
    AwaitingReview = "awaiting-review", 6;
    /// A signal asked the process to end; what was under way can be resumed. The exit code is 128 and the signal's
    /// number.
    Interrupted = "interrupted", 143;
    /// What was to be read on stdout, or in files, could not be written.
    OutputFailed = "output-failed", 3;
    /// Something that should not happen; there is nothing that a person can do about it but report it.
    Internal = "internal", 3;
}

impl Code {
    /// The name that an error is printed with, which is also that of its page.
    pub(crate) fn name(self) -> &'static str {
        self.entry().0
    }

    /// As the table has it. For an error that is met, `CliError::exit_code` counts: only that knows which signal it
    /// was.
    pub(crate) fn exit_code(self) -> u8 {
        self.entry().1
    }

    /// The page as Markdown, built in: it is there without the network and of the same version.
    pub(crate) fn page(self) -> &'static str {
        self.entry().2
    }
}
