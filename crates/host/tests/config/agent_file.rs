//! Agent files: what they may say, and what is said about those that are wrong.

use bonded_host::agent_file::{
    AgentFile, AgentFileError, IncludePolicy, InputFormat, OutputFormat, Variables,
};
use serde_json::json;

use crate::world::World;

fn load(text: impl AsRef<[u8]>) -> Result<AgentFile, String> {
    let world = World::new().file("agent/a.ai", text);
    let loaded = AgentFile::load(&world.path("agent/a.ai"), IncludePolicy::InsideTree);
    loaded.map_err(|error| world.shown(&error))
}

fn good(text: &str) -> AgentFile {
    load(text).expect("the agent file is good")
}

#[test]
fn the_shebang_the_front_matter_and_the_prompt_are_told_apart() {
    let rows = [
        ("only a prompt\n", None, "only a prompt\n"),
        ("", None, ""),
        ("#!/usr/bin/env ai-agent\nprompt\n", None, "prompt\n"),
        ("---\ndescription: d\n---\nprompt\n", Some("d"), "prompt\n"),
        (
            "#!/usr/bin/env x\n---\ndescription: d\n---\np",
            Some("d"),
            "p",
        ),
        ("#!x\n\n---\ndescription: d\n---\np", Some("d"), "p"),
        (
            "\u{feff}---\r\ndescription: d\r\n---\r\np\r\n",
            Some("d"),
            "p\r\n",
        ),
        ("---\n---\np", None, "p"),
        ("---\n# nothing but a comment\n---\np", None, "p"),
        ("---\ndescription: d\n---", Some("d"), ""),
        (
            "first\n---\nnot: front matter\n---\n",
            None,
            "first\n---\nnot: front matter\n---\n",
        ),
        (
            "---\ndescription: d\n---\np\n---\nq\n",
            Some("d"),
            "p\n---\nq\n",
        ),
    ];
    for (text, description, body) in rows {
        let agent = good(text);
        assert_eq!(agent.description.as_deref(), description, "{text:?}");
        assert_eq!(agent.body, body, "{text:?}");
    }
}

#[test]
fn every_key_of_the_front_matter_reaches_the_agent() {
    let agent = good(
        "---\n\
         description: finds things\n\
         usage: find WORD\n\
         toolName: finder\n\
         projectInstructions: true\n\
         input:\n  format: json\n  schema: {type: object}\n\
         output:\n  format: markdown\n\
         models: [openai/gpt-4o, openrouter/meta/llama]\n\
         tools: a, b\n\
         maxTurns: 5\n\
         temperature: none\n\
         ---\nprompt",
    );
    assert_eq!(agent.usage.as_deref(), Some("find WORD"));
    assert_eq!(agent.tool_name.as_deref(), Some("finder"));
    assert!(agent.project_instructions);
    let input = agent.input.expect("there is one");
    assert_eq!(input.format, InputFormat::Json);
    assert_eq!(input.schema, Some(json!({"type": "object"})));
    let output = agent.output.expect("there is one");
    assert_eq!(
        (output.format, output.schema),
        (OutputFormat::Markdown, None)
    );
    let values: Vec<_> = agent
        .options
        .iter()
        .map(|(key, given)| (key.as_str(), given.value.clone()))
        .collect();
    let expected = [
        ("maxTurns", json!(5)),
        ("models", json!(["openai/gpt-4o", "openrouter/meta/llama"])),
        ("temperature", json!("none")),
        ("tools", json!("a, b")),
    ];
    assert_eq!(values, expected);
    assert!(
        agent.options["maxTurns"]
            .place
            .ends_with("agent/a.ai, line 13")
    );
}

#[test]
fn a_mistake_is_said_with_its_file_and_line() {
    let rows = [
        (
            "---\nmaxTurn: 3\n---\n",
            "agent/a.ai, line 2: unknown key maxTurn; did you mean maxTurns?",
        ),
        (
            "#!x\n---\ndescription: d\ncolour: red\n---\n",
            "agent/a.ai, line 4: unknown key colour",
        ),
        (
            "---\ntraceLLM: true\n---\n",
            "line 2: traceLLM cannot be set in an agent file: give it to the run, as --trace-llm",
        ),
        (
            "---\nstream: true\n---\n",
            "stream cannot be set in an agent file",
        ),
        (
            "---\nverbose: true\n---\n",
            "verbose cannot be set in an agent file",
        ),
        (
            "---\nllms: [a/b]\n---\n",
            "llms cannot be set in an agent file: write models: [PROVIDER/MODEL]",
        ),
        (
            "---\ntargets: []\n---\n",
            "targets cannot be set in an agent file: write models:",
        ),
        ("---\nsave: x\n---\n", "save cannot be set in an agent file"),
        (
            "---\ncontextWindow: 5\n---\n",
            "contextWindow cannot be set in an agent file: give it to the run, as --override",
        ),
        (
            "#!x\n---\na: b\n  c: [\n---\n",
            "agent/a.ai, line 4: the front matter is not YAML: ",
        ),
        (
            "---\nusage: a\nusage: b\n---\n",
            "line 3: the front matter is not YAML: the key usage is given twice",
        ),
        (
            "---\ndescription: d\n",
            "agent/a.ai, line 1: the front matter begins here and has no closing --- line",
        ),
        (
            "---\n- a\n---\n",
            "line 2: the front matter must be a list of KEY: VALUE lines",
        ),
        (
            "---\ndescription: [a]\n---\n",
            "line 2: description must be a text, not a list of 1",
        ),
        (
            "---\nprojectInstructions: maybe\n---\n",
            "projectInstructions must be true or false, not the text \"maybe\"",
        ),
        (
            "---\ntoolName: a b\n---\n",
            "toolName must be 1 to 64 letters",
        ),
        (
            "---\noutput: json\n---\n",
            "output must be format, and schema or schemaRef",
        ),
        (
            "---\noutput:\n  format: xml\n---\n",
            "line 3: format must be one of json, markdown, text, not \"xml\"",
        ),
        (
            "---\ninput:\n  formt: text\n---\n",
            "line 3: unknown key formt; did you mean format?",
        ),
        (
            "---\noutput:\n  schema: {type: nonsense}\n---\n",
            "line 3: schema is not a JSON Schema: ",
        ),
        (
            "---\noutput:\n  schema: '{\"type\": '\n---\n",
            "line 3: schema is not a JSON Schema: EOF",
        ),
        (
            "---\noutput:\n  schema: {$ref: '#/nowhere'}\n---\n",
            "line 3: schema is not a JSON Schema: ",
        ),
        (
            "---\noutput:\n  schema: {$schema: 'x:unheard-of'}\n---\n",
            "line 3: schema is not a JSON Schema: ",
        ),
        ("---\noutput:\n  schema: 5\n---\n", "it must be an object"),
        (
            "---\noutput:\n  schemaRef: none.json\n---\n",
            "line 3: schemaRef is not a JSON Schema: ",
        ),
        (
            "---\noutput:\n  schema: {}\n  schemaRef: x\n---\n",
            "line 4: schemaRef",
        ),
        ("---\ndescription: !!binary x\n---\n", "is not supported"),
    ];
    for (text, expected) in rows {
        let error = load(text).expect_err(text);
        assert!(error.contains(expected), "{text:?} says {error:?}");
    }
}

