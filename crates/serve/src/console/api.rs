//! The handlers of the pages' routes: each finds what the address names, and asks the module that knows.

use axum::body::{Body, Bytes};
use axum::http::HeaderValue;
use axum::http::header::{CONTENT_DISPOSITION, CONTENT_TYPE};
use axum::response::Response;
use bonded_work::{KeptPlan, Workshop};
use serde::Serialize;

use super::access::{Deed, EnterBody, SessionDto};
use super::ask::ConsoleAsk;
use super::entries::{self, CutText, EntriesDto};
use super::inbox::{self, InboxDto};
use super::item_page::{self, ItemPageDto};
use super::plans::{self, PlanDto, PlanListDto};
use super::refusal::ConsoleRefusal;
use super::rows::{self, ListQuery, RunListDto};
use super::run_page::{self, RunPageDto};
use super::saw::{self, SawDto, SawPage};
use super::stream;
use super::verdicts::{
    self, Answer, CancelBody, ForkBody, ForkedDto, RecordedDto, ReplayedDto, VerdictBody,
    VerifiedDto,
};

type Answered<T> = Result<T, ConsoleRefusal>;

/// What a stranger may know: what to ask for.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(test, derive(schemars::JsonSchema), schemars(rename = "Site"))]
pub(super) struct SiteDto {
    version: &'static str,
    /// store, agents or workspace
    kind: &'static str,
    /// The parts of the app that have something to show.
    has: &'static [&'static str],
    /// link, token or password
    login: &'static str,
    /// True while no person has a password: POST /api/setup/register sets the first one.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    needs_setup: bool,
    /// The server's clock, in milliseconds since 1970.
    now: u64,
}

pub(super) async fn site(ask: ConsoleAsk) -> Answered<SiteDto> {
    let sign = ask.console.door.sign();
    Ok(SiteDto {
        version: env!("CARGO_PKG_VERSION"),
        kind: sign.kind,
        has: sign.has,
        login: sign.login,
        needs_setup: ask.console.door.needs_setup().await?,
        now: ask.console.host.clock.now().0,
    })
}

pub(super) async fn enter(ask: ConsoleAsk, body: EnterBody) -> Answered<SessionDto> {
    ask.console.door.enter(&body)
}

pub(super) async fn list(ask: ConsoleAsk) -> Answered<RunListDto> {
    let query = ListQuery::read(&ask.query)?;
    rows::list(&ask.console, ask.access()?, &query).await
}

pub(super) async fn show(ask: ConsoleAsk) -> Answered<RunPageDto> {
    let listed = ask.run(Deed::Read).await?;
    run_page::show(&ask.console, ask.access()?, &listed).await
}

pub(super) async fn list_entries(ask: ConsoleAsk) -> Answered<EntriesDto> {
    let run = ask.run(Deed::Read).await?.run;
    let after = ask.query.number("after", 0, 0..=u64::MAX)?;
    let limit = ask
        .query
        .number("limit", 500, 1..=entries::ENTRIES_MAX as u64)?;
    entries::page(&*ask.console.host.store, &run, after, limit as usize).await
}

pub(super) async fn entry_text(ask: ConsoleAsk) -> Answered<Response> {
    let run = ask.run(Deed::Read).await?.run;
    let seq: u64 = ask.number("seq")?;
    let at = ask.query.text("at").unwrap_or_default();
    let text = entries::text(&*ask.console.host.store, &run, seq, at).await?;
    asked_of(&ask, text, &format!("{run}-{seq}"))
}

/// A piece of a text, where something stands in it, or all of it.
pub(super) fn asked_of(ask: &ConsoleAsk, text: CutText, name: &str) -> Answered<Response> {
    Ok(match (ask.query.text("download"), ask.query.text("find")) {
        (Some(_), _) => text.download(name),
        (None, Some(wanted)) => text.find(wanted),
        (None, None) => text.piece(ask.query.number("from", 0, 0..=u64::MAX)? as usize),
    })
}

pub(super) async fn saw_turn(ask: ConsoleAsk) -> Answered<SawDto> {
    let run = ask.run(Deed::Read).await?.run;
    let from = ask.query.read("from", "a whole number")?;
    let most = saw::MESSAGES_MAX as u64;
    let limit = ask.query.number("limit", saw::MESSAGES as u64, 1..=most)?;
    let page = SawPage {
        from,
        limit: limit as usize,
        is_whole: ask.query.flag("whole")?,
    };
    let console = &ask.console;
    let turn = ask.number("turn")?;
    saw::saw(&console.host, &console.last_saw, &run, turn, page).await
}

