//! The list of runs at a terminal: it fits the width, and each state has its colour.

use bonded_host::Status;
use bonded_host::shapes::listing::DAMAGED;
use bonded_host::shapes::text::{brief, grouped, short_id};
use bonded_kernel::{Entry, Millis, RunEnded, RunStarted};
use bonded_state::Listed;

use super::layout::dollars;
use super::live::seconds;
use super::table::{Cell, Side, fitted};
use super::terminal::home_short;
use crate::output;
use crate::style::{Look, Paint, Stream};

/// From here on a terminal shows every column.
const WIDE_COLUMNS: usize = 120;
/// A narrower terminal shows only what names a run.
const NARROW_COLUMNS: usize = 60;
/// Of a goal; the width of the terminal cuts it further.
const GOAL_CHARS: usize = 300;

/// Prints the table.
pub(crate) fn print(runs: &[ListedRun<'_>]) {
    let (look, (columns, _)) = (Look::of(Stream::Out), Stream::Out.size());
    let shown = shown_columns(columns);
    let now = jiff::Timestamp::now().as_millisecond();
    let now = Millis(u64::try_from(now).unwrap_or(0));
    let rows: Vec<Vec<Cell>> = runs
        .iter()
        .map(|run| shown.iter().map(|column| run.cell(*column, now)).collect())
        .collect();
    let titles: Vec<(&str, Side)> = shown.iter().map(|column| column.title()).collect();
    let lines = fitted(&titles, &rows, columns, &look);
    lines
        .iter()
        .for_each(|line| output::styled_stdout(line, &look));
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Column {
    Run,
    State,
    When,
    Started,
    Time,
    Turns,
    Tokens,
    Cost,
    Model,
    Directory,
    Goal,
}

fn shown_columns(columns: usize) -> &'static [Column] {
    use Column::{Cost, Directory, Goal, Model, Run, Started, State, Time, Tokens, Turns, When};
    if columns >= WIDE_COLUMNS {
        &[
            Run, State, Started, Time, Turns, Tokens, Cost, Model, Directory, Goal,
        ]
    } else if columns >= NARROW_COLUMNS {
        &[Run, State, When, Turns, Cost, Goal]
    } else {
        &[Run, State, Goal]
    }
}

impl Column {
    fn title(self) -> (&'static str, Side) {
        match self {
            Self::Run => ("RUN", Side::Left),
            Self::State => ("STATE", Side::Left),
            Self::When => ("WHEN", Side::Left),
            Self::Started => ("STARTED", Side::Left),
            Self::Time => ("TIME", Side::Right),
            Self::Turns => ("TURNS", Side::Right),
            Self::Tokens => ("TOKENS", Side::Right),
            Self::Cost => ("COST", Side::Right),
            Self::Model => ("MODEL", Side::Left),
            Self::Directory => ("DIRECTORY", Side::Left),
            Self::Goal => ("GOAL", Side::Left),
        }
    }
}

/// What the first and the last entry of a log say; a damaged log says nothing.
pub(crate) struct ListedRun<'a> {
    id: &'a str,
    status: Option<Status>,
    ends: Option<(&'a Entry, &'a Entry)>,
    /// What began it, where that was not a person.
    beginning: Option<String>,
}

impl<'a> ListedRun<'a> {
    pub(crate) fn of(
        listed: &'a Listed,
        status: Option<Status>,
        beginning: Option<String>,
    ) -> Self {
        let ends = listed.ends.as_ref().ok();
        Self {
            id: short_id(&listed.run),
            status,
            ends: ends.map(|ends| (&ends.first, &ends.last)),
            beginning,
        }
    }

