//! Prints a line and ends: what starting any program costs here.

use std::io::Write as _;

fn main() -> std::io::Result<()> {
    writeln!(std::io::stdout(), "bare")
}
