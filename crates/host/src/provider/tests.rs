use super::*;

fn resolved(model: &str, variables: &[(&str, &str)]) -> Target {
    let env = |name: &str| {
        let found = variables.iter().find(|(known, _)| *known == name);
        found.map(|(_, value)| (*value).to_owned())
    };
    let asked = TargetRequest {
        model: model.into(),
        ..TargetRequest::default()
    };
    resolve_target(&asked, env).expect("a target")
}

#[test]
fn a_provider_with_a_typo_is_answered_with_the_one_that_was_meant() {
    for (model, meant) in [
        ("opnai/gpt-5", Some("openai/gpt-5")),
        ("azur/d", Some("azure/d")),
        ("opnai/", Some("openai")),
        ("qwertyuiop/m", None),
        ("gpt-5", Some("openai/gpt-5")),
        ("gpt-5-minni", Some("openai/gpt-5-mini")),
        ("qwertyuiop", None),
    ] {
        let message = no_provider(model).to_string();
        let asked = message
            .split_once("Did you mean ")
            .map(|(_, rest)| rest.trim_end_matches('?'));
        assert_eq!(asked, meant, "{message}");
    }
}

/// As google-genai 3.1.0, anthropic 2.8.0 and openai 3.49.0 choose.
#[test]
fn of_two_keys_that_one_counts_that_counts_for_the_providers_own_client() {
    let (google, gemini) = (("GOOGLE_API_KEY", "k"), ("GEMINI_API_KEY", "k"));
    let (key, token) = (("ANTHROPIC_API_KEY", "k"), ("ANTHROPIC_AUTH_TOKEN", "t"));
    let azure = ("AZURE_OPENAI_ENDPOINT", "https://ours.openai.azure.com");
    let (azure_key, azure_token) = (
        ("AZURE_OPENAI_API_KEY", "k"),
        ("AZURE_OPENAI_AD_TOKEN", "t"),
    );
    let empty = ("GOOGLE_API_KEY", "");
    for (model, variables, key_env, header, warns) in [
        ("google/g", &[][..], gemini.0, None, false),
        ("google/g", &[gemini], gemini.0, None, false),
        ("google/g", &[google], google.0, None, false),
        ("google/g", &[gemini, google], google.0, None, true),
        ("google/g", &[gemini, empty], gemini.0, None, false),
        ("anthropic/c", &[], key.0, None, false),
        (
            "anthropic/c",
            &[token],
            token.0,
            Some("authorization"),
            false,
        ),
        ("anthropic/c", &[token, key], key.0, None, true),
        ("azure/d", &[azure], azure_key.0, Some("api-key"), false),
        (
            "azure/d",
            &[azure, azure_key],
            azure_key.0,
            Some("api-key"),
            false,
        ),
        (
            "azure/d",
            &[azure, azure_key, azure_token],
            azure_token.0,
            Some("authorization"),
            true,
        ),
        ("mistral/m", &[], "MISTRAL_API_KEY", None, false),
        ("openrouter/o", &[], "OPENROUTER_API_KEY", None, false),
    ] {
        let target = resolved(model, variables);
        assert_eq!(
            target.key_env.as_deref(),
            Some(key_env),
            "{model} {variables:?}"
        );
        assert_eq!(
            target.key_header.as_deref(),
            header,
            "{model} {variables:?}"
        );
        let env = |name: &str| {
            let found = variables.iter().find(|(known, _)| *known == name);
            found.map(|(_, value)| (*value).to_owned())
        };
        let warning = shadowed_key(&target, env);
        assert_eq!(
            warning.is_some(),
            warns,
            "{model} {variables:?}: {warning:?}"
        );
    }
}