#[test]
fn a_file_that_is_no_text_is_refused_with_the_reason() {
    let world = World::new()
        .file("agent/long.ai", "x".repeat(1024 * 1024 + 1))
        .file("agent/full.ai", "x".repeat(1024 * 1024))
        .file("agent/latin.ai", b"a\nb\xff");
    let load = |name: &str| AgentFile::load(&world.path(name), IncludePolicy::InsideTree);
    assert!(matches!(
        load("agent/none.ai"),
        Err(AgentFileError::Missing { .. })
    ));
    assert!(matches!(
        load("agent"),
        Err(AgentFileError::NotAFile { .. })
    ));
    assert!(matches!(
        load("agent/long.ai"),
        Err(AgentFileError::TooLarge { .. })
    ));
    assert!(matches!(
        load("agent/latin.ai"),
        Err(AgentFileError::NotUtf8 { line: 2, .. })
    ));
    assert!(load("agent/full.ai").is_ok());
}

#[test]
fn a_schema_may_be_an_object_a_text_or_a_file() {
    let schema = json!({"type": "object", "required": ["a"]});
    let rows = [
        "  schema:\n    type: object\n    required: [a]\n",
        "  schema: '{\"type\": \"object\", \"required\": [\"a\"]}'\n",
        "  schema: '{type: object, required: [a]}'\n",
        "  schema: |\n    type: object\n    required:\n      - a\n",
        "  schemaRef: s.json\n",
        "  schemaRef: s.yaml\n",
    ];
    for row in rows {
        let world = World::new()
            .file(
                "agent/a.ai",
                format!("---\noutput:\n  format: json\n{row}---\n"),
            )
            .file("agent/s.json", schema.to_string())
            .file("agent/s.yaml", "type: object\nrequired: [a]\n");
        let agent = AgentFile::load(&world.path("agent/a.ai"), IncludePolicy::InsideTree);
        let output = agent.expect(row).output.expect(row);
        assert_eq!(output.schema.as_ref(), Some(&schema), "{row}");
        assert_eq!(output.format, OutputFormat::Json, "{row}");
    }
}

#[test]
fn an_agent_without_an_input_takes_a_prompt_and_perhaps_a_format() {
    let schema = good("prompt").input_schema();
    let validator = jsonschema::validator_for(&schema).expect("it is a schema");
    assert!(validator.is_valid(&json!({"prompt": "p"})));
    assert!(validator.is_valid(&json!({"prompt": "p", "format": "json"})));
    assert!(!validator.is_valid(&json!({"format": "json"})));
    assert!(!validator.is_valid(&json!({"prompt": "p", "other": 1})));
    let own = good("---\ninput:\n  schema: {type: object, title: own}\n---\n").input_schema();
    assert_eq!(own["title"], "own");
}

#[test]
fn known_variables_are_put_in_and_others_are_left_alone() {
    let variables: Variables = [("DAY", "Monday"), ("MAX_TURNS", "7"), ("USER", "${DAY}")]
        .map(|(name, value)| (name.to_owned(), value.to_owned()))
        .into();
    let rows = [
        ("${DAY}, {{DAY}}", "Monday, Monday"),
        ("${MAX_TURNS} turns", "7 turns"),
        ("${USER}", "${DAY}"),
        ("${UNKNOWN} {{UNKNOWN}}", "${UNKNOWN} {{UNKNOWN}}"),
        ("${day} {{day}} ${D4Y}", "${day} {{day}} ${D4Y}"),
        ("${DAY {{DAY} {DAY} $DAY", "${DAY {{DAY} {DAY} $DAY"),
        ("{{{DAY}}}", "{Monday}"),
        ("${{DAY}}", "$Monday"),
        ("ü${DAY}ü", "üMondayü"),
        ("${", "${"),
    ];
    for (body, expected) in rows {
        assert_eq!(good(body).prompt(&variables), expected, "{body}");
    }
}
