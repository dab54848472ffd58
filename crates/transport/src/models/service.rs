//! Services by their addresses, and servers of one's own by what they are: what each adds to or takes from what a model
//! takes. A service is known by where it is: a provider may be called anything.

use bonded_kernel::{
    Accepts, CallIds, Effort, OutputLimitField, PenaltyField, Target, ThinkingForm, ThoughtReturn,
};

use super::glob;

/// A service that runs models of one or of many makers.
#[derive(Debug)]
pub struct Service {
    /// What a provider of this kind is called in a configuration.
    pub name: &'static str,
    /// The day on which the row was last held against what the service says.
    pub as_of: &'static str,
    /// The ends of its hosts' names, the one that everybody is told first.
    hosts: &'static [&'static str],
    /// Changes what a model takes elsewhere, by its name, to what it takes here.
    describe: fn(&mut Accepts, &str),
}

impl Service {
    /// The service that a target is asked at; none where it is only known that it speaks a dialect.
    pub fn of(target: &Target) -> Option<&'static Self> {
        // Many servers that are called so only speak OpenAI's language.
        let by_name = |it: &&Self| it.name != "openai" && it.name == target.family();
        Self::at(&target.endpoint).or_else(|| SERVICES.iter().find(by_name))
    }

    /// The service whose own address this is.
    pub fn at(endpoint: &str) -> Option<&'static Self> {
        let host = host_of(endpoint);
        let is_its = |it: &&Self| it.hosts.iter().any(|end| is_under(&host, end));
        SERVICES.iter().find(is_its)
    }

    /// Whether its list prices hold at an address: at its first host, and not at those of regions and of special uses.
    pub(super) fn sells_at(&self, endpoint: &str) -> bool {
        self.hosts
            .first()
            .is_some_and(|host| *host == host_of(endpoint))
    }

    /// `model` is the name by which its family was looked up.
    pub(crate) fn describe(&self, accepts: &mut Accepts, model: &str) {
        (self.describe)(accepts, model);
    }
}

/// The end must begin at a label: `api.openai.com.evil.org` and `notapi.openai.com` are neither of them the
/// service.
fn is_under(host: &str, end: &str) -> bool {
    let before = host.strip_suffix(end);
    before.is_some_and(|before| before.is_empty() || before.ends_with('.'))
}

/// The host of an address, in lower case.
///
/// Read by hand and not by the URL parser, because an endpoint is looked at here before it is known to be an
/// address. What stands before an `@` is a name and a password, and never a host.
fn host_of(endpoint: &str) -> String {
    let rest = endpoint
        .split_once("://")
        .map_or(endpoint, |(_, rest)| rest);
    let authority = rest.split(['/', '?', '#']).next().unwrap_or_default();
    let host = authority
        .rsplit_once('@')
        .map_or(authority, |(_, host)| host);
    let host = host.split(':').next().unwrap_or_default();
    host.to_ascii_lowercase()
}

/// A row that is held anew says its own day.
const HELD_ON: &str = "2026-11-16";

