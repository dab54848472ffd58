//! The tables of the log of runs, by the scripts that make them.

use bonded_state::database::SchemaLayout;

/// One script for each version. A script that was released is never edited.
const MIGRATIONS: [&str; 4] = [
    include_str!("001.sql"),
    include_str!("002.sql"),
    include_str!("003.sql"),
    include_str!("004.sql"),
];

/// The log of runs.
pub(crate) const RUNS: SchemaLayout = SchemaLayout {
    schema: "bonded",
    migrations: &MIGRATIONS,
    usable_from: 3,
};
