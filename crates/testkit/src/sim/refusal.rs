//! Services that do not take everything that is said to them: they look at the very body that would be sent.

use bonded_kernel::{Dialect, Failure, FailureClass, Request};
use bonded_transport::dialect;
use serde_json::{Map, Value};

use crate::rng::Rng;

/// What of a request can be refused by its name, in all dialects.
pub(crate) const FIELDS: [&str; 19] = [
    "temperature",
    "top_p",
    "topP",
    "top_k",
    "topK",
    "repetition_penalty",
    "reasoning_effort",
    "reasoning",
    "thinking",
    "thinkingConfig",
    "tool_choice",
    "toolConfig",
    "parallel_tool_calls",
    "prompt_cache_key",
    "service_tier",
    "stream_options",
    "cache_control",
    "x_lab",
    "Lab-Mode",
];

/// The efforts of a service that lists them.
const EFFORTS: [&str; 2] = ["low", "medium"];

/// How a service of a world refuses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Manner {
    /// It takes everything.
    Easy,
    /// It names one of these that it finds in a request, and takes the rest.
    Names([&'static str; 3]),
    /// It answers only on the route of responses.
    OtherRoute,
    /// In chat completions it bounds replies only by the field that is not the usual one.
    OtherLimit,
    /// It lists the efforts that it has.
    Efforts,
    /// It refuses every request and names all of its fields.
    NamesAll,
    /// It refuses every request and does not say why.
    NamesNothing,
    /// It wants the one field for the bound of a reply, and when it has that, the other.
    Alternates,
    /// It often names something, whether or not it was sent.
    Whimsical,
}

impl Manner {
    /// Whether a request is taken in the end if every refusal is heeded.
    pub fn can_be_met(self) -> bool {
        !matches!(
            self,
            Self::NamesAll | Self::NamesNothing | Self::Alternates | Self::Whimsical
        )
    }

    /// The failure that a request gets, if it is refused.
    pub(crate) fn refuse(self, rng: &mut Rng, request: &Request<'_>) -> Option<Failure> {
        let message = self.complaint(rng, request)?;
        let mut failure = Failure::new(FailureClass::Model, message);
        failure.status = Some(rng.pick(&[400, 422]));
        failure.latency_ms = rng.between(0, 500);
        Some(failure)
    }

    fn complaint(self, rng: &mut Rng, request: &Request<'_>) -> Option<String> {
        let body = match self {
            Self::Easy => return None,
            _ => Body::of(request),
        };
        match self {
            Self::Easy => None,
            Self::Names(fields) => {
                let refused = fields.into_iter().find(|field| body.has(field))?;
                Some(named(rng, refused))
            }
            Self::OtherRoute => (request.target.dialect == Dialect::Chat)
                .then(|| "This model is not served here. Use /v1/responses instead.".into()),
            Self::OtherLimit => (request.target.dialect == Dialect::Chat && body.has("max_tokens"))
                .then(|| wanted("max_tokens", "max_completion_tokens")),
            Self::Alternates => Some(match body.has("max_tokens") {
                true => wanted("max_tokens", "max_completion_tokens"),
                false => wanted("max_completion_tokens", "max_tokens"),
            }),
            Self::Efforts => {
                let effort = body.effort().filter(|it| !EFFORTS.contains(it))?;
                Some(format!(
                    "Unsupported value: 'reasoning_effort' does not support '{effort}' with this model. \
                     Supported values are: 'low' and 'medium'."
                ))
            }
            Self::NamesAll => Some(format!("invalid request: {}", body.names().join(", "))),
            Self::NamesNothing => Some("the request is not what it should be".into()),
            Self::Whimsical => rng.chance(600).then(|| {
                let field = rng.pick(&FIELDS);
                named(rng, field)
            }),
        }
    }
}

/// In the words of one service or another.
fn named(rng: &mut Rng, field: &str) -> String {
    match rng.below(5) {
        0 => format!("Unsupported parameter: '{field}' is not supported with this model."),
        1 => format!("{field}: Extra inputs are not permitted"),
        2 => format!("`{field}` is deprecated for this model."),
        3 => format!("Unknown name \"{field}\": Cannot find field."),
        _ => format!("[{{'type': 'extra_forbidden', 'loc': ('body', '{field}')}}]"),
    }
}

fn wanted(refused: &str, instead: &str) -> String {
    format!(
        "Unsupported parameter: '{refused}' is not supported with this model. Use '{instead}' instead."
    )
}

/// What would be sent, as a service reads it.
struct Body(Map<String, Value>);

impl Body {
    fn of(request: &Request<'_>) -> Self {
        let body: Value = serde_json::from_slice(&dialect::encode(request)).unwrap_or_default();
        Self(match body {
            Value::Object(fields) => fields,
            _ => Map::new(),
        })
    }

    fn get(&self, field: &str) -> Option<&Value> {
        let nested = self.0.get("generationConfig").and_then(Value::as_object);
        let nested = nested.and_then(|config| config.get(field));
        nested.or_else(|| self.0.get(field))
    }

    fn has(&self, field: &str) -> bool {
        match field {
            // What leaves the choice to the model asks for nothing.
            "tool_choice" => self.get(field).is_some_and(demands_a_call),
            "toolConfig" => self
                .get(field)
                .is_some_and(|it| it.to_string().contains("ANY")),
            "cache_control" => self.0.values().any(|it| it.to_string().contains(field)),
            _ => self.get(field).is_some(),
        }
    }

    fn names(&self) -> Vec<&str> {
        self.0.keys().map(String::as_str).collect()
    }

    fn effort(&self) -> Option<&str> {
        let nested = |field| self.get(field).and_then(|it| it.get("effort"));
        let plain = self.get("reasoning_effort");
        let effort = plain.or_else(|| nested("reasoning").or_else(|| nested("output_config")));
        effort.and_then(Value::as_str)
    }
}

fn demands_a_call(choice: &Value) -> bool {
    let kind = choice.get("type").unwrap_or(choice);
    kind.as_str().is_some_and(|kind| kind != "auto")
}
