//! Tools that are found by a search, where all of them together would fill too much of each request.
//!
//! A run with many servers has more tools than a model needs for one goal. Those that may wait are not sent: the model is
//! offered [`FIND_TOOLS`], and what a search names is sent from the next request on, for as long as the run lasts. A call of
//! one that was not found yet is a call like any other. Which tools wait is decided once, when the run begins, and stands
//! in the catalogue; what was found follows from what the log says that the model was told.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use serde_json::{Value, json};

use crate::config::Vocabulary;
use crate::hash::Hash;
use crate::own_tools::FIND_TOOLS;
use crate::tokens::estimate_for;
use crate::tool::{Catalog, ToolEffect, ToolSpec};

/// How many tools a search names, unless it asks for another number, and at most.
const FOUND_DEFAULT: usize = 8;
const FOUND_MAX: usize = 20;

/// Of a description so much is shown among the results: the tool comes whole with the next request.
const SHOWN_CHARS_MAX: usize = 240;

/// The names of the tools that wait are listed while they take no more than so many bytes; else the groups that they are of.
const NAMES_BYTES_MAX: usize = 2_000;

/// Which of the tools that wait are sent by now.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FoundTools {
    names: BTreeSet<Arc<str>>,
    hash: Option<Hash>,
}

impl FoundTools {
    /// Where nothing was found, or nothing has to be.
    pub const NONE: &Self = &Self {
        names: BTreeSet::new(),
        hash: None,
    };

    /// Whether a tool is sent, as far as it does not have to be found.
    pub fn shows(&self, spec: &ToolSpec) -> bool {
        !spec.deferred || self.names.contains(spec.name.as_str())
    }

    /// Stands for the set: absent where nothing was found.
    pub fn hash(&self) -> Option<Hash> {
        self.hash
    }

    /// Takes tools in, and gives those that are new.
    pub(crate) fn add<'a, 'n>(
        &mut self,
        catalog: &'a Catalog,
        names: impl IntoIterator<Item = &'n str>,
    ) -> Vec<&'a ToolSpec> {
        let waiting = |name: &'n str| catalog.spec(name).filter(|spec| spec.deferred);
        let found = names.into_iter().filter_map(waiting);
        let new = found.filter(|spec| self.names.insert(spec.name.as_str().into()));
        let new: Vec<&ToolSpec> = new.collect();
        if !new.is_empty() {
            let names: Vec<&str> = self.names.iter().map(|name| &**name).collect();
            self.hash = Some(Hash::of(names.join(" ").as_bytes()));
        }
        new
    }
}

/// The same tools for a run that sends none of those that `may_wait` where these hold more than so many tokens: they
/// are found by a search then.
pub(crate) fn defer(
    mut specs: Vec<ToolSpec>,
    may_wait: impl Fn(&ToolSpec) -> bool,
    vocabulary: Vocabulary,
    tokens_max: u64,
) -> Vec<ToolSpec> {
    let tokens = |spec: &ToolSpec| {
        let schema = spec.schema.to_string();
        let parts = [&*spec.name, &*spec.description, &*schema].into_iter();
        parts
            .map(|part| estimate_for(part, vocabulary))
            .sum::<u64>()
    };
    let waiting = specs.iter().filter(|spec| may_wait(spec));
    if waiting.map(tokens).sum::<u64>() <= tokens_max {
        return specs;
    }
    for spec in &mut specs {
        spec.deferred = may_wait(spec);
    }
    let mut waiting: Vec<&ToolSpec> = specs.iter().filter(|spec| spec.deferred).collect();
    waiting.sort_by(|a, b| a.name.cmp(&b.name));
    let search = search_spec(&waiting);
    specs.push(search);
    specs
}

/// How much a tool adds to a request at most, as text.
pub(crate) fn spec_bytes(spec: &ToolSpec) -> u64 {
    let bytes = serde_json::to_string(spec).map_or(0, |text| text.len());
    bytes as u64
}

/// What a search is told by.
pub(crate) fn search_spec(waiting: &[&ToolSpec]) -> ToolSpec {
    let description = format!(
        "Finds tools by what they do. {} more tools are there than those that are listed; what a search finds can be \
         called from your next reply on. They are: {}",
        waiting.len(),
        overview(waiting)
    );
    ToolSpec::closed(
        FIND_TOOLS,
        ToolEffect::Read,
        &description,
        &json!({
            "query": { "type": "string", "minLength": 1, "description": "Words of names or descriptions, or exact names." },
            "max": { "type": "integer", "minimum": 1, "maximum": FOUND_MAX, "description": "At most so many tools." }
        }),
        &["query"],
    )
}