/// All services.
pub static SERVICES: &[Service] = &[
    Service {
        name: "openai",
        as_of: HELD_ON,
        hosts: &["api.openai.com"],
        describe: |accepts, _| {
            accepts.output_limit = OutputLimitField::MaxCompletionTokens;
            accepts.top_k = false;
            accepts.penalty = PenaltyField::None;
            accepts.call_ids = CallIds::Short;
        },
    },
    Service {
        name: "azure",
        as_of: HELD_ON,
        hosts: &[
            "openai.azure.com",
            "cognitiveservices.azure.com",
            "services.ai.azure.com",
        ],
        describe: |accepts, _| {
            accepts.top_k = false;
            accepts.penalty = PenaltyField::None;
            accepts.service_tier = false;
            accepts.call_ids = CallIds::Short;
        },
    },
    Service {
        name: "anthropic",
        as_of: HELD_ON,
        hosts: &["api.anthropic.com"],
        describe: |_, _| {},
    },
    Service {
        name: "google",
        as_of: HELD_ON,
        hosts: &["generativelanguage.googleapis.com"],
        describe: |_, _| {},
    },
    Service {
        name: "openrouter",
        as_of: HELD_ON,
        hosts: &["openrouter.ai"],
        // The router says what the models behind it take, and leaves out what they do not.
        describe: |accepts, model| {
            let least = super::family(model).and_then(|_| accepts.efforts.first());
            let always_thinks = least.is_some_and(|least| *least != Effort::None);
            let efforts = Effort::ALL.iter().skip(usize::from(always_thinks));
            *accepts = Accepts {
                thinking: ThinkingForm::Routed,
                efforts: efforts.copied().collect(),
                thought_return: ThoughtReturn::Details,
                alternates: accepts.alternates,
                user_after_tool: accepts.user_after_tool,
                call_ids: accepts.call_ids,
                ..Accepts::default()
            };
        },
    },
    Service {
        name: "mistral",
        as_of: HELD_ON,
        hosts: &["api.mistral.ai", "codestral.mistral.ai"],
        describe: |accepts, _| {
            accepts.output_limit = OutputLimitField::MaxTokens;
            accepts.user_after_tool = false;
            accepts.call_ids = CallIds::Nine;
            accepts.top_k = false;
            accepts.penalty = PenaltyField::None;
            accepts.stream_usage = false;
            accepts.prompt_cache_key = false;
            accepts.service_tier = false;
        },
    },
    Service {
        name: "deepseek",
        as_of: HELD_ON,
        hosts: &["api.deepseek.com"],
        describe: |accepts, _| {
            accepts.thought_return = ThoughtReturn::Content;
            accepts.top_k = false;
            accepts.penalty = PenaltyField::None;
        },
    },
    Service {
        name: "xai",
        as_of: HELD_ON,
        hosts: &["api.x.ai"],
        describe: |accepts, _| {
            accepts.top_k = false;
            accepts.penalty = PenaltyField::None;
        },
    },
    Service {
        name: "groq",
        as_of: HELD_ON,
        hosts: &["api.groq.com"],
        describe: |accepts, model| {
            accepts.output_limit = OutputLimitField::MaxCompletionTokens;
            accepts.thought_return = ThoughtReturn::None;
            accepts.efforts.retain(|it| *it != Effort::Minimal);
            if glob::fits("*qwen3*", model) {
                // It thinks by itself, or is told not to.
                accepts.efforts = vec![Effort::None];
            }
            accepts.top_k = false;
            accepts.penalty = PenaltyField::None;
            accepts.prompt_cache_key = false;
        },
    },
    // A gateway of one's own before it: the models are known by their names.
    Service {
        name: "bedrock",
        as_of: HELD_ON,
        hosts: &[],
        describe: |accepts, _| accepts.calls_need_tools = true,
    },
    Service {
        name: "ollama",
        as_of: HELD_ON,
        hosts: &[],
        describe: of_ones_own,
    },
    Service {
        name: "lmstudio",
        as_of: HELD_ON,
        hosts: &[],
        describe: of_ones_own,
    },
    Service {
        name: "llamacpp",
        as_of: HELD_ON,
        hosts: &[],
        describe: of_ones_own,
    },
    Service {
        name: "vllm",
        as_of: HELD_ON,
        hosts: &[],
        describe: in_a_template,
    },
];

/// They know a few efforts only, and call the penalty for repetitions by another name.
fn of_ones_own(accepts: &mut Accepts, model: &str) {
    accepts.penalty = PenaltyField::RepeatPenalty;
    accepts.output_limit = OutputLimitField::MaxTokens;
    accepts.efforts.retain(|it| {
        matches!(
            it,
            Effort::None | Effort::Low | Effort::Medium | Effort::High
        )
    });
    in_a_template(accepts, model);
}

/// The model's own template makes one text of a conversation. Many raise an error where one side speaks twice, answers of
/// tools in between or not, and no model needs it so.
fn in_a_template(accepts: &mut Accepts, _: &str) {
    accepts.alternates = true;
    accepts.user_after_tool = false;
}
