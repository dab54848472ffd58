//! Services by their addresses, and servers of one's own by what they are: what each adds to or takes from what a model
//! takes. A service is known by where it is: a provider may be called anything.

use bonded_kernel::{
    Accepts, Effort, OutputLimitField, PenaltyField, Target, ThinkingForm, ThoughtReturn,
};

/// A service that runs models of one or of many makers.
#[derive(Debug)]
pub struct Service {
    /// What a provider of this kind is called in a configuration.
    pub name: &'static str,
    /// The ends of its hosts' names, the one that everybody is told first.
    hosts: &'static [&'static str],
    describe: fn(&mut Accepts),
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

    pub(super) fn describe(&self, accepts: &mut Accepts) {
        (self.describe)(accepts);
    }
}

fn is_under(host: &str, end: &str) -> bool {
    let before = host.strip_suffix(end);
    before.is_some_and(|before| before.is_empty() || before.ends_with('.'))
}

/// The host of an address, in lower case.
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

/// All services.
pub static SERVICES: &[Service] = &[
    Service {
        name: "openai",
        hosts: &["api.openai.com"],
        describe: |accepts| {
            accepts.output_limit = OutputLimitField::MaxCompletionTokens;
            accepts.top_k = false;
            accepts.penalty = PenaltyField::None;
        },
    },
    Service {
        name: "azure",
        hosts: &[
            "openai.azure.com",
            "cognitiveservices.azure.com",
            "services.ai.azure.com",
        ],
        describe: |accepts| {
            accepts.top_k = false;
            accepts.penalty = PenaltyField::None;
            accepts.service_tier = false;
        },
    },
    Service {
        name: "anthropic",
        hosts: &["api.anthropic.com"],
        describe: |_| {},
    },
    Service {
        name: "google",
        hosts: &["generativelanguage.googleapis.com"],
        describe: |_| {},
    },
    Service {
        name: "openrouter",
        hosts: &["openrouter.ai"],
        // The router says what the models behind it take, and leaves out what they do not.
        describe: |accepts| {
            *accepts = Accepts {
                thinking: ThinkingForm::Routed,
                efforts: Effort::ALL.to_vec(),
                thought_return: ThoughtReturn::Details,
                alternates: accepts.alternates,
                user_after_tool: accepts.user_after_tool,
                ..Accepts::default()
            };
        },
    },
    Service {
        name: "mistral",
        hosts: &["api.mistral.ai", "codestral.mistral.ai"],
        describe: |accepts| {
            accepts.output_limit = OutputLimitField::MaxTokens;
            accepts.user_after_tool = false;
            accepts.top_k = false;
            accepts.penalty = PenaltyField::None;
            accepts.stream_usage = false;
            accepts.prompt_cache_key = false;
            accepts.service_tier = false;
        },
    },
    Service {
        name: "deepseek",
        hosts: &["api.deepseek.com"],
        describe: |accepts| {
            accepts.thought_return = ThoughtReturn::Content;
            accepts.top_k = false;
            accepts.penalty = PenaltyField::None;
        },
    },
    Service {
        name: "xai",
        hosts: &["api.x.ai"],
        describe: |accepts| {
            accepts.top_k = false;
            accepts.penalty = PenaltyField::None;
        },
    },
    Service {
        name: "groq",
        hosts: &["api.groq.com"],
        describe: |accepts| {
            accepts.output_limit = OutputLimitField::MaxCompletionTokens;
            accepts.thought_return = ThoughtReturn::None;
            accepts.efforts.retain(|it| *it != Effort::Minimal);
            accepts.top_k = false;
            accepts.penalty = PenaltyField::None;
            accepts.prompt_cache_key = false;
        },
    },
    // A gateway of one's own before it: the models are known by their names.
    Service {
        name: "bedrock",
        hosts: &[],
        describe: |accepts| accepts.calls_need_tools = true,
    },
    Service {
        name: "ollama",
        hosts: &[],
        describe: of_ones_own,
    },
    Service {
        name: "lmstudio",
        hosts: &[],
        describe: of_ones_own,
    },
    Service {
        name: "llamacpp",
        hosts: &[],
        describe: of_ones_own,
    },
    Service {
        name: "vllm",
        hosts: &[],
        describe: |accepts| accepts.alternates = true,
    },
];

fn of_ones_own(accepts: &mut Accepts) {
    accepts.penalty = PenaltyField::RepeatPenalty;
    accepts.output_limit = OutputLimitField::MaxTokens;
    accepts.efforts.retain(|it| {
        matches!(
            it,
            Effort::None | Effort::Low | Effort::Medium | Effort::High
        )
    });
    // Templates of many models raise an error otherwise, and no model needs it otherwise.
    accepts.alternates = true;
}
