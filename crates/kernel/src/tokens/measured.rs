//! How often a token begins at each step of the automaton in `cuts.rs`, measured with the vocabularies themselves on
//! some megabytes of prose, code, JSON, logs, Markdown, Chinese, other scripts and base64. Written by
//! `cargo xtask tokens --measure`; the files are not to be edited by hand.

use super::cuts::{CLASS_OF, CLASSES, NEXT, STATES};
use crate::config::Vocabulary;

/// A token, as the product of an entry of [`Begins`] and one of [`PAIRS`].
pub(super) const UNIT: u64 = 128 * 32;

/// The letters of English, each in two cases, and one for everything else; as many as a mask of bits takes.
pub(super) const LETTERS: usize = 64;
const LETTERS_MEASURED: usize = 53;

/// How much more or less often, of 32, a token begins at a letter because of the letter before it. Vocabularies agree
/// on that: they know the same words.
pub(super) static PAIRS: [[u8; LETTERS]; LETTERS] = {
    let table: [[u8; LETTERS_MEASURED]; LETTERS_MEASURED] =
        read(include_bytes!("measured/pairs.txt"));
    let mut padded = [[32; LETTERS]; LETTERS];
    let mut at = 0;
    while at < LETTERS_MEASURED * LETTERS_MEASURED {
        let (before, letter) = (at / LETTERS_MEASURED, at % LETTERS_MEASURED);
        padded[before][letter] = table[before][letter];
        at += 1;
    }
    padded
};

/// The row and column of each byte in [`PAIRS`].
pub(super) static LETTER_OF: [u8; 256] = {
    let mut table = [0; 256];
    let mut letter = 0;
    while letter < 26 {
        table[b'a' as usize + letter] = 1 + letter as u8;
        table[b'A' as usize + letter] = 27 + letter as u8;
        letter += 1;
    }
    table
};

/// For each state and the class of the byte that follows: how often a token begins there, of 128.
pub(super) type Begins<T> = [[T; CLASSES]; STATES];

static CLAUDE: Begins<u8> = read(include_bytes!("measured/claude.txt"));
static CL100K: Begins<u8> = read(include_bytes!("measured/cl100k.txt"));
static O200K: Begins<u8> = read(include_bytes!("measured/o200k.txt"));
static QWEN: Begins<u8> = read(include_bytes!("measured/qwen.txt"));

/// All that is needed for a step, in one place and flat: a walk has few registers, one address serves for all tables, and
/// one index for two of them.
pub(super) struct Tables<T: 'static> {
    /// The class of each byte, and its letter in the upper half.
    pub(super) of_byte: [u16; 256],
    /// The first entry of the next state's row.
    pub(super) next: [u16; STATES * CLASSES],
    pub(super) begins: [T; STATES * CLASSES],
    pub(super) pairs: [u8; LETTERS * LETTERS],
}

impl<T: Copy> Tables<T> {
    const fn with(begins: &Begins<T>) -> Self {
        let mut tables = Self {
            of_byte: [0; 256],
            next: [0; STATES * CLASSES],
            begins: [begins[0][0]; STATES * CLASSES],
            pairs: [0; LETTERS * LETTERS],
        };
        let mut at = 0;
        while at < 256 {
            tables.of_byte[at] = CLASS_OF[at] as u16 | (LETTER_OF[at] as u16) << 8;
            at += 1;
        }
        at = 0;
        while at < STATES * CLASSES {
            let (state, class) = (at / CLASSES, at % CLASSES);
            tables.next[at] = NEXT[state][class] as u16 * CLASSES as u16;
            tables.begins[at] = begins[state][class];
            at += 1;
        }
        at = 0;
        while at < LETTERS * LETTERS {
            tables.pairs[at] = PAIRS[at / LETTERS][at % LETTERS];
            at += 1;
        }
        tables
    }
}

static OF_CLAUDE: Tables<u8> = Tables::with(&CLAUDE);
static OF_CL100K: Tables<u8> = Tables::with(&CL100K);
static OF_O200K: Tables<u8> = Tables::with(&O200K);
static OF_QWEN: Tables<u8> = Tables::with(&QWEN);

/// What is measured for a vocabulary, if it is a known one.
pub(super) fn of(vocabulary: Vocabulary) -> Option<&'static Tables<u8>> {
    match vocabulary {
        Vocabulary::Unknown => None,
        Vocabulary::Claude => Some(&OF_CLAUDE),
        Vocabulary::Cl100k => Some(&OF_CL100K),
        Vocabulary::O200k => Some(&OF_O200K),
        Vocabulary::Qwen => Some(&OF_QWEN),
    }
}

/// All that is measured, side by side in 16 bits each.
pub(super) static OF_ALL: Tables<u64> = {
    let mut all = [[0; CLASSES]; STATES];
    let mut at = 0;
    while at < STATES * CLASSES {
        let (state, class) = (at / CLASSES, at % CLASSES);
        all[state][class] = CLAUDE[state][class] as u64
            | (CL100K[state][class] as u64) << 16
            | (O200K[state][class] as u64) << 32
            | (QWEN[state][class] as u64) << 48;
        at += 1;
    }
    Tables::with(&all)
};

/// A table of bytes from its lines: two digits for each, in base 16.
const fn read<const COLUMNS: usize, const ROWS: usize>(text: &[u8]) -> [[u8; COLUMNS]; ROWS] {
    let mut table = [[0; COLUMNS]; ROWS];
    let line = 2 * COLUMNS + 1;
    let mut at = 0;
    while at < ROWS * COLUMNS {
        let (row, column) = (at / COLUMNS, at % COLUMNS);
        let digits = row * line + 2 * column;
        table[row][column] = 16 * digit(text[digits]) + digit(text[digits + 1]);
        at += 1;
    }
    assert!(text.len() == ROWS * line, "a line for each row");
    table
}

const fn digit(byte: u8) -> u8 {
    match byte {
        b'0'..=b'9' => byte - b'0',
        _ => byte - b'a' + 10,
    }
}
