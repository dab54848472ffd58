//! What other servers send to rules.
//!
//! Nobody is known here: the signature shows that the sender knows the secret of the rule, and nothing else is believed.
//! A hook that is not there, a wrong signature and an old message are refused in the same words and after the same work.

use bonded_kernel::RuleId;
use bonded_workspace::store::{IdempotencyKey, StoredRule, Write};
use bonded_workspace::{
    HookSecret, ID_HEADER, REPLAY_WINDOW_SECONDS, SIGNATURE_HEADER, TIMESTAMP_HEADER,
};
use bonded_workspace_rules::{Actor, Chain, Change, Code, Trigger};

use crate::json_api::answer::AcceptedJson;
use crate::json_api::body;
use crate::json_api::refusal::ApiRefusal;
use crate::workspace::ask::WorkspaceAsk;
use crate::workspace::dto::{HookReceived, Id};

/// The longest id of a message, in characters.
const ID_CHARS_MAX: usize = 200;

/// What the headers of a message say.
struct Envelope<'a> {
    id: &'a str,
    timestamp: u64,
    signature: &'a str,
}

impl<'a> Envelope<'a> {
    /// `None` where a header is missing or is none.
    fn of(ask: &'a WorkspaceAsk) -> Option<Self> {
        let id = ask.header(ID_HEADER)?;
        let is_id =
            (1..=ID_CHARS_MAX).contains(&id.len()) && id.bytes().all(|it| it.is_ascii_graphic());
        Some(Self {
            id: is_id.then_some(id)?,
            timestamp: ask.header(TIMESTAMP_HEADER)?.parse().ok()?,
            signature: ask.header(SIGNATURE_HEADER)?,
        })
    }

    /// A message that was caught cannot be sent again later, nor one be made for a later time.
    fn is_fresh(&self, ask: &WorkspaceAsk) -> bool {
        let now = ask.site.now().0 / 1000;
        now.abs_diff(self.timestamp) <= REPLAY_WINDOW_SECONDS
    }
}

/// In the same words, whatever was wrong.
fn refused() -> ApiRefusal {
    let message = "there is no such hook, or the message is not signed with its secret within the last five minutes";
    ApiRefusal::new(Code::InvalidCredentials, message)
}

/// The secret of the hook; that of nobody where there is none.
async fn secret(ask: &WorkspaceAsk) -> Result<(Option<RuleId>, HookSecret), ApiRefusal> {
    let Ok(rule_id) = ask.param("hook_id").parse::<RuleId>() else {
        return Ok((None, HookSecret::of_nobody()));
    };
    let store = &ask.site.store;
    let (rule, secret) = (store.rule(rule_id).await?, store.secret(rule_id).await?);
    let takes = |stored: &StoredRule| {
        let draft = &stored.rule.draft;
        !stored.is_deleted && draft.enabled && draft.trigger == Trigger::Webhook
    };
    let secret = secret.as_deref().and_then(HookSecret::read);
    match (rule.is_some_and(|rule| takes(&rule)), secret) {
        (true, Some(secret)) => Ok((Some(rule_id), secret)),
        _ => Ok((None, HookSecret::of_nobody())),
    }
}

/// The body is read as JSON only when the signature was right. The same message again is answered as the first time, and
/// fires nothing.
pub(in crate::workspace) async fn receive(
    mut ask: WorkspaceAsk,
) -> Result<AcceptedJson<HookReceived>, ApiRefusal> {
    let sent = ask.take_raw();
    let (hook, secret) = secret(&ask).await?;
    let envelope = Envelope::of(&ask).ok_or_else(refused)?;
    let Envelope {
        id,
        timestamp,
        signature,
    } = envelope;
    let is_signed = secret.verify(id, timestamp, &sent, signature);
    let hook = hook.filter(|_| is_signed && envelope.is_fresh(&ask));
    let rule_id = hook.ok_or_else(refused)?;
    ask.site.hooks.take(&ask.site.store, rule_id).await?;
    let write = Write {
        actor: Actor::System,
        at: ask.site.now(),
        request_id: ask.request_id.clone(),
        key: Some(IdempotencyKey {
            scope: format!("hook {rule_id}"),
            key: id.to_owned(),
        }),
        chain: Chain::default(),
        change: Change::ReceiveHook {
            rule_id,
            delivery: id.to_owned(),
            body: body::parse(&sent)?,
        },
    };
    let written = ask.site.store.write(write).await?;
    let event = written.events.first();
    let event = event.ok_or_else(|| ApiRefusal::internal("the hook left no event"))?;
    Ok(AcceptedJson(HookReceived {
        event_id: Id(event.event_id),
    }))
}
