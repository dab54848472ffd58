//! Pages of one run that goes on: `bonded ui`, while another process drives the run.

use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use super::http::{ask, bearer, request, text_of};
use super::listeners::Listeners;
use super::{Cost, PAGES};
use crate::bench::figure::Figure;
use crate::bench::process::Running;
use crate::bench::rig::Rig;
use crate::bench::served::Served;
use crate::fault::Fault;

/// More turns than there are while the pages are watched; none is answered before it is let go.
const MODEL: &str = "turns-2000+hang";
/// Between two turns.
const TURN: Duration = Duration::from_millis(100);

pub(super) fn measure(rig: &Rig) -> Result<Vec<Figure>, Fault> {
    let store = rig.fresh("pages")?;
    let _run: Running = rig.hanging(rig.ours(&store, "live", MODEL), 1)?;
    let (served, secret) = Served::pages(rig, &store)?;
    let session = ask(
        served.port,
        "POST /api/session",
        "",
        &format!("{{\"link\":\"{secret}\"}}"),
    )?;
    let headers = bearer(&text_of(&session, "token")?);
    let is_over = AtomicBool::new(false);
    let cost = thread::scope(|scope| {
        scope.spawn(|| {
            while !is_over.load(Ordering::Relaxed) && rig.server.release().is_ok() {
                thread::sleep(TURN);
            }
        });
        let cost = Cost::of(&served, || {
            let line = "GET /api/stream?run=live&after=0";
            Listeners::open(PAGES, |_| request(served.port, line, &headers, ""))
        });
        is_over.store(true, Ordering::Relaxed);
        cost
    })?;
    cost.figures(rig, "a run")
}