/// In parts, as they are read: a long log is never in memory as a whole.
pub(super) async fn log(ask: ConsoleAsk) -> Answered<Response> {
    let run = ask.run(Deed::Read).await?.run;
    let name = format!("{run}.jsonl");
    let store = ask.console.host.store.clone();
    let parts = futures_util::stream::try_unfold(0, move |after| {
        let (store, run) = (store.clone(), run.clone());
        async move {
            let part = store.load_part(&run, after, entries::ENTRIES_MAX).await?;
            let last = part.last().map(|entry| entry.seq);
            let lines = part
                .iter()
                .map(|entry| bonded_host::shapes::json::entry(entry) + "\n");
            let text: String = lines.collect();
            Ok::<_, bonded_state::StoreError>(last.map(|last| (Bytes::from(text), last)))
        }
    });
    Ok(attachment(
        Body::from_stream(parts),
        "application/x-ndjson",
        &name,
    ))
}

/// To be saved, and never to be shown by the browser.
pub(super) fn attachment(body: Body, media_type: &'static str, name: &str) -> Response {
    let mut response = Response::new(body);
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static(media_type));
    let disposition = format!("attachment; filename=\"{name}\"");
    if let Ok(disposition) = HeaderValue::from_str(&disposition) {
        headers.insert(CONTENT_DISPOSITION, disposition);
    }
    response
}

pub(super) async fn inbox(ask: ConsoleAsk) -> Answered<InboxDto> {
    inbox::inbox(&ask.console, ask.access()?).await
}

pub(super) async fn approve(ask: ConsoleAsk, body: VerdictBody) -> Answered<RecordedDto> {
    let run = ask.run(Deed::Decide).await?.run;
    verdicts::judge(&ask.console, ask.access()?, &run, Answer::Approve, body).await
}

pub(super) async fn deny(ask: ConsoleAsk, body: VerdictBody) -> Answered<RecordedDto> {
    let run = ask.run(Deed::Decide).await?.run;
    verdicts::judge(&ask.console, ask.access()?, &run, Answer::Deny, body).await
}

pub(super) async fn cancel(ask: ConsoleAsk, body: CancelBody) -> Answered<RecordedDto> {
    let run = ask.run(Deed::Steer).await?.run;
    verdicts::cancel(&ask.console, ask.access()?, &run, body).await
}

pub(super) async fn resume(ask: ConsoleAsk) -> Answered<RecordedDto> {
    let run = ask.run(Deed::Steer).await?.run;
    verdicts::resume(&ask.console, &run).await
}

pub(super) async fn fork(ask: ConsoleAsk, body: ForkBody) -> Answered<ForkedDto> {
    let run = ask.run(Deed::Fork).await?.run;
    verdicts::fork(&ask.console, ask.access()?, &run, body).await
}

pub(super) async fn verify(ask: ConsoleAsk) -> Answered<VerifiedDto> {
    let run = ask.run(Deed::Read).await?.run;
    verdicts::verify(&ask.console, &run).await
}

pub(super) async fn replay(ask: ConsoleAsk) -> Answered<ReplayedDto> {
    let run = ask.run(Deed::Read).await?.run;
    verdicts::replay(&ask.console, &run).await
}

pub(super) async fn follow(ask: ConsoleAsk) -> Answered<Response> {
    let page = match ask.query.text("run") {
        Some(named) => {
            let listed = ask.run_named(named, Deed::Read).await?;
            let after = ask.query.number("after", 0, 0..=u64::MAX - 1)?;
            Some(ask.console.feeds.page(listed, after))
        }
        None => None,
    };
    Ok(stream::stream(ask, page))
}

/// Where plans are kept, if the person sees them.
fn workshop(ask: &ConsoleAsk) -> Answered<&Workshop> {
    let workshop = ask.console.workshop.as_ref();
    let workshop = workshop.filter(|_| ask.access().is_ok_and(|it| it.sight.has_work()));
    workshop.ok_or_else(|| ConsoleRefusal::missing("there are no plans here"))
}

fn plan(ask: &ConsoleAsk) -> Answered<(&Workshop, KeptPlan)> {
    let workshop = workshop(ask)?;
    Ok((workshop, plans::find(workshop, ask.param("plan_id"))?))
}

pub(super) async fn list_plans(ask: ConsoleAsk) -> Answered<PlanListDto> {
    plans::list(&*ask.console.host.store, workshop(&ask)?).await
}

pub(super) async fn show_plan(ask: ConsoleAsk) -> Answered<PlanDto> {
    let (workshop, plan) = plan(&ask)?;
    PlanDto::of(&*ask.console.host.store, workshop, &plan).await
}

pub(super) async fn show_item(ask: ConsoleAsk) -> Answered<ItemPageDto> {
    let (workshop, plan) = plan(&ask)?;
    let store = &*ask.console.host.store;
    item_page::show(store, workshop, &plan, ask.param("item_id")).await
}

pub(super) async fn item_text(ask: ConsoleAsk) -> Answered<Response> {
    let (workshop, plan) = plan(&ask)?;
    let store = &*ask.console.host.store;
    let (item, at) = (
        ask.param("item_id"),
        ask.query.text("at").unwrap_or_default(),
    );
    let text = item_page::text(store, workshop, &plan, item, at).await?;
    asked_of(&ask, text, &format!("{}-{item}", plan.record.id))
}
