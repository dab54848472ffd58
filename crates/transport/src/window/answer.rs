//! What the answers of servers say of a model's window. Nothing in them can be trusted: a number that no window has is no
//! answer, and neither is one that is written as a text.
//!
//! Each reader takes one kind of answer and gives tokens or nothing. Every number goes through
//! `Window::plausible`, so that a server that says zero, or more than any model has, is as if it had said
//! nothing; the run then goes by what it learns.

use bonded_kernel::Window;
use serde_json::Value;

/// What Ollama runs a model with where nobody says otherwise; it cuts what is longer without a word.
const OLLAMA_TOKENS: u64 = 4_096;

/// A server that says more than the common list.
///
/// Each has a resource of its own beside the common API; `Asker::of` knows where.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Server {
    LlamaCpp,
    LmStudio,
    Ollama,
}

impl Server {
    /// By what a configuration calls it.
    pub(super) fn named(family: &str) -> Option<Self> {
        match family {
            "llamacpp" => Some(Self::LlamaCpp),
            "lmstudio" => Some(Self::LmStudio),
            "ollama" => Some(Self::Ollama),
            _ => None,
        }
    }

    /// By what it calls the owner of its models.
    fn owning(model: &Value) -> Option<Self> {
        match model.get("owned_by")?.as_str()? {
            "llamacpp" => Some(Self::LlamaCpp),
            "organization_owner" => Some(Self::LmStudio),
            "library" => Some(Self::Ollama),
            _ => None,
        }
    }
}

/// A model in a list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct ListedModel {
    pub(super) tokens: Option<u64>,
    pub(super) server: Option<Server>,
}

/// What a list says of a model. A server with one model has it under any name.
pub(super) fn in_list(list: &Value, model: &str) -> Option<ListedModel> {
    let models = list.get("data").or_else(|| list.get("models"))?;
    let models = models.as_array()?;
    let named = models.iter().find(|it| is_named(it, model));
    let one = match models.as_slice() {
        [one] if Server::owning(one) == Some(Server::LlamaCpp) => Some(one),
        _ => None,
    };
    let found = named.or(one)?;
    Some(ListedModel {
        tokens: tokens_of(found),
        server: Server::owning(found),
    })
}

/// A variant such as `:nitro`, or the tag that is taken where none is said, is not always listed.
fn is_named(listed: &Value, model: &str) -> bool {
    let names = ["id", "name", "model", "key"];
    let names = names.iter().filter_map(|key| listed.get(key)?.as_str());
    let latest = format!("{model}:latest");
    let base = model.rsplit_once(':').map(|(base, _)| base);
    let mut names = names.map(|name| name.strip_prefix("models/").unwrap_or(name));
    names.any(|name| name == model || name == latest || Some(name) == base)
}

/// What a server runs a model with, in the first of the usual fields; where a router names a part of it too, the less.
fn tokens_of(model: &Value) -> Option<u64> {
    const FIELDS: [&str; 7] = [
        "/meta/n_ctx",
        "/loaded_context_length",
        "/max_model_len",
        "/context_length",
        "/context_window",
        "/max_context_length",
        "/max_context_tokens",
    ];
    let field = FIELDS
        .iter()
        .find_map(|field| number(model.pointer(field)?));
    let provider = model.pointer("/top_provider/context_length");
    match (field, provider.and_then(number)) {
        (Some(field), Some(provider)) => Some(field.min(provider)),
        (field, provider) => field.or(provider),
    }
}

/// What a list of models says of one of them; Google has a word of its own.
pub(super) fn in_list_of_models(model: &Value) -> Option<u64> {
    tokens_of(model).or_else(|| number(model.get("inputTokenLimit")?))
}

/// What llama.cpp has for each request.
pub(super) fn in_props(props: &Value) -> Option<u64> {
    number(props.pointer("/default_generation_settings/n_ctx")?)
}

/// What Ollama has loaded a model with.
pub(super) fn in_loaded(running: &Value, model: &str) -> Option<u64> {
    let models = running.get("models")?.as_array()?;
    let found = models.iter().find(|it| is_named(it, model))?;
    number(found.get("context_length")?)
}

/// What Ollama will load a model with: what its parameters say, else the usual, and no more than it can take.
pub(super) fn when_loaded(shown: &Value) -> u64 {
    let parameters = shown.get("parameters").and_then(Value::as_str);
    let set = parameters.unwrap_or_default().lines().find_map(|line| {
        let mut words = line.split_whitespace();
        let is_meant = words.next() == Some("num_ctx");
        let tokens = words.next().filter(|_| is_meant)?.parse().ok()?;
        Window::plausible(tokens)
    });
    let info = shown.get("model_info").and_then(Value::as_object);
    let most = info.into_iter().flatten().find_map(|(key, value)| {
        let is_meant = key.ends_with(".context_length");
        number(value).filter(|_| is_meant)
    });
    let tokens = set.unwrap_or(OLLAMA_TOKENS);
    most.map_or(tokens, |most| most.min(tokens))
}