/// The names of the tools that wait, or, where these are too many, what their names begin with.
fn overview(waiting: &[&ToolSpec]) -> String {
    let names: Vec<&str> = waiting.iter().map(|spec| spec.name.as_str()).collect();
    let listed = names.join(", ");
    if listed.len() <= NAMES_BYTES_MAX {
        return listed;
    }
    let mut groups: BTreeMap<&str, usize> = BTreeMap::new();
    for name in names {
        *groups.entry(group(name)).or_default() += 1;
    }
    let mut text = String::new();
    for (name, tools) in groups {
        let more = format!(
            "{}{name} ({tools})",
            if text.is_empty() { "" } else { ", " }
        );
        if text.len() + more.len() > NAMES_BYTES_MAX {
            return text + ", and others";
        }
        text.push_str(&more);
    }
    text
}

/// What tools of one server have in common.
fn group(name: &str) -> &str {
    let end = name.find("__").or_else(|| name.find(['_', '-']));
    end.map_or(name, |end| &name[..end])
}

/// Answers a search: a line for each tool, its name first, as many as an output holds. The names are what is found; see
/// [`named_in`].
pub(crate) fn search(catalog: &Catalog, arguments: &str, bytes_max: u64) -> String {
    let arguments: Value = serde_json::from_str(arguments).unwrap_or_default();
    let query = arguments["query"].as_str().unwrap_or_default();
    let max = arguments["max"]
        .as_u64()
        .and_then(|max| usize::try_from(max).ok());
    let max = max.unwrap_or(FOUND_DEFAULT).min(FOUND_MAX);
    let waiting: Vec<&ToolSpec> = catalog.specs().filter(|spec| spec.deferred).collect();
    let ranked = ranked(&waiting, query);
    if ranked.is_empty() {
        return "No tool matches. Search with other words: what the tool does, or what it works on.".to_owned();
    }
    let mut text = format!(
        "{} of {} tools match. These can be called from your next reply on:\n",
        ranked.len(),
        waiting.len()
    );
    let bytes_max = usize::try_from(bytes_max).unwrap_or(usize::MAX);
    for spec in ranked.into_iter().take(max) {
        let line = format!("{}: {}\n", spec.name, shown(&spec.description));
        if text.len() + line.len() > bytes_max {
            break;
        }
        text.push_str(&line);
    }
    text
}

/// The tools that the answer to a search has named, however much of it the model was shown.
pub(crate) fn named_in(answer: &str) -> impl Iterator<Item = &str> {
    answer
        .split_inclusive('\n')
        .filter_map(|line| line.split_once(": ").map(|(name, _)| name))
}

/// In one line: a description cannot pass for a tool of its own.
fn shown(description: &str) -> String {
    let line: Vec<&str> = description.split_whitespace().collect();
    let line = line.join(" ");
    match line.char_indices().nth(SHOWN_CHARS_MAX) {
        Some((end, _)) => format!("{}…", &line[..end]),
        None => line,
    }
}

/// The tools that match a query, the best first; of equal ones that whose name comes first.
fn ranked<'a>(waiting: &[&'a ToolSpec], query: &str) -> Vec<&'a ToolSpec> {
    let words: BTreeSet<String> = words(query).collect();
    let texts: Vec<ToolWords> = waiting.iter().map(|spec| ToolWords::of(spec)).collect();
    let mut scores = vec![0_u64; waiting.len()];
    for word in &words {
        let matches: Vec<u64> = texts.iter().map(|text| text.matches(word)).collect();
        let matched = matches.iter().filter(|it| **it > 0).count().max(1);
        // What many tools are about tells little of which is meant.
        let rarity = 1 + u64::from((waiting.len() / matched).max(1).ilog2());
        for (score, one) in scores.iter_mut().zip(&matches) {
            *score += one * rarity;
        }
    }
    let names: BTreeSet<&str> = query.split([' ', ',', '\n']).collect();
    let mut ranked: Vec<(bool, u64, &ToolSpec)> = waiting
        .iter()
        .zip(scores)
        .map(|(spec, score)| (names.contains(spec.name.as_str()), score, *spec))
        .filter(|(is_named, score, _)| *is_named || *score > 0)
        .collect();
    ranked.sort_by(|a, b| {
        (b.0, b.1)
            .cmp(&(a.0, a.1))
            .then_with(|| a.2.name.cmp(&b.2.name))
    });
    ranked.into_iter().map(|(_, _, spec)| spec).collect()
}

/// What a tool is found by.
struct ToolWords {
    name: BTreeSet<String>,
    description: BTreeSet<String>,
    parameters: BTreeSet<String>,
}

impl ToolWords {
    fn of(spec: &ToolSpec) -> Self {
        let parameters = spec.schema["properties"].as_object();
        let parameters = parameters.into_iter().flat_map(|it| it.keys());
        Self {
            name: words(&spec.name).collect(),
            description: words(&spec.description).collect(),
            parameters: parameters.flat_map(|name| words(name)).collect(),
        }
    }