    fn started(&self) -> Option<&'a RunStarted> {
        self.ends.and_then(|(first, _)| first.event.started())
    }

    fn ended(&self) -> Option<&'a RunEnded> {
        self.ends.and_then(|(_, last)| last.event.ended())
    }

    fn cell(&self, column: Column, now: Millis) -> Cell {
        const NONE: &str = "-";
        let or_none = |text: Option<String>| text.unwrap_or_else(|| NONE.into());
        let text = match column {
            Column::Run => self.id.to_owned(),
            Column::State => {
                let (paint, word) = state(self.status);
                return (paint, word.to_owned());
            }
            Column::When => or_none(self.ends.map(|(first, _)| when(first.at, now))),
            Column::Started => or_none(self.ends.map(|(first, _)| minute(first.at))),
            Column::Time => or_none(
                self.ended()
                    .map(|ended| seconds(std::time::Duration::from_millis(ended.elapsed_ms))),
            ),
            Column::Turns => or_none(self.ends.map(|(_, last)| last.turn.to_string())),
            Column::Tokens => or_none(self.ended().map(|ended| grouped(ended.used().0.total()))),
            Column::Cost => {
                let paid = self.ended().map(|ended| ended.used().1);
                or_none(paid.filter(|paid| paid.0 > 0).map(dollars))
            }
            Column::Model => or_none(self.model()),
            Column::Directory => or_none(self.started().map(|it| home_short(&it.config.dir))),
            Column::Goal => self.goal(),
        };
        (Paint::Plain, text)
    }

    fn model(&self) -> Option<String> {
        let target = self.started()?.config.targets.first()?;
        Some(brief(&format!("{}/{}", target.provider, target.model), 40))
    }

    /// With the command that goes on with the run, where there is one.
    fn goal(&self) -> String {
        let id = self.id;
        let Some(started) = self.started() else {
            return format!("(bonded verify {id})");
        };
        let goal = match &started.refused {
            Some(why) => format!("{}: {why}", brief(&started.goal, 60)),
            None => brief(&started.goal, GOAL_CHARS),
        };
        let goal = match &self.beginning {
            Some(beginning) => format!("{}: {goal}", brief(beginning, 40)),
            None => goal,
        };
        match self.status {
            Some(Status::AwaitingReview) => format!("{} (bonded approve {id})", brief(&goal, 40)),
            Some(Status::Interrupted) => format!("{} (bonded resume {id})", brief(&goal, 40)),
            Some(
                Status::AwaitingClient
                | Status::Queued
                | Status::Running
                | Status::Succeeded
                | Status::Failed
                | Status::TimedOut
                | Status::Cancelled
                | Status::Denied,
            )
            | None => goal,
        }
    }
}

/// The word of a state for people, and its colour.
pub(crate) fn state(status: Option<Status>) -> (Paint, &'static str) {
    match status {
        Some(Status::Queued) => (Paint::Cyan, "queued"),
        Some(Status::Running) => (Paint::Cyan, "running"),
        Some(Status::Interrupted) => (Paint::Yellow, "interrupted"),
        Some(Status::AwaitingReview) => (Paint::Yellow, "waiting"),
        Some(Status::AwaitingClient) => (Paint::Yellow, "at its client"),
        Some(Status::Succeeded) => (Paint::Green, "done"),
        Some(Status::Failed) => (Paint::Red, "failed"),
        Some(Status::TimedOut) => (Paint::Red, "timed out"),
        Some(Status::Cancelled) => (Paint::Yellow, "cancelled"),
        Some(Status::Denied) => (Paint::Red, "denied"),
        None => (Paint::Red, DAMAGED),
    }
}

/// How long ago, in the unit that a person would choose.
fn when(at: Millis, now: Millis) -> String {
    let seconds = (now - at) / 1_000;
    match seconds {
        0..60 => "just now".into(),
        60..3_600 => format!("{} min ago", seconds / 60),
        3_600..86_400 => format!("{} h ago", seconds / 3_600),
        86_400..172_800 => "yesterday".into(),
        172_800..2_592_000 => format!("{} days ago", seconds / 86_400),
        _ => minute(at).split(' ').next().unwrap_or_default().to_owned(),
    }
}

/// Date and time to the minute.
pub(crate) fn minute(at: Millis) -> String {
    let time = bonded_host::shapes::text::local_time(at);
    let end = time.len().saturating_sub(":00".len());
    time.get(..end).unwrap_or(&time).to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_moment_is_told_in_the_unit_that_a_person_would_choose() {
        let now = Millis(100_000_000_000);
        for (seconds, wanted) in [
            (5, "just now"),
            (150, "2 min ago"),
            (7_000, "1 h ago"),
            (90_000, "yesterday"),
            (400_000, "4 days ago"),
        ] {
            assert_eq!(when(Millis(now.0 - seconds * 1_000), now), wanted);
        }
    }
}
