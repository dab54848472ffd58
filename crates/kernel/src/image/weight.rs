//! What an image counts for in a window, by its size, as the services document it.

use serde::{Deserialize, Serialize};

/// Whether a model takes images, and how they are counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ImageInput {
    /// Nobody knows: they are sent, and counted as much as any model counts that is known.
    #[default]
    Unknown,
    /// It takes none.
    None,
    /// A token for so many pixels of the image, which is scaled down to so many tokens at most.
    Area {
        /// How many pixels are a token.
        pixels: u32,
        /// The tokens of the largest image.
        most: u32,
    },
    /// The image is scaled to a short side of 768 pixels within 2048 each way, and cut into tiles of 512.
    Tiles {
        /// What every image counts for.
        base: u32,
        /// What each tile adds.
        tile: u32,
    },
    /// Patches of 32 pixels each way, scaled down to so many at most; so many hundredths of a token each.
    Patches {
        /// The patches of the largest image.
        most: u32,
        /// What a patch counts for, in hundredths.
        percent: u32,
    },
    /// Squares of up to 768 pixels, 258 tokens each; a small image is one.
    Squares,
    /// The same for every image.
    Same {
        /// How much that is.
        tokens: u32,
    },
}

/// What the model is told of an image counts for something too.
const STUB_TOKENS: u64 = 48;

/// As much as models of several makers count at most for one image.
const UNKNOWN: ImageInput = ImageInput::Area {
    pixels: 750,
    most: 16_384,
};

impl ImageInput {
    /// Whether nobody knows that the model takes none.
    pub fn may_take(self) -> bool {
        self != Self::None
    }

    pub(crate) fn is_unknown(&self) -> bool {
        *self == Self::Unknown
    }

    /// The tokens of one image. Whatever a log says of its size, they can be added up.
    pub fn tokens(self, width: u32, height: u32) -> u64 {
        let sides = (u64::from(width.max(1)), u64::from(height.max(1)));
        self.of_sides(sides).min(u64::from(u32::MAX))
    }

    fn of_sides(self, (width, height): (u64, u64)) -> u64 {
        match self {
            Self::Unknown => {
                let tiles = Self::Tiles {
                    base: 85,
                    tile: 170,
                };
                let [area, tiles] = [UNKNOWN, tiles].map(|it| it.of_sides((width, height)));
                area.max(tiles)
            }
            Self::None => STUB_TOKENS,
            Self::Area { pixels, most } => {
                let tokens = (width * height).div_ceil(u64::from(pixels.max(1)));
                tokens.min(u64::from(most))
            }
            Self::Tiles { base, tile } => u64::from(base) + tiles(width, height) * u64::from(tile),
            Self::Patches { most, percent } => {
                let patches = width.div_ceil(32) * height.div_ceil(32);
                (patches.min(u64::from(most)) * u64::from(percent)).div_ceil(100)
            }
            Self::Squares => 258 * squares(width, height),
            Self::Same { tokens } => u64::from(tokens),
        }
    }
}

/// A side is scaled by a fraction, rounded up.
fn scaled(side: u64, by: u64, of: u64) -> u64 {
    (side * by).div_ceil(of.max(1)).max(1)
}

fn tiles(width: u64, height: u64) -> u64 {
    let (mut long, mut short) = (width.max(height), width.min(height));
    if long > 2_048 {
        (long, short) = (2_048, scaled(short, 2_048, long));
    }
    // A very long and narrow image does not grow beyond the box that it was fitted into.
    long = scaled(long, 768, short).min(2_048);
    short = 768.min(scaled(short, 768, short));
    long.div_ceil(512) * short.div_ceil(512)
}

fn squares(width: u64, height: u64) -> u64 {
    if width.max(height) <= 384 {
        return 1;
    }
    let unit = (width.min(height) * 2 / 3).clamp(256, 768);
    width.div_ceil(unit) * height.div_ceil(unit)
}