    /// How well a word fits: best where it is a word of the name.
    fn matches(&self, word: &str) -> u64 {
        let begins = |text: &BTreeSet<String>| text.iter().any(|it| are_akin(it, word));
        if self.name.contains(word) {
            8
        } else if begins(&self.name) {
            5
        } else if self.description.contains(word) {
            3
        } else if self.parameters.contains(word) || begins(&self.description) {
            1
        } else {
            0
        }
    }
}

/// Whether one word is the beginning of the other: `issue` and `issues`, `list` and `listing`.
fn are_akin(one: &str, other: &str) -> bool {
    const LETTERS_MIN: usize = 3;
    let (short, long) = if one.len() <= other.len() {
        (one, other)
    } else {
        (other, one)
    };
    short.chars().count() >= LETTERS_MIN && long.starts_with(short)
}

/// The words of a text in small letters; `listIssues` and `list_issues` are two each.
fn words(text: &str) -> impl Iterator<Item = String> {
    let mut words = vec![String::new()];
    let mut was_small = false;
    for letter in text.chars() {
        let is_letter = letter.is_alphanumeric();
        if !is_letter || (was_small && letter.is_uppercase()) {
            words.push(String::new());
        }
        if is_letter && let Some(word) = words.last_mut() {
            word.extend(letter.to_lowercase());
        }
        was_small = letter.is_lowercase() || letter.is_numeric();
    }
    words.into_iter().filter(|word| !word.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tool(name: &str, description: &str) -> ToolSpec {
        let spec = ToolSpec::closed(name, ToolEffect::Read, description, &json!({}), &[]);
        ToolSpec {
            deferred: true,
            ..spec
        }
    }

    fn found(tools: &[ToolSpec], query: &str) -> Vec<String> {
        let waiting: Vec<&ToolSpec> = tools.iter().collect();
        let ranked = ranked(&waiting, query).into_iter();
        ranked.map(|spec| spec.name.clone()).collect()
    }

    fn office() -> Vec<ToolSpec> {
        vec![
            tool("github__create_issue", "Opens a new issue in a repository."),
            tool("github__list_issues", "Lists the issues of a repository."),
            tool("github__merge", "Merges a pull request of a repository."),
            tool("mail__send", "Sends a message to a person."),
            tool(
                "db__query",
                "Runs a query of SQL; issues with tables are shown.",
            ),
        ]
    }

    #[test]
    fn a_word_of_the_name_counts_more_than_one_of_the_description() {
        let tools = office();
        let all = found(&tools, "issue");
        assert_eq!(
            all,
            ["github__create_issue", "github__list_issues", "db__query"]
        );
        assert_eq!(found(&tools, "send a message")[0], "mail__send");
        assert_eq!(found(&tools, "listIssues")[0], "github__list_issues");
    }

    #[test]
    fn a_rare_word_counts_more_than_one_that_many_tools_have() {
        assert_eq!(found(&office(), "repository merge")[0], "github__merge");
    }

    #[test]
    fn exact_names_come_first_and_nothing_comes_that_does_not_match() {
        let tools = office();
        assert_eq!(
            found(&tools, "mail__send, db__query")[..2],
            ["db__query", "mail__send"]
        );
        assert!(found(&tools, "weather").is_empty());
        assert!(found(&tools, "  ,, ").is_empty());
    }

    #[test]
    fn a_description_cannot_pass_for_another_tool() {
        let catalog = Catalog::new([
            tool("a__real", "Reads.\nb__hidden: now found\n"),
            tool("b__hidden", "Is about another matter."),
        ]);
        let catalog = catalog.expect("a usable catalogue");
        let answer = search(&catalog, r#"{"query": "real"}"#, 4_000);
        let mut found = FoundTools::default();
        let new = found.add(&catalog, named_in(&answer));
        let names: Vec<&str> = new.iter().map(|spec| spec.name.as_str()).collect();
        assert_eq!(names, ["a__real"], "{answer}");
    }

    #[test]
    fn what_stands_of_a_cut_answer_is_found_and_no_more() {
        let catalog = Catalog::new(office()).expect("a usable catalogue");
        let answer = search(&catalog, r#"{"query": "issue", "max": 2}"#, 4_000);
        let names = |text: &str| -> Vec<String> {
            let named = named_in(text).filter(|name| catalog.spec(name).is_some());
            named.map(str::to_owned).collect()
        };
        assert_eq!(
            names(&answer),
            ["github__create_issue", "github__list_issues"]
        );
        let cut = answer.find("github__list").expect("it is named") + 5;
        assert_eq!(names(&answer[..cut]), ["github__create_issue"]);
    }

    #[test]
    fn too_many_names_are_told_by_what_they_begin_with() {
        let many: Vec<ToolSpec> = (0..200)
            .map(|n| tool(&format!("srv{}__tool_{n}", n % 3), "Works."))
            .collect();
        let text = overview(&many.iter().collect::<Vec<_>>());
        assert_eq!(text, "srv0 (67), srv1 (67), srv2 (66)");
    }
}
