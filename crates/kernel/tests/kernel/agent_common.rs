//! Agents for the tests: a set-up for each encoding, and replies as agents write them.

use bonded_kernel::{
    AgentConfig, Encoding, Finish, Message, Offer, Reply, ReplyCall, Report, ReportFormat,
    ReportSource, ReportSpec, ReportStatus, Window, request,
};
use serde_json::{Value, json};

use crate::common::{Setup, World, call, reply, setup, text};

pub(crate) const NONCE: &str = "0123abcd";
pub(crate) const REPORT: &str = "agent__final_report";

/// The notice that the contract gives word for word.
pub(crate) const IGNORED: &str = "System notice: plain text responses without tool calls are ignored. Use final_report to provide your answer.";

/// An agent that reports markdown, with repairs on. What repeats does not end it, so that turns and
/// attempts do.
pub(crate) fn agent(encoding: Encoding) -> Setup {
    let mut setup = setup().limit(|limits| limits.repeats_max = 0);
    setup.config.repairs = true;
    setup.config.agent = Some(Box::new(AgentConfig {
        name: "gardener".into(),
        encoding,
        nonce: NONCE.into(),
        report: ReportSpec::default(),
        tools: vec![],
        agents: vec![],
        config_files: vec![],
        quotes_are_text: true,
        handed_down: None,
        deferred_above: None,
    }));
    setup
}

pub(crate) const ENCODINGS: [Encoding; 3] = [Encoding::Native, Encoding::XmlFinal, Encoding::Xml];

impl Setup {
    /// Decides as runs did that began with this edition.
    pub(crate) fn edition(mut self, edition: u16) -> Self {
        let written = edition.to_string();
        self.config.edition = serde_json::from_str(&written).expect("an edition is a number");
        self
    }

    pub(crate) fn reports(mut self, format: ReportFormat, schema: Option<Value>) -> Self {
        if let Some(agent) = &mut self.config.agent {
            agent.report = ReportSpec { format, schema };
        }
        self
    }

    pub(crate) fn turns(self, turns_max: u32) -> Self {
        self.limit(|limits| limits.turns_max = turns_max)
    }

    pub(crate) fn attempts(self, attempts_max: u32) -> Self {
        self.limit(|limits| limits.attempts_per_turn_max = attempts_max)
    }

    pub(crate) fn calls(self, calls_max: u32) -> Self {
        self.limit(|limits| limits.calls_per_turn_max = calls_max)
    }

    /// One target for each window.
    pub(crate) fn windows(self, windows: &[u64]) -> Self {
        let mut setup = self.targets(windows.len());
        for (target, tokens) in setup.config.targets.iter_mut().zip(windows) {
            target.window = Some(Window {
                tokens: *tokens,
                buffer: 0,
                vocabulary: Default::default(),
            });
        }
        setup
    }
}

pub(crate) fn report_call(arguments: &Value) -> ReplyCall {
    call(REPORT, &arguments.to_string())
}

pub(crate) fn markdown(content: &str) -> ReplyCall {
    report_call(&json!({ "report_format": "markdown", "report_content": content }))
}

pub(crate) fn tag(slot: &str, attributes: &str, payload: &str) -> String {
    let name = format!("ai-agent-{NONCE}-{slot}");
    format!("<{name} {attributes}>{payload}</{name}>")
}

pub(crate) fn tool_tag(slot: u32, tool: &str, payload: &str) -> String {
    tag(&format!("{slot:04}"), &format!("tool=\"{tool}\""), payload)
}

pub(crate) fn final_tag(payload: &str) -> String {
    tag(
        "FINAL",
        &format!("tool=\"{REPORT}\" format=\"markdown\""),
        payload,
    )
}

/// A report in markdown, written as the encoding wants it.
pub(crate) fn report_in(encoding: Encoding, content: &str) -> Reply {
    match encoding {
        Encoding::Native => reply([markdown(content)]),
        Encoding::XmlFinal | Encoding::Xml => text(&final_tag(content)),
    }
}

/// One call of `look` in turn `turn`, written as the encoding wants it; slots as with a cap of `cap`.
pub(crate) fn look_in(encoding: Encoding, turn: u32, cap: u32) -> Reply {
    let arguments = json!({ "path": format!("path {turn}") }).to_string();
    match encoding {
        Encoding::Xml => text(&tool_tag((turn - 1) * cap + 1, "look", &arguments)),
        _ => reply([call("look", &arguments)]),
    }
}

pub(crate) fn stopped(finish: Finish, reply: Reply) -> Reply {
    Reply { finish, ..reply }
}

impl World {
    /// What the agent delivered.
    pub(crate) fn report(&self) -> Report {
        self.run.report().expect("the agent delivered a report")
    }

    pub(crate) fn content(&self) -> String {
        self.report()
            .content
            .map_or(String::new(), |it| it.to_string())
    }

    /// The report is the model's own, and so a success.
    pub(crate) fn is_reported_by(&self, source: ReportSource) -> bool {
        let report = self.report();
        report.source == source && report.status == ReportStatus::Success
    }

    /// The `reason` of a report that the run had to make itself.
    pub(crate) fn synthetic_reason(&self) -> String {
        let report = self.report();
        assert_eq!(report.source, ReportSource::Synthetic);
        assert_eq!(report.status, ReportStatus::Failure);
        let metadata = report.metadata.unwrap_or_default();
        metadata["reason"].as_str().unwrap_or_default().to_owned()
    }

    pub(crate) fn offer(&self) -> Option<Offer> {
        request(&self.run).map(|request| request.offer)
    }

    /// The names of the tools that the provider is told of.
    pub(crate) fn offered_tools(&self) -> Vec<String> {
        request(&self.run).map_or(vec![], |request| {
            request.tools().map(|spec| spec.name.clone()).collect()
        })
    }

    pub(crate) fn notices_text(&self) -> String {
        self.notices().join("\n")
    }

    /// Every text of the stored conversation, in order, with its role.
    pub(crate) fn conversation(&self) -> Vec<(&'static str, String)> {
        let told = self.run.messages().iter().map(|message| match message {
            Message::User { text, .. } => ("user", text.to_string()),
            Message::Assistant { text, .. } => ("assistant", text.to_string()),
            Message::Tool { text, .. } => ("tool", text.to_string()),
        });
        told.collect()
    }

    pub(crate) fn roles(&self) -> Vec<&'static str> {
        let conversation = self.conversation();
        conversation.into_iter().map(|(role, _)| role).collect()
    }
}
