//! Three versions of a text made one: what two changed of a common base, line by line, where their changes do not meet.

use std::collections::BTreeMap;
use std::ops::Range;

/// Larger texts are not merged.
pub const MERGED_BYTES_MAX: u64 = 8 * 1024 * 1024;

/// How many pairs of lines may be compared where no line is unique; what is left then counts as changed whole.
const PAIRS_MAX: usize = 16_000_000;

/// The base with what both changed of it, each line end as it was written. Nothing where the changes overlap or touch
/// and are not the same, where one of the texts is none (it has a zero byte), or where one is too large. Who is `ours`
/// and who is `theirs` makes no difference.
pub fn merged_lines(base: &[u8], ours: &[u8], theirs: &[u8]) -> Option<Vec<u8>> {
    let texts = [base, ours, theirs];
    if texts.iter().any(|it| it.len() as u64 > MERGED_BYTES_MAX) {
        return None;
    }
    // What is the same needs no lines.
    if ours == theirs || theirs == base {
        return Some(ours.to_vec());
    }
    if ours == base {
        return Some(theirs.to_vec());
    }
    if texts.iter().any(|it| it.contains(&0)) {
        return None;
    }
    let [base, ours, theirs] = texts.map(lines);
    let (own, other) = (changed(&base, &ours), changed(&base, &theirs));
    let mut merged = Merged {
        base: &base,
        text: vec![],
        done: 0,
    };
    let (mut own, mut other) = (own.iter().peekable(), other.iter().peekable());
    loop {
        match (own.peek(), other.peek()) {
            (None, None) => return Some(merged.end()),
            (Some(a), Some(b)) if a.touches(b) => {
                if !a.equals(b) {
                    return None;
                }
                merged.take(a);
                own.next();
                other.next();
            }
            (Some(a), Some(b)) if b.at.start < a.at.start => {
                merged.take(b);
                other.next();
            }
            (Some(a), _) => {
                merged.take(a);
                own.next();
            }
            (None, Some(b)) => {
                merged.take(b);
                other.next();
            }
        }
    }
}

type TextLine<'t> = &'t [u8];

fn lines(text: &[u8]) -> Vec<TextLine<'_>> {
    text.split_inclusive(|byte| *byte == b'\n').collect()
}

/// Lines of the base, and what stands there instead.
struct Hunk<'t> {
    at: Range<usize>,
    instead: &'t [TextLine<'t>],
}

impl Hunk<'_> {
    /// Whether no line lies between the two: nobody can tell in which order they belong then.
    fn touches(&self, other: &Hunk<'_>) -> bool {
        self.at.start <= other.at.end && other.at.start <= self.at.end
    }

    fn equals(&self, other: &Hunk<'_>) -> bool {
        self.at == other.at && self.instead == other.instead
    }
}

struct Merged<'t> {
    base: &'t [TextLine<'t>],
    text: Vec<u8>,
    /// So many lines of the base are in the text or were replaced.
    done: usize,
}

impl Merged<'_> {
    fn take(&mut self, hunk: &Hunk<'_>) {
        self.keep_until(hunk.at.start);
        self.text.extend(hunk.instead.concat());
        self.done = hunk.at.end;
    }

    fn keep_until(&mut self, end: usize) {
        let kept = self.base.get(self.done..end).unwrap_or_default();
        self.text.extend(kept.concat());
    }

    fn end(mut self) -> Vec<u8> {
        self.keep_until(self.base.len());
        self.text
    }
}

/// What was changed from one text to the other. Between any two hunks lies a line that was not.
fn changed<'t>(base: &[TextLine<'_>], other: &'t [TextLine<'t>]) -> Vec<Hunk<'t>> {
    let mut pairs = matches(base, other);
    pairs.push((base.len(), other.len()));
    let mut hunks = vec![];
    let (mut from, mut from_other) = (0, 0);
    for (at, at_other) in pairs {
        if from < at || from_other < at_other {
            hunks.push(Hunk {
                at: from..at,
                instead: &other[from_other..at_other],
            });
        }
        (from, from_other) = (at + 1, at_other + 1);
    }
    hunks
}

