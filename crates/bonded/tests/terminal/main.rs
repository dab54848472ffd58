//! The program at a real terminal: keys are typed, and the screen is what a person sees.

use bonded_testkit::{place, terminal};

mod look;
mod review;
mod stop;
