//! The variables of OpenTelemetry that say whether traces are sent, and to whom.

use std::time::Duration;

use reqwest::Url;
use reqwest::header::{HeaderMap, HeaderName, HeaderValue};

const DEFAULT_ENDPOINT: &str = "http://localhost:4318";
const PATH: &str = "v1/traces";

/// Why a variable is not understood. Its value may be a secret and is not in it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BadSetting {
    /// The name of the variable.
    pub variable: &'static str,
    /// What would do.
    pub expected: &'static str,
}

impl std::fmt::Display for BadSetting {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} is not {}", self.variable, self.expected)
    }
}

/// What names the process in its traces.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProcessResource(pub(crate) Vec<(String, String)>);

/// Where and how traces are sent.
#[derive(Clone, Debug)]
pub struct OtlpSettings {
    pub(crate) endpoint: Url,
    pub(crate) headers: HeaderMap,
    pub(crate) timeout: Duration,
    pub(crate) gzip: bool,
    pub(crate) resource: ProcessResource,
    /// How long spans may wait for others.
    pub(crate) delay: Duration,
    /// How many may wait; more are dropped.
    pub(crate) queue_max: usize,
    /// How many are sent at once.
    pub(crate) batch_max: usize,
    /// Which part of all traces is sent, from 0 to 1.
    pub(crate) ratio: f64,
}

/// The variables of a process, of which those that are empty count as not set.
struct Variables<'a>(&'a dyn Fn(&str) -> Option<String>);

impl Variables<'_> {
    fn get(&self, name: &str) -> Option<String> {
        let value = (self.0)(name)?;
        let value = value.trim();
        (!value.is_empty()).then(|| value.to_owned())
    }

    /// What is said of traces alone counts more than what is said of everything.
    fn otlp(&self, name: &str) -> Option<String> {
        self.get(&format!("OTEL_EXPORTER_OTLP_TRACES_{name}"))
            .or_else(|| self.get(&format!("OTEL_EXPORTER_OTLP_{name}")))
    }

    fn number(&self, variable: &'static str, default: u64) -> Result<u64, BadSetting> {
        let expected = "a whole number above 0";
        match self.get(variable) {
            None => Ok(default),
            Some(text) => match text.parse() {
                Ok(number @ 1..) => Ok(number),
                _ => Err(BadSetting { variable, expected }),
            },
        }
    }
}

impl OtlpSettings {
    /// `None` where no traces are wanted. `defaults` name the process where the variables do not.
    pub fn from_variables(
        variable: &dyn Fn(&str) -> Option<String>,
        defaults: &[(&str, &str)],
    ) -> Result<Option<Self>, BadSetting> {
        let variables = Variables(variable);
        let is_disabled = variables.get("OTEL_SDK_DISABLED");
        if is_disabled.is_some_and(|it| it.eq_ignore_ascii_case("true")) {
            return Ok(None);
        }
        let is_asked_for = match variables.get("OTEL_TRACES_EXPORTER").as_deref() {
            None => false,
            Some("none") => return Ok(None),
            Some("otlp") => true,
            Some(_) => {
                return Err(BadSetting {
                    variable: "OTEL_TRACES_EXPORTER",
                    expected: "`otlp` or `none`",
                });
            }
        };
        let Some(endpoint) = endpoint(&variables, is_asked_for)? else {
            return Ok(None);
        };
        check_protocol(&variables)?;
        Ok(Some(Self {
            endpoint,
            headers: headers(&variables)?,
            timeout: Duration::from_millis(timeout_ms(&variables)?),
            gzip: gzip(&variables)?,
            resource: resource(&variables, defaults),
            delay: Duration::from_millis(variables.number("OTEL_BSP_SCHEDULE_DELAY", 5_000)?),
            queue_max: count(variables.number("OTEL_BSP_MAX_QUEUE_SIZE", 2_048)?),
            batch_max: count(variables.number("OTEL_BSP_MAX_EXPORT_BATCH_SIZE", 512)?),
            ratio: ratio(&variables)?,
        }))
    }

    /// What must not be shown.
    pub fn secrets(&self) -> Vec<String> {
        let values = self.headers.values();
        let texts = values.filter_map(|value| value.to_str().ok());
        texts.map(str::to_owned).collect()
    }
}

fn count(number: u64) -> usize {
    usize::try_from(number).unwrap_or(usize::MAX).min(1 << 20)
}

