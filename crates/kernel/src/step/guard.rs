//! The context guard: no request leaves that a window does not hold, and there is always room for the last.
//!
//! Where a request does not fit, old outputs are taken out of the conversation first. Where that does not suffice the turn
//! becomes the last one: nothing is offered any more but the call that ends the run.

use std::sync::Arc;

use super::Stepper;
use crate::context::{self, DROPPED};
use crate::event::{Blocked, ContextCompacted, ContextGuarded, Dropped, Event, GuardPoint};
use crate::image::{self, Image, too_many_images};
use crate::model::Message;
use crate::paging;
use crate::run::guard::{Guarded, View, exceeded, keeps_nothing_free, over, room};
use crate::run::{Run, TURNS_KEPT, ToolOutput};

/// Less than this of an output is not worth showing.
const FITTED_TOKENS_MIN: u64 = 256;
const FITTED_BYTES_MIN: u64 = 512;

/// Why images are not shown that the window has no room for.
const NO_ROOM: &str = "the context window has no room for it";

/// What says how to read on has about so many.
const FITTED_TOKENS_SPARE: u64 = 64;

impl Stepper<'_> {
    /// Looks at the next request of a turn; one that does not fit makes the turn the last.
    pub(super) fn preflight(&mut self, turn: u32) -> Guarded {
        let brief = self.run.brief(turn);
        if !self.run.is_guarded() {
            return Guarded { brief, view: None };
        }
        let last = keeps_nothing_free(self.run, turn);
        let mut view = View::new(self.run, &brief, turn, last);
        if self.run.converses() && self.makes_room(turn, &view, last) {
            view = View::new(self.run, &brief, turn, last);
        }
        let least_reply = match last || self.run.config().edition.fills_windows() {
            true => 0,
            false => context::least_reply(self.run.config()),
        };
        let blocked = view.blocked(least_reply);
        if blocked.is_empty() || self.run.last_turn.is_over || !self.run.converses() {
            let view = Some(view);
            return Guarded { brief, view };
        }
        let still_over = self.still_over(turn);
        self.emit_in(
            turn,
            Event::ContextGuarded(Box::new(ContextGuarded {
                at: GuardPoint::TurnPreflight,
                blocked,
                still_over,
            })),
        );
        let brief = self.run.brief(turn);
        let mut view = View::new(self.run, &brief, turn, true);
        if self.makes_room(turn, &view, true) {
            view = View::new(self.run, &brief, turn, true);
        }
        let view = Some(view);
        Guarded { brief, view }
    }

    /// Takes old outputs out before the request of a turn.
    pub(super) fn takes_outputs_out(&mut self, turn: u32) {
        let brief = self.run.brief(turn);
        let last = keeps_nothing_free(self.run, turn);
        let view = View::new(self.run, &brief, turn, last);
        self.makes_room(turn, &view, last);
    }

    /// Takes old outputs out of the conversation where the request does not fit. Says whether it did.
    fn makes_room(&mut self, turn: u32, view: &View, last: bool) -> bool {
        let Some((over, before, limit)) = view.excess() else {
            return false;
        };
        // Before the last turn more than just enough, so that it need not be done in every turn.
        let more = if last {
            0
        } else {
            u64::try_from(limit).unwrap_or(0) / 4
        };
        let kept = if last { 0 } else { TURNS_KEPT };
        let out = self.run.to_take_out(over.saturating_add(more), kept);
        let out = out.or_else(|| self.run.to_take_out(over, kept));
        // What can be read again by its handle is better read again than the run brought to its end.
        let is_last_resort = !last && self.run.config().edition.measures_tokens() && self.pages();
        let out = out.or_else(|| self.run.to_take_out(over, 1).filter(|_| is_last_resort));
        let Some((messages, spared)) = out.filter(|_| self.run.config().edition.fills_windows())
        else {
            return false;
        };
        self.emit_in(
            turn,
            Event::ContextCompacted(Box::new(ContextCompacted {
                messages,
                before,
                after: before.saturating_sub(spared),
                limit,
            })),
        );
        true
    }

    /// What would not fit even with nothing but the report offered.
    fn still_over(&self, turn: u32) -> Vec<Blocked> {
        let mut then = self.run.clone();
        then.force(turn);
        let brief = then.brief(turn);
        View::new(&then, &brief, turn, true).blocked(0)
    }

    /// Whether an output can be put before the model; else what is put there in its place. Older ones make room.
    pub(super) fn admit(&mut self, output: &ToolOutput, tokens: u64) -> Option<Box<Dropped>> {
        let needed = self.needed(output, tokens);
        let mut blocked = exceeded(self.run, needed)?;
        if self.makes_room_for(needed) || self.makes_room_for_a_part(&blocked) {
            blocked = exceeded(self.run, needed)?;
        }
        // The next turn begins with a summary of what is older.
        if self.run.summary_makes_room(&blocked) {
            return None;
        }
        let (gauge, target) = (&self.run.meter.gauge, blocked.target as usize);
        Some(Box::new(Dropped {
            output: output.text.as_str().into(),
            tokens: gauge.room(target, tokens),
            stub_tokens: gauge.room(target, context::text_tokens(gauge, DROPPED)),
            projected: blocked.projected,
            limit: blocked.limit,
            shown_bytes: self.fitting_bytes(output, tokens, &blocked),
        }))
    }

    /// Why the model is shown none of the images of an output, where it is not. Older outputs make room for them.
    pub(super) fn withholds_images(
        &mut self,
        output: &ToolOutput,
        tokens: u64,
    ) -> Option<Arc<str>> {
        if output.images.is_empty() {
            return None;
        }
        let said = self.run.messages().iter().flat_map(Message::images);
        let said = said.chain(&self.run.scratch.gathered_images);
        if let Some(why) = too_many_images(said.chain(&output.images)) {
            return Some(why.into());
        }
        let images = self.run.meter.images_tokens(&output.images);
        let needed = self.needed(output, tokens.saturating_add(images));
        let fits = |run: &Run| exceeded(run, needed).is_none();
        let has_room = fits(self.run) || self.makes_room_for(needed) && fits(self.run);
        (!has_room).then(|| NO_ROOM.into())
    }

    /// What goes with the words of an output: its images, or a note in their place.
    pub(super) fn beside_the_words(&self, images: &[Image], withheld: Option<&str>) -> u64 {
        match withheld {
            None => self.run.meter.images_tokens(images),
            Some(why) => {
                let note = image::stubs(images, why);
                self.run.meter.gauge.estimate(&note)
            }
        }
    }

    /// What the answers to the call that is up and to those after it add at least.
    fn needed(&self, output: &ToolOutput, tokens: u64) -> u64 {
        let later = match self.run.config().edition.fills_windows() {
            true => self.run.stubs_tokens(),
            false => 0,
        };
        let answer = self.run.answer_tokens(output, tokens);
        answer.saturating_add(later)
    }

    fn makes_room_for(&mut self, tokens: u64) -> bool {
        let turn = self.run.turn.saturating_add(1);
        let brief = self.run.brief(turn);
        let view = View::with(self.run, &brief, turn, false, tokens);
        self.makes_room(self.run.turn, &view, false)
    }

    /// Where not all of an output can be shown, older ones make room for a good part of it, or at least for a part that
    /// is worth showing.
    fn makes_room_for_a_part(&mut self, blocked: &Blocked) -> bool {
        let edition = self.run.config().edition;
        if !edition.measures_tokens() || !self.can_cut() {
            return false;
        }
        let good = u64::try_from(blocked.limit).unwrap_or(0) / 4;
        if !edition.weighs_parts() {
            return self.makes_room_for(good) || self.makes_room_for(2 * FITTED_TOKENS_MIN);
        }
        let parts = [
            good,
            2 * FITTED_TOKENS_MIN,
            FITTED_TOKENS_MIN + FITTED_TOKENS_SPARE,
        ];
        parts.into_iter().any(|part| {
            let needed = self.needed(&ToolOutput::default(), part);
            self.makes_room_for(needed)
        })
    }

    fn pages(&self) -> bool {
        self.run.setup.paged_bytes_max().is_some()
    }

    /// Whether the beginning of an output can be shown in place of the whole: the model can read on in it.
    fn can_cut(&self) -> bool {
        let may_be_member = self.run.config().edition.cuts_members();
        self.pages()
            && (may_be_member || !self.run.phase.is_member_up())
            && !self.run.last_turn.is_forced
    }

    /// How much of an output has room, where the model can read on in it.
    fn fitting_bytes(&self, output: &ToolOutput, tokens: u64, blocked: &Blocked) -> Option<u64> {
        if !self.run.config().edition.fills_windows() || !self.can_cut() {
            return None;
        }
        // What a member says grows where it stands among the results.
        let tokens = match self.run.phase.is_member_up() {
            true => {
                let nothing = self.needed(&ToolOutput::default(), 0);
                self.needed(output, tokens).saturating_sub(nothing)
            }
            false => tokens,
        };
        let tokens = self.run.meter.gauge.room(blocked.target as usize, tokens);
        let used = blocked.projected.saturating_sub(tokens);
        let room = room(blocked.limit, used).saturating_sub(FITTED_TOKENS_SPARE);
        let bytes = output.text.len() as u64;
        let mut shown = bytes.saturating_mul(room) / tokens.max(1);
        while room >= FITTED_TOKENS_MIN && shown >= FITTED_BYTES_MIN {
            if self.part_fits(output, shown) {
                return Some(shown);
            }
            shown = shown * 3 / 4;
        }
        // Where it can be read is better known than that it is lost: by then other outputs can make room.
        let is_named = self.run.config().edition.weighs_parts() && self.part_fits(output, 0);
        is_named.then_some(0)
    }

    /// Whether so much of an output has room, with how to read on.
    fn part_fits(&self, output: &ToolOutput, bytes: u64) -> bool {
        let text = paging::fitted(&output.text, bytes, self.run.turn, self.run.phase.call_up());
        let tokens = self.run.meter.gauge.estimate(&text);
        let cut = ToolOutput {
            text,
            ..ToolOutput::default()
        };
        exceeded(self.run, self.needed(&cut, tokens)).is_none()
    }

    /// After an output was dropped only the report is left.
    pub(super) fn force_after_drop(&mut self, dropped: &Dropped) {
        if self.run.last_turn.is_forced {
            return;
        }
        let config = self.run.config();
        let shortens = self.run.profile().conduct().shortens_replies;
        let over_for = |(target, it): (usize, &crate::config::Target)| {
            let limit = context::limit(it, config, shortens)?;
            over(limit, dropped.projected).then_some(Blocked {
                target: target as u32,
                projected: dropped.projected,
                limit,
            })
        };
        let blocked = self
            .run
            .targets()
            .enumerate()
            .filter_map(over_for)
            .collect();
        self.emit(Event::ContextGuarded(Box::new(ContextGuarded {
            at: GuardPoint::ToolPreflight,
            blocked,
            still_over: vec![],
        })));
    }
}
