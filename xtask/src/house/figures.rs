//! All figures of a checkout.

use crate::house::checkout::Checkout;
use crate::house::circles::{self, Circles};
use crate::house::lines::{self, Functions, Lines};
use crate::house::names::{self, Words};
use crate::house::profile::{self, Asked};
use crate::house::source::{Place, SourceFile, TESTKIT};
use crate::house::undocumented::{self, Undocumented};
use crate::house::wildcards::{self, Enums, Wildcards};

pub(crate) struct Figures {
    pub(crate) crates: Vec<CrateFigures>,
    pub(crate) profile: Asked,
    /// The names of types that many modules define, with the modules.
    pub(crate) types: Vec<(String, Vec<String>)>,
    pub(crate) xtask_lines: usize,
}

pub(crate) struct CrateFigures {
    pub(crate) name: String,
    pub(crate) modules: Circles,
    pub(crate) files: Circles,
    pub(crate) wildcards: Wildcards,
    pub(crate) lines: Lines,
    pub(crate) functions: Functions,
    pub(crate) words: Words,
    pub(crate) undocumented: Undocumented,
    pub(crate) heavy: Vec<Place>,
}

impl Figures {
    pub(crate) fn of(checkout: &Checkout) -> Self {
        let enums = Enums::of(checkout.files.iter());
        let names = checkout.crates.iter().zip(&checkout.test_lines);
        let crates = names.map(|(name, tests)| of_crate(checkout, name, *tests, &enums));
        Self {
            crates: crates.collect(),
            profile: profile::find(checkout.of("kernel")),
            types: names::types(checkout.shipped()),
            xtask_lines: checkout.xtask_lines,
        }
    }

    pub(crate) fn shipped(&self) -> impl Iterator<Item = &CrateFigures> {
        self.crates.iter().filter(|it| it.is_shipped())
    }
}

impl CrateFigures {
    pub(crate) fn is_shipped(&self) -> bool {
        self.name != TESTKIT
    }
}

fn of_crate(checkout: &Checkout, name: &str, tests: usize, enums: &Enums) -> CrateFigures {
    let files: Vec<&SourceFile> = checkout.of(name).collect();
    let all = || files.iter().copied();
    let [modules, of_files] = circles::find(all());
    let mut lines = lines::count(all());
    lines.for_tests += tests;
    CrateFigures {
        name: name.to_owned(),
        modules,
        files: of_files,
        wildcards: wildcards::find(all(), enums),
        lines,
        functions: lines::functions(all()),
        words: names::words(all()),
        undocumented: undocumented::find(&files),
        heavy: lines::heavy(all()),
    }
}