/// The address of everything has the path of traces below it; that of traces is taken as it is.
fn endpoint(variables: &Variables<'_>, is_asked_for: bool) -> Result<Option<Url>, BadSetting> {
    let bad = |variable| BadSetting {
        variable,
        expected: "an http or https address",
    };
    let read = |text: &str, variable| {
        let url = Url::parse(text).ok();
        let url = url.filter(|url| matches!(url.scheme(), "http" | "https") && url.has_host());
        url.ok_or(bad(variable))
    };
    if let Some(text) = variables.get("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT") {
        return read(&text, "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT").map(Some);
    }
    let given = variables.get("OTEL_EXPORTER_OTLP_ENDPOINT");
    let Some(text) = given.or_else(|| is_asked_for.then(|| DEFAULT_ENDPOINT.to_owned())) else {
        return Ok(None);
    };
    let text = format!("{}/{PATH}", text.trim_end_matches('/'));
    read(&text, "OTEL_EXPORTER_OTLP_ENDPOINT").map(Some)
}

fn check_protocol(variables: &Variables<'_>) -> Result<(), BadSetting> {
    match variables.otlp("PROTOCOL").as_deref() {
        None | Some("http/protobuf") => Ok(()),
        Some(_) => Err(BadSetting {
            variable: "OTEL_EXPORTER_OTLP_PROTOCOL",
            expected: "`http/protobuf`, which is the one that is spoken",
        }),
    }
}

fn timeout_ms(variables: &Variables<'_>) -> Result<u64, BadSetting> {
    let general = variables.number("OTEL_EXPORTER_OTLP_TIMEOUT", 10_000)?;
    variables.number("OTEL_EXPORTER_OTLP_TRACES_TIMEOUT", general)
}

fn gzip(variables: &Variables<'_>) -> Result<bool, BadSetting> {
    match variables.otlp("COMPRESSION").as_deref() {
        None | Some("none") => Ok(false),
        Some("gzip") => Ok(true),
        Some(_) => Err(BadSetting {
            variable: "OTEL_EXPORTER_OTLP_COMPRESSION",
            expected: "`gzip` or `none`",
        }),
    }
}

/// `name=value` with commas between them, the values percent-encoded.
fn pairs(text: &str) -> impl Iterator<Item = (String, String)> {
    let pairs = text.split(',').filter_map(|pair| pair.split_once('='));
    pairs.map(|(name, value)| (name.trim().to_owned(), decoded(value.trim())))
}

