//! The way there and back: names and keys in conversations as the service was told of them, in replies as the tools
//! have them.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};

use bonded_kernel::{Catalog, Dialect, Message, MessageCall, Reply};

use super::keys::Keys;
use super::rules::Rules;
use super::{Fitted, fit, names};

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
        let rules = Rules::of(dialect);
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
        let known = self.sent_names.get(&*call.tool).map(String::as_str);
        let name = match known {
            Some(name) => Cow::Borrowed(name),
            None => names::fitted(&call.tool, self.rules, |_| false),
        };
        let keys = self.keys.get(&*call.tool);
        let arguments = keys.and_then(|keys| keys.swap(&call.arguments));
        if *name == *call.tool && arguments.is_none() {
            return None;
        }
        Some(MessageCall {
            id: call.id.clone(),
            tool: name.into(),
            arguments: arguments.map_or_else(|| call.arguments.clone(), Into::into),
        })
    }

    /// Gives the calls of a reply the names and keys that the tools have.
    pub(in crate::dialect) fn take_back(&self, reply: &mut Reply) {
        if self.own_names.is_empty() && self.keys.is_empty() {
            return;
        }
        for call in &mut reply.calls {
            if let Some(own) = self.own_names.get(&call.tool) {
                call.tool.clone_from(own);
            }
            let keys = self.keys.get(&call.tool);
            if let Some(arguments) = keys.and_then(|keys| keys.swap(&call.arguments)) {
                call.arguments = arguments;
            }
        }
    }
}
