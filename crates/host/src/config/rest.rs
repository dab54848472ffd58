//! REST tools and OpenAPI documents of the configuration, checked as far as that goes without a call.
//!
//! Secrets in headers and in the address are learnt when the entry is read, because a server may repeat
//! them in an answer. Checks that hang on a variable are left out where one is missing: its absence is
//! told already.

use std::collections::BTreeMap;

use bonded_kernel::Measure;
use bonded_tools::rest::{JsonStream, OpenapiDocument, Reach, Redirects, RestError, RestTool};

use super::entry::ConfigEntry;
use super::{Config, ConfigError, Problems, openapi_file};

pub(super) const REDIRECTS: [(&str, Redirects); 2] = [
    ("none", Redirects::Refused),
    ("same-origin", Redirects::SameOrigin),
];

/// The words of `mode`: there is one way of streaming.
pub(super) const STREAM_MODES: [(&str, ()); 1] = [("json-stream", ())];

/// What is sent with every request.
const SECRETS: [&str; 2] = ["headers", "bodyTemplate"];

impl Config {
    /// A REST tool with its variables put in; `None` if the configuration does not have it.
    pub fn rest_tool(&self, name: &str) -> Result<Option<RestTool>, Problems> {
        let mut problems = Vec::new();
        let tool = self
            .entry(&["restTools", name], &mut problems)
            .map(|entry| self.read_rest_tool(name, &entry, &mut problems));
        Problems::none_of(problems)?;
        Ok(tool)
    }

    /// An OpenAPI document, read from its file; `None` if the configuration does not have it.
    pub fn openapi_document(&self, name: &str) -> Result<Option<OpenapiDocument>, Problems> {
        let mut problems = Vec::new();
        let document = self
            .entry(&["openapiSpecs", name], &mut problems)
            .and_then(|entry| self.read_openapi(name, &entry, &mut problems));
        Problems::none_of(problems)?;
        Ok(document)
    }

    /// Also those that cannot be read.
    pub fn rest_tool_names(&self) -> Vec<&str> {
        self.names("restTools")
    }

    /// Also those that cannot be read.
    pub fn openapi_names(&self) -> Vec<&str> {
        self.names("openapiSpecs")
    }

    /// The tool is made in any case, and its mistakes are told beside it.
    fn read_rest_tool(
        &self,
        name: &str,
        entry: &ConfigEntry<'_>,
        problems: &mut Vec<ConfigError>,
    ) -> RestTool {
        let method = entry.text("method").unwrap_or_else(|| "GET".into());
        let url = entry.text("url").unwrap_or_default();
        let tool = RestTool {
            description: entry.text("description").unwrap_or_default(),
            headers: headers(entry),
            parameters_schema: entry
                .value("parametersSchema")
                .filter(|it| !it.is_null())
                .cloned(),
            body_template: entry
                .value("bodyTemplate")
                .filter(|it| !it.is_null())
                .cloned(),
            queue: Some(self.queue_of(entry, problems)),
            streaming: streaming(entry, problems),
            redirects: redirects(entry, problems),
            reach: reach(entry),
            ..RestTool::new(name, &method, &url)
        };
        self.learn_secrets(&tool.headers, &tool.url);
        problems.extend(self.misdirected(&entry.path, &SECRETS, &["url"]));
        if !lacks_variables(problems) {
            problems.extend(tool.check().err().and_then(|error| problem(entry, &error)));
        }
        tool
    }

