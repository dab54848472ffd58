//! Which notes a search lists, and in which order.
//!
//! A few notes are ranked by BM25. That reads every match and counts all notes that hold a word, so many notes, or
//! words that stand almost everywhere, go by where the words are, then by when a note was written: the index keeps
//! these in that order, and only as many are read as are asked for.

use std::cmp::Reverse;
use std::collections::BTreeSet;

use crate::store::connection::Connection;

use super::query::{SearchQuery, SearchSort};
use crate::store::error::StoreFault;
use crate::store::rows;
use crate::store::words::IndexRow;

/// How much a word counts where it stands. Keywords count as the text does.
pub(super) const TITLE: f64 = 2.0;
pub(super) const HEADINGS: f64 = 1.5;
pub(super) const TEXT: f64 = 1.0;

/// Where words are looked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum NotePart {
    Any,
    Title,
    Headings,
}

/// What an index of words is asked for by one search. Rows are those of [`IndexRow`].
pub(super) trait WordIndex {
    /// The rows that match, those of the notes that were written last.
    fn last_written(&self, part: NotePart, limit: usize) -> Result<Vec<i64>, StoreFault>;

    /// The matches with their ranks by the words that stand in no more notes than this; none if no word does.
    fn ranked(&self, telling_max: usize) -> Result<Vec<Match>, StoreFault>;
}

/// What a search does at most, however many notes match.
#[derive(Clone, Copy, Debug)]
pub(super) struct Bounds {
    /// So many notes are listed.
    pub(super) listed_max: usize,
    /// So many are ranked by BM25.
    pub(super) ranked_max: usize,
    /// A word that stands in more notes of the file says little about any of them.
    pub(super) telling_max: usize,
}

/// Chosen so that a search costs about the same in a small store and in a large one.
pub(super) const BOUNDS: Bounds = Bounds {
    listed_max: 500,
    ranked_max: 100,
    telling_max: 500,
};

/// A note that matches: the row of its words, and how well.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Match {
    pub(super) row: i64,
    pub(super) score: f64,
}

/// One page of what a search lists.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct ListedPage {
    pub(super) page: Vec<Match>,
    pub(super) total: usize,
}

/// A search in one workspace.
pub(super) struct Search<'a> {
    pub(super) connection: Connection<'a>,
    pub(super) workspace: i64,
    pub(super) index: &'a dyn WordIndex,
    pub(super) bounds: Bounds,
}

impl Search<'_> {
    /// The total is bounded, so that counting costs no more than listing. A page behind the end is empty and needs no
    /// order.
    pub(super) fn listed(&self, query: &SearchQuery) -> Result<ListedPage, StoreFault> {
        let all = self
            .index
            .last_written(NotePart::Any, self.bounds.listed_max)?;
        let total = all.len();
        let place = |count: u64| usize::try_from(count).unwrap_or(usize::MAX).min(total);
        let first = place(query.page.offset);
        let end = place(query.page.offset.saturating_add(query.page.limit));
        if first == end {
            let page = vec![];
            return Ok(ListedPage { page, total });
        }
        let ordered = self.ordered(all, query.sort, end)?;
        let page = ordered.into_iter().take(end).skip(first).collect();
        Ok(ListedPage { page, total })
    }

    /// At least the first `wanted` of these, in their order.
    fn ordered(
        &self,
        all: Vec<i64>,
        sort: SearchSort,
        wanted: usize,
    ) -> Result<Vec<Match>, StoreFault> {
        let are_few = all.len() <= self.bounds.ranked_max;
        let ranked = if are_few {
            self.index.ranked(self.bounds.telling_max)?
        } else {
            vec![]
        };
        match sort {
            SearchSort::Relevance if ranked.is_empty() => self.by_part(&all, wanted),
            SearchSort::Relevance => self.best_first(ranked, wanted),
            SearchSort::Updated => {
                let found = if ranked.is_empty() {
                    matches(all, TEXT)
                } else {
                    ranked
                };
                if are_few {
                    self.newest_first(&found)
                } else {
                    Ok(found)
                }
            }
        }
    }

    /// Those with all words in the title, then those with all in headings, then the rest.
    fn by_part(&self, all: &[i64], wanted: usize) -> Result<Vec<Match>, StoreFault> {
        let (mut found, mut seen) = (Vec::new(), BTreeSet::new());
        let mut add = |rows: Vec<i64>, score| {
            let new = rows.into_iter().filter(|row| seen.insert(*row)).collect();
            found.extend(matches(new, score));
            found.len()
        };
        // Of the rows that come next, no more are known already than were found, so as many as are wanted suffice.
        if add(self.index.last_written(NotePart::Title, wanted)?, TITLE) < wanted
            && add(
                self.index.last_written(NotePart::Headings, wanted)?,
                HEADINGS,
            ) < wanted
        {
            add(all.to_vec(), TEXT);
        }
        Ok(found)
    }

    /// By score; equal ones that are wanted by the time of their last change, then by id.
    fn best_first(&self, mut found: Vec<Match>, wanted: usize) -> Result<Vec<Match>, StoreFault> {
        found.sort_by(|a, b| b.score.total_cmp(&a.score));
        let mut ordered = Vec::with_capacity(found.len());
        for tied in found.chunk_by(|a, b| a.score == b.score) {
            if ordered.len() >= wanted {
                break;
            }
            match tied {
                [only] => ordered.push(*only),
                tied => ordered.extend(self.newest_first(tied)?),
            }
        }
        Ok(ordered)
    }

    /// By the time of the last change, then by id.
    fn newest_first(&self, found: &[Match]) -> Result<Vec<Match>, StoreFault> {
        let mut timed = Vec::with_capacity(found.len());
        for one in found {
            let place = IndexRow::of_row(self.workspace, one.row);
            let sql = "SELECT updated_at, id FROM note WHERE written = ?1";
            let time = rows::one(self.connection, sql, [place.written], |row| {
                Ok((Reverse(row.get::<i64>(0)?), row.get::<[u8; 16]>(1)?))
            })?;
            timed.extend(time.map(|time| (time, *one)));
        }
        timed.sort_by_key(|(time, _)| *time);
        Ok(timed.into_iter().map(|(_, one)| one).collect())
    }
}

/// All with the same score.
fn matches(rows: Vec<i64>, score: f64) -> Vec<Match> {
    let scored = |row| Match { row, score };
    rows.into_iter().map(scored).collect()
}