/// Only a whole number counts, and only one that a window can have.
fn number(value: &Value) -> Option<u64> {
    Window::plausible(value.as_u64()?)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_fields_of_the_usual_servers_are_read() {
        let cases = [
            (
                json!({ "meta": { "n_ctx": 8192, "n_ctx_train": 131072 } }),
                Some(8192),
            ),
            // What the model was trained with is not what the server runs with.
            (json!({ "meta": { "n_ctx_train": 131072 } }), None),
            (json!({ "max_model_len": 32768 }), Some(32768)),
            (
                json!({ "state": "loaded", "loaded_context_length": 4096, "max_context_length": 131072 }),
                Some(4096),
            ),
            (
                json!({ "state": "not-loaded", "max_context_length": 131072 }),
                Some(131_072),
            ),
            (
                json!({ "context_length": 262144, "top_provider": { "context_length": 131072 } }),
                Some(131_072),
            ),
            (
                json!({ "context_length": 131072, "top_provider": { "context_length": null } }),
                Some(131_072),
            ),
            (json!({ "context_window": 16384 }), Some(16_384)),
            (json!({ "context_length": 512 }), Some(512)),
            (json!({}), None),
        ];
        for (fields, expected) in cases {
            let mut model = fields;
            model["id"] = "m".into();
            let list = json!({ "data": [{ "id": "other", "context_length": 7 }, model] });
            let tokens = in_list(&list, "m").expect("it is listed").tokens;
            assert_eq!(tokens, expected, "{list}");
        }
    }

    #[test]
    fn what_no_window_has_is_not_an_answer() {
        for lie in [
            json!(0),
            json!(-8192),
            json!("8192"),
            json!(8192.5),
            json!(1_000_000_000_000_000_000_u64),
            json!(null),
            json!([8192]),
            json!({ "tokens": 8192 }),
            json!(true),
        ] {
            let list = json!({ "data": [{ "id": "m", "context_length": lie }] });
            assert_eq!(in_list(&list, "m").and_then(|it| it.tokens), None, "{list}");
            let props = json!({ "default_generation_settings": { "n_ctx": lie } });
            assert_eq!(in_props(&props), None, "{props}");
            let loaded = json!({ "models": [{ "name": "m", "context_length": lie }] });
            assert_eq!(in_loaded(&loaded, "m"), None, "{loaded}");
            let shown =
                json!({ "parameters": "num_ctx 0", "model_info": { "x.context_length": lie } });
            assert_eq!(when_loaded(&shown), OLLAMA_TOKENS, "{shown}");
        }
        for rubbish in [
            json!(null),
            json!([]),
            json!("x"),
            json!({ "data": "x" }),
            json!({ "data": [1, null, []] }),
        ] {
            assert_eq!(in_list(&rubbish, "m"), None, "{rubbish}");
            assert_eq!(in_loaded(&rubbish, "m"), None, "{rubbish}");
            assert_eq!(when_loaded(&rubbish), OLLAMA_TOKENS, "{rubbish}");
        }
    }

    #[test]
    fn a_model_is_found_by_its_name_and_a_server_of_one_has_it_under_any() {
        let list = |owner: &str, names: &[&str]| {
            let models = names.iter();
            let models = models
                .map(|name| json!({ "id": name, "owned_by": owner, "meta": { "n_ctx": 1024 } }));
            json!({ "data": models.collect::<Vec<_>>() })
        };
        let found = |list: &Value, model: &str| in_list(list, model).is_some();
        assert!(found(&list("x", &["a/b", "c"]), "a/b"));
        assert!(found(&list("x", &["a/b", "c"]), "a/b:nitro"));
        assert!(found(&list("library", &["qwen3:latest", "c"]), "qwen3"));
        assert!(!found(&list("x", &["a/b", "c"]), "b"));
        assert!(!found(&list("x", &["c"]), "any"));
        assert!(found(&list("llamacpp", &["/models/q.gguf"]), "any"));
        assert!(!found(&list("llamacpp", &["q", "r"]), "any"));
    }

    #[test]
    fn ollama_runs_with_what_its_parameters_say_and_else_with_little() {
        let info = json!({ "llama.context_length": 131072, "llama.embedding_length": 4096 });
        let cases = [
            (
                json!({ "parameters": "stop \"<|eot|>\"\nnum_ctx      16384\n", "model_info": info }),
                16_384,
            ),
            (
                json!({ "parameters": "num_ctx 999999", "model_info": info }),
                131_072,
            ),
            (
                json!({ "parameters": "num_ctx twelve", "model_info": info }),
                4_096,
            ),
            (
                json!({ "parameters": "xnum_ctx 7", "model_info": info }),
                4_096,
            ),
            (json!({ "model_info": { "bert.context_length": 512 } }), 512),
            (json!({}), 4_096),
        ];
        for (shown, expected) in cases {
            assert_eq!(when_loaded(&shown), expected, "{shown}");
        }
    }
}
