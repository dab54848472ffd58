//! The way there and back: names and keys in conversations as the service was told of them, in replies as the tools
//! have them.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};

use bonded_kernel::{BATCH, Catalog, Dialect, Message, MessageCall, Reply};

use super::keys::Keys;
use super::rules::Rules;
use super::{Fitted, batch, fit, names};

/// What was changed in the tools of a catalogue.
#[derive(Debug)]
pub(in crate::dialect) struct Way {
    rules: &'static Rules,
    /// Only the names that had to be changed.
    sent_names: BTreeMap<String, String>,
    own_names: BTreeMap<String, String>,
    /// By the tool's own name, only where keys had to be changed.
    keys: BTreeMap<String, Keys>,
}

impl Way {
    /// Makes the tools of a catalogue fit; the ones that cannot be are left out.
    pub(in crate::dialect) fn of(
        catalog: &Catalog,
        dialect: Dialect,
    ) -> (Self, Vec<(&str, Fitted<'_>)>) {
        let rules = &crate::dialect::of(dialect).tools;
        let mut way = Self {
            rules,
            sent_names: BTreeMap::new(),
            own_names: BTreeMap::new(),
            keys: BTreeMap::new(),
        };
        let taken: BTreeSet<&str> = catalog.specs().map(|spec| spec.name.as_str()).collect();
        let mut tools = vec![];
        for spec in catalog.specs() {
            let is_taken = |name: &str| taken.contains(name) || way.own_names.contains_key(name);
            let name = names::fitted(&spec.name, rules, is_taken);
            if *name != *spec.name {
                way.sent_names.insert(spec.name.clone(), name.to_string());
                way.own_names.insert(name.to_string(), spec.name.clone());
            }
            let Ok(mut fitted) = fit(spec, dialect) else {
                continue;
            };
            fitted.name = name;
            if !fitted.keys.is_empty() {
                way.keys.insert(spec.name.clone(), fitted.keys.clone());
            }
            tools.push((spec.name.as_str(), fitted));
        }
        (way, tools)
    }

    /// The messages of a conversation as they are sent.
    pub(in crate::dialect) fn send<'m>(&self, messages: &'m [Message]) -> Cow<'m, [Message]> {
        let changes = |message: &Message| match message {
            Message::Assistant { calls, .. } => calls.iter().any(|call| self.sent(call).is_some()),
            Message::User { .. } | Message::Tool { .. } => false,
        };
        if !messages.iter().any(changes) {
            return messages.into();
        }
        let mut messages = messages.to_vec();
        for message in &mut messages {
            if let Message::Assistant { calls, .. } = message {
                for call in calls {
                    if let Some(sent) = self.sent(call) {
                        *call = sent;
                    }
                }
            }
        }
        messages.into()
    }

    /// A call as it is sent; `None` where it stays what it is. A model may have called what never was a tool: such a
    /// name is made to fit as well, because services read the names in a conversation with the same eyes.
    fn sent(&self, call: &MessageCall) -> Option<MessageCall> {
        if let Some((tool, arguments)) = self.there(&call.tool, &call.arguments) {
            return Some(MessageCall {
                id: call.id.clone(),
                tool: tool.into(),
                arguments: arguments.into(),
            });
        }
        let name = names::fitted(&call.tool, self.rules, |_| false);
        (*name != *call.tool).then(|| MessageCall {
            tool: name.into(),
            ..call.clone()
        })
    }

    /// Gives the calls of a reply the names and keys that the tools have.
    pub(in crate::dialect) fn take_back(&self, reply: &mut Reply) {
        for call in &mut reply.calls {
            if let Some((tool, arguments)) = self.back(&call.tool, &call.arguments) {
                call.tool = tool;
                call.arguments = arguments;
            }
        }
    }

    fn is_short(&self) -> bool {
        self.own_names.is_empty() && self.keys.is_empty()
    }

    /// A call in the words that the service was told; `None` where they are the same.
    fn there(&self, tool: &str, arguments: &str) -> Option<(String, String)> {
        if self.is_short() {
            return None;
        }
        let name = self.sent_names.get(tool);
        let swapped = self.swapped(tool, arguments, |tool, arguments| {
            self.there(tool, arguments)
        });
        changed(tool, name, arguments, swapped)
    }

    /// A call in the tool's own words; `None` where they are the same.
    fn back(&self, tool: &str, arguments: &str) -> Option<(String, String)> {
        if self.is_short() {
            return None;
        }
        let name = self.own_names.get(tool);
        let own = name.map_or(tool, String::as_str);
        let swapped = self.swapped(own, arguments, |tool, arguments| self.back(tool, arguments));
        changed(tool, name, arguments, swapped)
    }

    /// The arguments of a tool with its keys changed, or those of a batch with its members changed.
    fn swapped(
        &self,
        own: &str,
        arguments: &str,
        change: impl Fn(&str, &str) -> Option<(String, String)>,
    ) -> Option<String> {
        if own == BATCH {
            return batch::change(arguments, change);
        }
        self.keys.get(own)?.swap(arguments)
    }
}

fn changed(
    tool: &str,
    name: Option<&String>,
    arguments: &str,
    swapped: Option<String>,
) -> Option<(String, String)> {
    if name.is_none() && swapped.is_none() {
        return None;
    }
    let name = name.map_or(tool, String::as_str).to_owned();
    Some((name, swapped.unwrap_or_else(|| arguments.to_owned())))
}
