//! Where vocabularies cut a text: a small automaton over its bytes, the same for all of them. It knows what the last byte
//! was, how long the run of its kind is, and how that run began. How often a token begins at each step is measured for
//! every vocabulary; see `measured.rs`.

/// What a byte is: a letter, a digit, a blank, one of the marks, or the beginning of a letter of another script.
pub(super) const CLASSES: usize = 32;

const LOWER: usize = 0;
const UPPER: usize = 1;
const DIGIT: usize = 2;
const SPACE: usize = 3;
const NEWLINE: usize = 4;
const TAB: usize = 5;
const FIRST_MARK: usize = 6;
/// The further bytes of a letter that is longer than one.
const FURTHER: usize = 21;

const fn class(byte: u8) -> u8 {
    match byte {
        b'a'..=b'z' => 0,
        b'A'..=b'Z' => 1,
        b'0'..=b'9' => 2,
        b' ' => 3,
        b'\n' => 4,
        b'\t' | b'\r' => 5,
        b'_' => 6,
        b'-' => 7,
        b'.' => 8,
        b',' => 9,
        b':' => 10,
        b'"' => 11,
        b'\'' => 12,
        b'(' => 13,
        b')' => 14,
        b'[' | b'{' | b'<' => 15,
        b']' | b'}' | b'>' => 16,
        b'/' | b'\\' => 17,
        b'=' => 18,
        b'*' | b'#' | b'`' => 19,
        0x00..=0x7f => 20,
        0x80..=0xbf => 21,
        // Letters with accents; the rest of Latin and Greek; Cyrillic; Hebrew and Arabic.
        0xc0..=0xc3 => 22,
        0xc4..=0xcf => 23,
        0xd0..=0xd3 => 24,
        0xd4..=0xdf => 25,
        // The scripts of India and around; signs; kana; Chinese; Korean; emoji.
        0xe0..=0xe1 => 26,
        0xe2 => 27,
        0xe3 => 28,
        0xe4..=0xe9 => 29,
        0xea..=0xef => 30,
        0xf0..=0xff => 31,
    }
}

/// How a run of letters and digits began: after a mark or at the beginning of a line; after one blank; after one blank,
/// like the word before it; and where letters, capitals and digits alternate, how often they did so far.
const BARE: usize = 0;
const AFTER_BLANK: usize = 1;
const IN_PROSE: usize = 2;
const MIXED: usize = 3;
const MIXED_MOST: usize = 5;

/// Where the automaton is: after a byte of this class.
#[derive(Clone, Copy)]
struct CutState {
    class: usize,
    /// How many of its kind stand directly before it, up to the most that counts.
    length: usize,
    /// How the run began; for blanks and marks only whether the word before them stood after a blank.
    origin: usize,
}

/// How many lengths and origins are told apart after a byte of a class.
const fn shape(class: usize) -> (usize, usize) {
    match class {
        LOWER | UPPER => (8, MIXED_MOST + 1),
        DIGIT => (6, MIXED_MOST + 1),
        SPACE => (4, 2),
        NEWLINE | TAB => (3, 1),
        FIRST_MARK..FURTHER => (3, 2),
        FURTHER => (0, 0),
        _ => (2, 1),
    }
}

const fn is_mark(class: usize) -> bool {
    class >= FIRST_MARK && class < FURTHER
}

/// As many as a byte can name.
pub(super) const STATES: usize = 256;

const fn first_state(class: usize) -> usize {
    let (mut first, mut before) = (0, 0);
    while before < class {
        let (lengths, origins) = shape(before);
        first += lengths * origins;
        before += 1;
    }
    first
}

impl CutState {
    const fn of(state: usize) -> Self {
        let mut class = 0;
        while class + 1 < CLASSES && first_state(class + 1) <= state {
            class += 1;
        }
        let (_, origins) = shape(class);
        let at = state - first_state(class);
        Self {
            class,
            length: at / origins,
            origin: at % origins,
        }
    }

    const fn state(self) -> usize {
        let (_, origins) = shape(self.class);
        first_state(self.class) + self.length * origins + self.origin
    }

    const fn after(self, class: usize) -> Self {
        match class {
            LOWER | UPPER | DIGIT => self.in_word(class),
            FURTHER => self,
            _ => Self {
                class,
                length: self.longer(class, self.is_of(class)),
                origin: match shape(class) {
                    (_, 2) => self.is_in_prose() as usize,
                    _ => 0,
                },
            },
        }
    }

    const fn in_word(self, class: usize) -> Self {
        let capitalized = self.class == UPPER && class == LOWER && self.length == 0;
        let goes_on = self.class == class || capitalized;
        let origin = match self.class {
            _ if goes_on => self.origin,
            LOWER | UPPER | DIGIT if self.origin < MIXED => MIXED,
            LOWER | UPPER | DIGIT if self.origin < MIXED_MOST => self.origin + 1,
            LOWER | UPPER | DIGIT => MIXED_MOST,
            SPACE if self.length == 0 && self.is_in_prose() => IN_PROSE,
            SPACE if self.length == 0 => AFTER_BLANK,
            _ => BARE,
        };
        Self {
            class,
            length: self.longer(class, goes_on),
            origin,
        }
    }

    const fn longer(self, class: usize, goes_on: bool) -> usize {
        let (lengths, _) = shape(class);
        match self.length + 1 {
            _ if !goes_on => 0,
            // Many vocabularies take digits by threes, so that long numbers go around.
            length if length == lengths && class == DIGIT => length - 3,
            length if length >= lengths => lengths - 1,
            length => length,
        }
    }

    /// Marks make up runs together, everything else with its like.
    const fn is_of(self, class: usize) -> bool {
        self.class == class || is_mark(self.class) && is_mark(class)
    }

    const fn is_in_prose(self) -> bool {
        match self.class {
            LOWER | UPPER | DIGIT => matches!(self.origin, AFTER_BLANK | IN_PROSE),
            _ => self.origin == 1,
        }
    }
}

/// Texts begin like lines.
pub(super) const START: u8 = CutState {
    class: NEWLINE,
    length: 0,
    origin: 0,
}
.state() as u8;

/// The class of each byte.
pub(super) static CLASS_OF: [u8; 256] = {
    let mut table = [0; 256];
    let mut byte = 0;
    while byte < table.len() {
        table[byte] = class(byte as u8);
        byte += 1;
    }
    table
};

/// The state after a byte of a class.
pub(super) static NEXT: [[u8; CLASSES]; STATES] = {
    let mut table = [[0; CLASSES]; STATES];
    let mut state = 0;
    while state < STATES {
        let place = CutState::of(state);
        let mut class = 0;
        while class < CLASSES {
            table[state][class] = place.after(class).state() as u8;
            class += 1;
        }
        state += 1;
    }
    table
};
