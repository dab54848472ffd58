//! A large notebook that is the same wherever it is made: its ids, its people and its texts follow from numbers, so that
//! those who fill a store, serve it and ask it agree without talking to each other.
//!
//! A note is about one kilobyte of Markdown. Its words are drawn as in a language, a few very often and most seldom; and
//! three of them are planted, so that a search can be chosen by how much it finds: one in every note, one in every
//! 59th, one in every 10,000th.

use bonded_kernel::{NoteId, UserId, WorkspaceId};

/// The workspace that all notes lie in.
pub const WORKSPACE: WorkspaceId = WorkspaceId::from_bytes([0x5a; 16]);

/// How many of so many notes have the same planted word: about 1,700 of 100,000, and 10.
const COMMON_EVERY: u64 = 59;
const RARE_EVERY: u64 = 10_000;

const VOCABULARY: f64 = 20_000.0;
const WORDS_PER_SECTION: usize = 36;
const SECTIONS: usize = 4;

const SYLLABLES: [&str; 32] = [
    "ba", "che", "dor", "el", "fi", "gan", "ho", "ir", "ja", "kel", "lu", "mor", "ne", "ol", "pa",
    "quin", "ro", "sa", "tre", "ul", "va", "wen", "xi", "yor", "za", "bri", "clo", "dan", "fer",
    "gri", "mil", "ton",
];

/// What is seldom, common and everywhere.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Spread {
    Rare,
    Common,
    Everywhere,
}

/// Numbers that look drawn.
#[derive(Clone, Debug)]
pub struct Drawn(u64);

impl Drawn {
    pub fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// A number below the bound.
    pub fn below(&mut self, bound: u64) -> u64 {
        self.bits() % bound.max(1)
    }

    /// Sebastiano Vigna's splitmix64: any seed will do, neighbours too.
    fn bits(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// The n-th most frequent word comes with a chance of about one in n.
    fn word(&mut self) -> String {
        let unit = self.below(1 << 32) as f64 / (1_u64 << 32) as f64;
        word(VOCABULARY.powf(unit) as u64)
    }

    fn words(&mut self, count: usize) -> String {
        let words: Vec<String> = (0..count).map(|_| self.word()).collect();
        words.join(" ")
    }
}

pub fn note_id(number: u64) -> NoteId {
    NoteId::derived(&[b"note", &number.to_le_bytes()])
}

pub fn user_id(number: u64) -> UserId {
    UserId::derived(&[b"user", &number.to_le_bytes()])
}

/// What the person with this number proves themselves with.
pub fn token(number: u64) -> String {
    format!("token-of-client-{number}")
}

pub fn title(number: u64) -> String {
    let mut drawn = Drawn::new(number);
    format!("{} {number}", drawn.words(3))
}

/// The text of a note. Every fourth note has a link to another.
pub fn markdown(number: u64) -> String {
    let mut drawn = Drawn::new(number.wrapping_mul(3).wrapping_add(1));
    let mut text = format!("# {}\n", title(number));
    for section in 0..SECTIONS {
        let heading = drawn.words(2);
        let body = drawn.words(WORDS_PER_SECTION);
        let planted = match section {
            0 => planted(Spread::Everywhere, number),
            1 => planted(Spread::Common, number),
            2 => planted(Spread::Rare, number),
            _ if number.is_multiple_of(4) => format!("[[{}]]", title(number / 4)),
            _ => String::new(),
        };
        text.push_str(&format!("\n## {heading}\n\n{body} {planted}\n"));
    }
    text
}

/// The planted word of a note.
pub fn planted(spread: Spread, number: u64) -> String {
    match spread {
        Spread::Rare => format!("rare{}", number % RARE_EVERY),
        Spread::Common => format!("common{}", number % COMMON_EVERY),
        Spread::Everywhere => "everywhere".to_owned(),
    }
}

/// The word of a rank: short for the frequent ones, as in a language.
fn word(rank: u64) -> String {
    let (mut rest, mut word) = (rank, String::new());
    loop {
        word.push_str(SYLLABLES[(rest % SYLLABLES.len() as u64) as usize]);
        rest /= SYLLABLES.len() as u64;
        if rest == 0 {
            return word;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_note_is_the_same_each_time_and_of_the_size_of_a_note() {
        for number in [0, 1, 59, 99_999] {
            let text = markdown(number);
            assert_eq!(text, markdown(number));
            assert!((700..1400).contains(&text.len()), "{} bytes", text.len());
        }
        assert_ne!(markdown(1), markdown(2));
    }

    #[test]
    fn planted_words_stand_in_as_many_notes_as_they_say() {
        let texts: Vec<String> = (0..2000).map(markdown).collect();
        let count = |spread| {
            let wanted = planted(spread, 7);
            let is_in = |text: &&String| text.split_whitespace().any(|word| word == wanted);
            texts.iter().filter(is_in).count()
        };
        assert_eq!(count(Spread::Everywhere), 2000);
        assert_eq!(count(Spread::Common), 34);
        assert_eq!(count(Spread::Rare), 1);
        assert!(markdown(10_007).contains(&planted(Spread::Rare, 7)));
    }

    #[test]
    fn frequent_words_are_in_most_notes_and_most_words_in_few() {
        let texts: Vec<String> = (0..1000).map(markdown).collect();
        let share = |rank| {
            let wanted = word(rank);
            let is_in = |text: &&String| text.split_whitespace().any(|word| word == wanted);
            texts.iter().filter(is_in).count()
        };
        assert!(share(1) > 990, "{}", share(1));
        assert!((5..60).contains(&share(1000)), "{}", share(1000));
    }
}
