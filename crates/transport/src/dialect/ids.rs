//! Ids of calls as a service takes them.
//!
//! A conversation that fell over holds calls that other providers named, each in its own way, and a service refuses the
//! whole request because of one id that it would not have given itself. An id that fits is sent as it is. Any other gets
//! one that is made of it, the same for the call and for its answer, and another than all others of the request. It is
//! made from the conversation alone, so that the next request says the same.

use std::collections::{BTreeMap, BTreeSet};

use bonded_kernel::{Accepts, Hash, Message, Request};

/// What ids must look like.
#[derive(Debug)]
pub(crate) struct IdForm {
    pub(super) bytes_min: usize,
    pub(super) bytes_max: usize,
    pub(super) is_usable: fn(char) -> bool,
    /// How an id begins that was made.
    pub(super) prefix: &'static str,
}

/// Nine letters and digits: Mistral's services, and the templates of its models.
pub(super) const NINE: IdForm = IdForm {
    bytes_min: 9,
    bytes_max: 9,
    is_usable: |c| c.is_ascii_alphanumeric(),
    prefix: "",
};

/// What OpenAI's chat completions take.
pub(super) const SHORT: IdForm = IdForm {
    bytes_min: 1,
    bytes_max: 40,
    is_usable: |_| true,
    prefix: "call_",
};

impl IdForm {
    fn fits(&self, id: &str) -> bool {
        (self.bytes_min..=self.bytes_max).contains(&id.len()) && id.chars().all(self.is_usable)
    }

    /// An id for one that does not fit: the same with other characters, or else a hash of it.
    fn made(&self, id: &str, is_taken: impl Fn(&str) -> bool) -> String {
        let replaced = id.replace(|c| !(self.is_usable)(c), "_");
        if self.fits(&replaced) && !is_taken(&replaced) {
            return replaced;
        }
        let hashed = |salt: u32| {
            let hash = Hash::of(format!("{salt} {id}").as_bytes());
            let mut made = format!("{}{hash}", self.prefix);
            made.truncate(self.bytes_max);
            made
        };
        (0..)
            .map(hashed)
            .find(|made| !is_taken(made))
            .expect("no conversation holds all hashes")
    }
}

/// The ids of a conversation that are sent as others.
#[derive(Debug, Default)]
pub(super) struct Ids(BTreeMap<String, String>);

impl Ids {
    pub(super) fn of(request: &Request<'_>, accepts: &Accepts) -> Self {
        let Some(form) = (super::of(request.target.dialect).call_ids)(accepts) else {
            return Self::default();
        };
        let all = || request.messages.iter().flat_map(ids_in);
        // The usual case, in every turn of a run.
        if all().all(|id| form.fits(id)) {
            return Self::default();
        }
        let (mut taken, mut odd) = (BTreeSet::new(), vec![]);
        for id in all() {
            if form.fits(id) {
                taken.insert(id.to_owned());
            } else {
                odd.push(id);
            }
        }
        let mut made = BTreeMap::new();
        for id in odd {
            if !made.contains_key(id) {
                let other = form.made(id, |made| taken.contains(made));
                taken.insert(other.clone());
                made.insert(id.to_owned(), other);
            }
        }
        Self(made)
    }

    /// An id as it is sent.
    pub(super) fn sent<'a>(&'a self, id: &'a str) -> &'a str {
        self.0.get(id).map_or(id, String::as_str)
    }
}

fn ids_in(message: &Message) -> impl Iterator<Item = &str> {
    let (calls, answered) = match message {
        Message::Assistant { calls, .. } => (&calls[..], None),
        Message::Tool { call_id, .. } => (&[][..], Some(&**call_id)),
        Message::User { .. } => (&[][..], None),
    };
    calls.iter().map(|call| &*call.id).chain(answered)
}