/// Lines that stayed, in their order. Lines that are there once in both texts hold the rest together (patience); what
/// lies between them is compared pair by pair.
fn matches(base: &[TextLine<'_>], other: &[TextLine<'_>]) -> Vec<(usize, usize)> {
    let mut pairs = vec![];
    let mut left = PAIRS_MAX;
    let mut open = vec![(0..base.len(), 0..other.len())];
    while let Some((mut a, mut b)) = open.pop() {
        while !a.is_empty() && !b.is_empty() && base[a.start] == other[b.start] {
            pairs.push((a.start, b.start));
            (a.start, b.start) = (a.start + 1, b.start + 1);
        }
        while !a.is_empty() && !b.is_empty() && base[a.end - 1] == other[b.end - 1] {
            (a.end, b.end) = (a.end - 1, b.end - 1);
            pairs.push((a.end, b.end));
        }
        if a.is_empty() || b.is_empty() {
            continue;
        }
        let anchors = anchors(base, &a, other, &b);
        if anchors.is_empty() {
            if let Some(fewer) = left.checked_sub(a.len().saturating_mul(b.len())) {
                left = fewer;
                pairs.extend(longest_common(base, &a, other, &b));
            }
            continue;
        }
        for (x, y) in anchors {
            pairs.push((x, y));
            open.push((a.start..x, b.start..y));
            (a.start, b.start) = (x + 1, y + 1);
        }
        open.push((a, b));
    }
    pairs.sort_unstable();
    pairs
}

/// The longest row of lines that are there once in both, rising in both.
fn anchors(
    base: &[TextLine<'_>],
    a: &Range<usize>,
    other: &[TextLine<'_>],
    b: &Range<usize>,
) -> Vec<(usize, usize)> {
    let in_base = once(base, a);
    let in_other = once(other, b);
    let mut both: Vec<(usize, usize)> = in_base
        .iter()
        .filter_map(|(line, at)| Some(((*at)?, (*in_other.get(line)?)?)))
        .collect();
    both.sort_unstable();
    longest_rising(&both)
}

/// Where each line is, if it is there once.
fn once<'t>(lines: &[TextLine<'t>], range: &Range<usize>) -> BTreeMap<TextLine<'t>, Option<usize>> {
    let mut places = BTreeMap::new();
    for at in range.clone() {
        let place = places.entry(lines[at]).or_insert(Some(at));
        *place = place.filter(|first| *first == at);
    }
    places
}

/// Of pairs sorted by the first, the longest row that rises in the second too.
fn longest_rising(pairs: &[(usize, usize)]) -> Vec<(usize, usize)> {
    let mut ends: Vec<usize> = vec![];
    let mut before: Vec<Option<usize>> = Vec::with_capacity(pairs.len());
    for (number, (_, second)) in pairs.iter().enumerate() {
        let length = ends.partition_point(|end| pairs[*end].1 < *second);
        before.push(length.checked_sub(1).map(|at| ends[at]));
        match ends.get_mut(length) {
            Some(end) => *end = number,
            None => ends.push(number),
        }
    }
    let mut row = vec![];
    let mut next = ends.last().copied();
    while let Some(number) = next {
        row.push(pairs[number]);
        next = before[number];
    }
    row.reverse();
    row
}

/// The longest row of equal lines, compared pair by pair.
fn longest_common(
    base: &[TextLine<'_>],
    a: &Range<usize>,
    other: &[TextLine<'_>],
    b: &Range<usize>,
) -> Vec<(usize, usize)> {
    let width = b.len() + 1;
    let mut lengths = vec![0_u32; (a.len() + 1) * width];
    for (row, x) in a.clone().enumerate().rev() {
        for (column, y) in b.clone().enumerate().rev() {
            let here = row * width + column;
            lengths[here] = match base[x] == other[y] {
                true => lengths[here + width + 1] + 1,
                false => lengths[here + width].max(lengths[here + 1]),
            };
        }
    }
    let (mut row, mut column, mut pairs) = (0, 0, vec![]);
    while row < a.len() && column < b.len() {
        let here = row * width + column;
        if base[a.start + row] == other[b.start + column] {
            pairs.push((a.start + row, b.start + column));
            (row, column) = (row + 1, column + 1);
        } else if lengths[here + width] >= lengths[here + 1] {
            row += 1;
        } else {
            column += 1;
        }
    }
    pairs
}