#[test]
fn a_key_that_a_person_names_is_shown_as_keys_are() {
    let azure = ("AZURE_OPENAI_ENDPOINT", "https://ours.openai.azure.com");
    for (model, token, header) in [
        ("anthropic/c", "ANTHROPIC_AUTH_TOKEN", None),
        ("azure/d", "AZURE_OPENAI_AD_TOKEN", Some("api-key")),
    ] {
        let mut target = resolved(model, &[azure, (token, "t")]);
        assert_eq!(target.key_header.as_deref(), Some("authorization"));
        take_key_from(&mut target, "MINE");
        assert_eq!(target.key_env.as_deref(), Some("MINE"));
        assert_eq!(target.key_header.as_deref(), header);
    }
}

#[test]
fn an_address_in_a_variable_has_the_form_of_the_providers_own_client() {
    for (model, variable, url, endpoint) in [
        ("openai/m", "OPENAI_BASE_URL", "http://h/v1/", "http://h/v1"),
        ("anthropic/m", "ANTHROPIC_BASE_URL", "http://h", "http://h"),
        (
            "google/m",
            "GOOGLE_GEMINI_BASE_URL",
            "http://h",
            "http://h/v1beta",
        ),
        (
            "google/m",
            "GOOGLE_GEMINI_BASE_URL",
            "http://h/x/",
            "http://h/x/v1beta",
        ),
        (
            "google/m",
            "GOOGLE_GEMINI_BASE_URL",
            "http://h/v1",
            "http://h/v1",
        ),
        ("groq/m", "GROQ_BASE_URL", "http://h", "http://h/openai/v1"),
        (
            "groq/m",
            "GROQ_BASE_URL",
            "http://h/openai/v1",
            "http://h/openai/v1",
        ),
        (
            "google/m",
            "GOOGLE_GEMINI_BASE_URL",
            " ",
            "https://generativelanguage.googleapis.com/v1beta",
        ),
    ] {
        assert_eq!(
            resolved(model, &[(variable, url)]).endpoint,
            endpoint,
            "{url}"
        );
    }
}

#[test]
fn the_account_is_named_where_the_key_of_openai_goes_and_nowhere_else() {
    let set = ["OPENAI_ORG_ID", "OPENAI_API_KEY"];
    let env = |name: &str| set.contains(&name).then(|| "org-1".to_owned());
    let named = [("OpenAI-Organization".to_owned(), "org-1".to_owned())];
    assert_eq!(account_headers(&resolved("openai/m", &[]), env), named);
    for model in ["mistral/m", "anthropic/m", "lmstudio/m"] {
        assert_eq!(account_headers(&resolved(model, &[]), env), []);
    }
    let without_key = |name: &str| env(name).filter(|_| name != "OPENAI_API_KEY");
    assert_eq!(account_headers(&resolved("openai/m", &[]), without_key), []);
    let mut own_key = resolved("openai/m", &[]);
    take_key_from(&mut own_key, "MINE");
    assert_eq!(account_headers(&own_key, env), []);
}

#[test]
fn a_deployment_is_a_name_under_the_persons_own_resource_whatever_it_is_called() {
    let resource = "https://ours.openai.azure.com";
    for (deployment, version, expected) in [
        (
            "gpt",
            Some("2025-04-01"),
            "/openai/deployments/gpt?api-version=2025-04-01",
        ),
        (
            "gpt-4.1",
            Some("v"),
            "/openai/deployments/gpt-4.1?api-version=v",
        ),
        (
            "../x?y#z",
            Some("a&b"),
            "/openai/deployments/..%2Fx%3Fy%23z?api-version=a%26b",
        ),
        ("..", Some("v"), "/openai/deployments/%2E%2E?api-version=v"),
        ("@evil.example", None, "/openai/v1"),
    ] {
        let endpoint = azure_endpoint(resource, version, deployment);
        assert_eq!(endpoint, format!("{resource}{expected}"));
    }
    let whole = "https://ours.openai.azure.com/openai/deployments/d?api-version=1";
    assert_eq!(azure_endpoint(whole, Some("2"), "x"), whole);
}