/// What is not an encoding stays as it is.
fn decoded(text: &str) -> String {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((first, after)) = rest.split_first() {
        let digits = after.get(..2).and_then(|it| std::str::from_utf8(it).ok());
        let byte = digits.and_then(|digits| u8::from_str_radix(digits, 16).ok());
        match byte.filter(|_| *first == b'%') {
            Some(byte) => {
                bytes.push(byte);
                rest = after.get(2..).unwrap_or_default();
            }
            None => {
                bytes.push(*first);
                rest = after;
            }
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

fn headers(variables: &Variables<'_>) -> Result<HeaderMap, BadSetting> {
    let mut headers = HeaderMap::new();
    for (name, value) in pairs(&variables.otlp("HEADERS").unwrap_or_default()) {
        let bad = BadSetting {
            variable: "OTEL_EXPORTER_OTLP_HEADERS",
            expected: "a list of headers such as authorization=Bearer%20KEY",
        };
        let (Ok(name), Ok(mut value)) = (
            HeaderName::from_bytes(name.as_bytes()),
            HeaderValue::from_str(&value),
        ) else {
            return Err(bad);
        };
        value.set_sensitive(true);
        headers.insert(name, value);
    }
    Ok(headers)
}

/// Later ones of the same name count.
fn resource(variables: &Variables<'_>, defaults: &[(&str, &str)]) -> ProcessResource {
    let mut named: Vec<(String, String)> = defaults
        .iter()
        .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
        .collect();
    let given = variables.get("OTEL_RESOURCE_ATTRIBUTES");
    let service = variables.get("OTEL_SERVICE_NAME");
    let service = service.map(|name| ("service.name".to_owned(), name));
    for (name, value) in pairs(&given.unwrap_or_default()).chain(service) {
        named.retain(|(known, _)| *known != name);
        named.push((name, value));
    }
    ProcessResource(named)
}

/// Whether a trace is sent follows from its id, so that all processes say the same of a run, and of the agents that it calls.
fn ratio(variables: &Variables<'_>) -> Result<f64, BadSetting> {
    let sampler = variables.get("OTEL_TRACES_SAMPLER");
    match sampler.as_deref() {
        None | Some("always_on" | "parentbased_always_on") => Ok(1.0),
        Some("always_off" | "parentbased_always_off") => Ok(0.0),
        Some("traceidratio" | "parentbased_traceidratio") => {
            let given = variables.get("OTEL_TRACES_SAMPLER_ARG");
            let ratio = given.map_or(Some(1.0), |text| text.parse().ok());
            let is_part = |ratio: &f64| (0.0..=1.0).contains(ratio);
            ratio.filter(is_part).ok_or(BadSetting {
                variable: "OTEL_TRACES_SAMPLER_ARG",
                expected: "a number from 0 to 1",
            })
        }
        Some(_) => Err(BadSetting {
            variable: "OTEL_TRACES_SAMPLER",
            expected: "`always_on`, `always_off` or `traceidratio`",
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    type Row = (&'static str, &'static str);

    fn read(rows: &[(&str, &str)]) -> Result<Option<OtlpSettings>, BadSetting> {
        let variable = |name: &str| {
            let row = rows.iter().find(|(known, _)| *known == name);
            row.map(|(_, value)| (*value).to_owned())
        };
        OtlpSettings::from_variables(&variable, &[("service.name", "bonded")])
    }

    #[test]
    fn traces_are_sent_where_a_variable_says_so() {
        let general = ("OTEL_EXPORTER_OTLP_ENDPOINT", "http://c:4318/");
        let own = ("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "https://d/x");
        let off = ("OTEL_SDK_DISABLED", "true");
        let none = ("OTEL_TRACES_EXPORTER", "none");
        let otlp = ("OTEL_TRACES_EXPORTER", "otlp");
        let rows: [(&[Row], _); 7] = [
            (&[], None),
            (&[general], Some("http://c:4318/v1/traces")),
            (&[general, own], Some("https://d/x")),
            (&[general, off], None),
            (&[general, none], None),
            (&[otlp], Some("http://localhost:4318/v1/traces")),
            (&[("OTEL_EXPORTER_OTLP_ENDPOINT", " ")], None),
        ];
        for (given, expected) in rows {
            let settings = read(given).expect("all of them are understood");
            let endpoint = settings.map(|it| it.endpoint.to_string());
            assert_eq!(endpoint.as_deref(), expected, "{given:?}");
        }
    }

    #[test]
    fn headers_and_names_are_decoded_and_a_value_is_in_no_message() {
        let settings = read(&[
            ("OTEL_EXPORTER_OTLP_ENDPOINT", "http://c"),
            (
                "OTEL_EXPORTER_OTLP_HEADERS",
                "authorization=Bearer%20k%3D1, x-a=100%",
            ),
            ("OTEL_RESOURCE_ATTRIBUTES", "service.name=a,team=b%2Cc"),
            ("OTEL_SERVICE_NAME", "mine"),
        ]);
        let settings = settings.ok().flatten().expect("it is understood");
        assert_eq!(settings.secrets(), ["Bearer k=1", "100%"]);
        let pair = |name: &str, value: &str| (name.to_owned(), value.to_owned());
        let expected = [pair("team", "b,c"), pair("service.name", "mine")];
        assert_eq!(settings.resource.0, expected);
        let bad = read(&[
            ("OTEL_EXPORTER_OTLP_ENDPOINT", "http://c"),
            ("OTEL_EXPORTER_OTLP_HEADERS", "a b=secret"),
        ]);
        let message = bad.expect_err("it is no header").to_string();
        assert!(message.contains("HEADERS") && !message.contains("secret"));
    }

    #[test]
    fn what_is_not_understood_is_named() {
        let rows = [
            ("OTEL_TRACES_EXPORTER", "zipkin"),
            ("OTEL_EXPORTER_OTLP_ENDPOINT", "collector:4317"),
            ("OTEL_EXPORTER_OTLP_PROTOCOL", "grpc"),
            ("OTEL_EXPORTER_OTLP_COMPRESSION", "zstd"),
            ("OTEL_EXPORTER_OTLP_TIMEOUT", "0"),
            ("OTEL_BSP_MAX_QUEUE_SIZE", "many"),
            ("OTEL_TRACES_SAMPLER", "jaeger_remote"),
        ];
        for (name, value) in rows {
            let endpoint = ("OTEL_EXPORTER_OTLP_ENDPOINT", "http://c");
            let bad = read(&[(name, value), endpoint]).expect_err("it is refused");
            assert_eq!(bad.variable, name);
        }
    }
}