    /// Without a `baseUrl` the document says where requests go, so that it is the address which must be
    /// whose the secrets are.
    fn read_openapi(
        &self,
        name: &str,
        entry: &ConfigEntry<'_>,
        problems: &mut Vec<ConfigError>,
    ) -> Option<OpenapiDocument> {
        let (base_url, headers) = (entry.text("baseUrl"), headers(entry));
        let queue = self.queue_of(entry, problems);
        let redirects = redirects(entry, problems);
        self.learn_secrets(&headers, "");
        let addresses = match &base_url {
            Some(_) => ["baseUrl"],
            None => ["spec"],
        };
        problems.extend(self.misdirected(&entry.path, &SECRETS, &addresses));
        let value = match openapi_file::read(self, entry) {
            Ok(value) => value,
            Err(why) => {
                problems.extend(problem(entry, &why));
                return None;
            }
        };
        let document = OpenapiDocument {
            base_url,
            headers,
            queue: Some(queue),
            include_methods: entry.texts("includeMethods"),
            tag_filter: entry.texts("tagFilter"),
            redirects,
            reach: reach(entry),
            ..OpenapiDocument::new(name, value)
        };
        if !lacks_variables(problems) {
            problems.extend(
                document
                    .check()
                    .err()
                    .and_then(|error| problem(entry, &error)),
            );
        }
        Some(document)
    }

    /// A server may say again what it was sent.
    fn learn_secrets(&self, headers: &BTreeMap<String, String>, url: &str) {
        let secrets = self.environment.secrets();
        let query = url.split_once('?').map_or("", |(_, query)| query);
        let pairs = query.split('&').filter_map(|pair| pair.split_once('='));
        let headers = headers
            .iter()
            .map(|(name, value)| (name.as_str(), value.as_str()));
        for (name, value) in headers.chain(pairs) {
            secrets.learn_named(name, value);
        }
    }
}

/// What an entry comes to is not known before its variables are.
fn lacks_variables(problems: &[ConfigError]) -> bool {
    let mut problems = problems.iter();
    problems.any(|problem| matches!(problem, ConfigError::MissingVariable { .. }))
}

fn headers(entry: &ConfigEntry<'_>) -> BTreeMap<String, String> {
    let headers = entry.secrets("headers").into_iter();
    headers
        .map(|(name, value)| (name, value.expose().to_owned()))
        .collect()
}

fn redirects(entry: &ConfigEntry<'_>, problems: &mut Vec<ConfigError>) -> Redirects {
    let redirects = entry.word("redirects", &REDIRECTS, problems);
    redirects.unwrap_or_default()
}

/// Private addresses must be asked for: a request could otherwise be led to what only this machine
/// reaches.
fn reach(entry: &ConfigEntry<'_>) -> Reach {
    match entry.flag("privateAddresses") {
        Some(true) => Reach::Private,
        _ => Reach::Public,
    }
}

fn streaming(entry: &ConfigEntry<'_>, problems: &mut Vec<ConfigError>) -> Option<JsonStream> {
    entry.value("streaming").filter(|it| it.is_object())?;
    let stream = entry.below("streaming");
    stream.word("mode", &STREAM_MODES, problems);
    let default = JsonStream::default();
    Some(JsonStream {
        line_prefix: stream.text("linePrefix").unwrap_or(default.line_prefix),
        discriminator_field: stream
            .text("discriminatorField")
            .unwrap_or(default.discriminator_field),
        done_value: stream.text("doneValue").unwrap_or(default.done_value),
        answer_field: stream.text("answerField").unwrap_or(default.answer_field),
        token_value: stream.text("tokenValue").unwrap_or(default.token_value),
        token_field: stream.text("tokenField").unwrap_or(default.token_field),
        timeout_ms: stream.measured("timeoutMs", Measure::Ms),
        bytes_max: stream
            .measured("maxBytes", Measure::Bytes)
            .unwrap_or(default.bytes_max),
    })
}

/// What is wrong with an entry, with the file and the key that say it; nothing where that key was told of already.
fn problem(entry: &ConfigEntry<'_>, error: &RestError) -> Option<ConfigError> {
    let mut keys = error.key().split('.').filter(|key| !key.is_empty());
    let top = keys.next();
    let key_path = top
        .into_iter()
        .chain(keys)
        .fold(entry.path.clone(), |path, key| path.child(key));
    let is_reported = top.is_some_and(|top| entry.is_misshapen(&[top]));
    (!is_reported).then(|| ConfigError::Unusable {
        file: entry.file(top.unwrap_or_default()),
        key_path,
        message: error.to_string(),
    })
}
