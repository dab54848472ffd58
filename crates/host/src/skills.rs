//! Skills: folders with a `SKILL.md`, in the open format that many agents read. The model is told their names and
//! descriptions, and reads the rest with the tool [`SKILL_TOOL`] when it needs it.
//!
//! What a skill says is followed, so that it counts as an instruction: a skill of a project is offered once a person
//! trusts just this folder, and else is named in a warning. One that cannot be used never stops a run that did not ask
//! for it by its name.

mod folder;
mod head;
mod tool;

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use bonded_kernel::{OfferedSkill, Text, did_you_mean, nearest};
use bonded_tools::beneath::EntryKind;

use crate::beneath::{self, SecretFiles};
use crate::instructions::project_dirs;
use crate::letters::written_out;
pub use crate::skill_choice::{SKILL_TOOL, SkillChoice, UnusableSkill};
use crate::trust::{Contents, Wants};
use crate::workplace::Workplace;
use folder::{BadSkill, FOLDER_BYTES_MAX, SkillFolder};
pub(crate) use tool::SkillTool;

/// The file that makes a folder a skill.
pub const SKILL_FILE: &str = "SKILL.md";

/// Where the folders of a project lie: in the place that agents of all makers share, and in that of the one for which
/// many were written.
const PROJECT_PLACES: [&str; 2] = [".agents/skills", ".claude/skills"];
/// Where those of the person lie, in the home.
const OWN_PLACES: [&str; 2] = [".agents/skills", ".ai-agent/skills"];
/// Folders of one place that are looked at.
const FOLDERS_MAX: usize = 512;
/// Of all folders that are looked at for a run, but for the last.
const READ_BYTES_MAX: u64 = 64 * 1024 * 1024;
/// Warnings that are told one by one.
const WARNINGS_MAX: usize = 8;
/// Skills of a run.
const SKILLS_MAX: usize = 64;
/// What is sent with every request; about 4,000 tokens.
const OFFER_BYTES_MAX: usize = 16 * 1024;

/// What the model is told before the list.
const OFFER: &str = "# Skills\n\nA skill is a folder of instructions for one kind of work. When a task fits the \
     description of a skill, read it with the tool `skill` before you begin, and follow it. Paths in a skill are \
     relative to its folder; the tool reads its other files too.\n";

/// What was found for a working directory.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Skills {
    /// For the settings of a run, the nearest first.
    pub offered: Vec<OfferedSkill>,
    /// The list for the model, a line for each.
    lines: String,
    /// Why others were left out, each as a sentence for a person.
    pub warnings: Vec<String>,
}

impl Skills {
    /// Looks in the working directory and in those above it within its repository, then in the person's home. Of two
    /// of one name the nearer counts.
    pub fn find(workplace: &Workplace, choice: &SkillChoice) -> Result<Self, UnusableSkill> {
        if *choice == SkillChoice::None {
            return Ok(Self::default());
        }
        let mut search = SkillSearch::new(workplace, choice);
        for dir in project_dirs(&workplace.dir) {
            for place in PROJECT_PLACES {
                search.look_into(&dir, place, false);
            }
        }
        if let Some(home) = &workplace.home {
            // What a project has takes no room from what the person has.
            search.read_bytes = 0;
            for place in OWN_PLACES {
                search.look_into(home, place, true);
            }
        }
        search.done()
    }

    /// The system text with the list of skills after it.
    pub fn after(&self, system: Text) -> Text {
        match self.offered.is_empty() {
            true => system,
            false => format!("{system}\n\n{OFFER}\n{}", self.lines.trim_end()).into(),
        }
    }
}

/// The search for the skills of one run.
struct SkillSearch<'w> {
    workplace: &'w Workplace,
    choice: &'w SkillChoice,
    secrets: SecretFiles,
    /// The real paths of the person's own places.
    own: Vec<PathBuf>,
    /// The real paths of folders that were looked at: links lead to some of them twice.
    seen: BTreeSet<PathBuf>,
    /// How much was read of them.
    read_bytes: u64,
    /// The names that were found.
    named: BTreeSet<String>,
    /// By name, why one is not offered.
    refused: BTreeMap<String, String>,
    found: Skills,
}

impl<'w> SkillSearch<'w> {
    fn new(workplace: &'w Workplace, choice: &'w SkillChoice) -> Self {
        let homes = workplace.home.iter();
        let own = homes.flat_map(|home| OWN_PLACES.map(|place| home.join(place)));
        Self {
            workplace,
            choice,
            secrets: SecretFiles::of(workplace.places(None).env_files()),
            own: own.filter_map(|place| place.canonicalize().ok()).collect(),
            seen: BTreeSet::new(),
            read_bytes: 0,
            named: BTreeSet::new(),
            refused: BTreeMap::new(),
            found: Skills::default(),
        }
    }

    /// Looks at the folders of one place.
    fn look_into(&mut self, root: &Path, place: &str, at_home: bool) {
        let (dirs, warning) = folders(root, Path::new(place));
        self.found.warnings.extend(warning);
        let mut untrusted = vec![];
        for dir in dirs {
            if !self.seen.insert(dir.clone()) {
                continue;
            }
            match self.read(&dir) {
                Ok(folder) => untrusted.extend(self.weigh(&folder, &dir, at_home)),
                Err(why) => {
                    let name = dir.file_name().unwrap_or_default().to_string_lossy();
                    self.refuse(&name, &dir, &why);
                }
            }
        }
        if untrusted.is_empty() {
            return;
        }
        let place = root.join(place);
        let place = written_out(&place.to_string_lossy());
        self.found.warnings.push(format!(
            "the skills in {place} are not offered until you trust them: {}; to see what they say and trust it: bonded trust {place}",
            untrusted.join(", ")
        ));
    }

    /// Reads a folder, if what was read so far leaves room for it: a stranger may have made many.
    fn read(&mut self, dir: &Path) -> Result<SkillFolder, String> {
        if self.read_bytes > READ_BYTES_MAX {
            return Err(format!(
                "the skills found before it have more than {READ_BYTES_MAX} bytes together"
            ));
        }
        let read = folder::read(dir, &self.secrets);
        self.read_bytes += match &read {
            Ok(folder) => folder.bytes,
            Err(BadSkill::TooLarge) => FOLDER_BYTES_MAX,
            Err(_) => 0,
        };
        read.map_err(|bad| written_out(&bad.to_string()))
    }

    /// Offers a folder, if it is wanted and trusted. Its name, where it only has to be trusted.
    fn weigh(&mut self, folder: &SkillFolder, dir: &Path, at_home: bool) -> Option<String> {
        let name = folder.head.name.clone();
        self.named.insert(name.clone());
        let is_taken = self.found.offered.iter().any(|it| it.name == name);
        if !self.choice.wants(&name) || is_taken {
            return None;
        }
        let is_own = self.is_own(dir, at_home);
        if !is_own && !self.workplace.trust.takes_whole(&folder.contents) {
            let why = "you have not trusted what it says now; look at it with `bonded trust`";
            self.refused.insert(name.clone(), why.into());
            return Some(name);
        }
        let line = format!("- {name}: {}\n", folder.head.description);
        let is_full = self.found.offered.len() == SKILLS_MAX;
        if is_full || OFFER.len() + self.found.lines.len() + line.len() > OFFER_BYTES_MAX {
            let why = format!(
                "{SKILLS_MAX} skills, or {OFFER_BYTES_MAX} bytes of descriptions, are offered already; name those that you need: --skills NAME,…"
            );
            self.refuse(&name, dir, &why);
            return None;
        }
        self.found.lines.push_str(&line);
        self.found.offered.push(folder.offered());
        self.found.warnings.extend(folder.warning());
        None
    }

    /// Whether a folder is the person's own: it lies in their home, and not where the agent works.
    fn is_own(&self, dir: &Path, at_home: bool) -> bool {
        let real = |dir: &Path| dir.canonicalize().unwrap_or_else(|_| dir.to_owned());
        let in_own = at_home || self.own.iter().any(|own| dir.starts_with(own));
        in_own && !dir.starts_with(real(&self.workplace.dir))
    }

    /// The name is that of the folder, where the skill has none that can be read.
    fn refuse(&mut self, name: &str, dir: &Path, why: &str) {
        self.refused.insert(name.to_owned(), why.to_owned());
        if *self.choice == SkillChoice::All {
            let dir = written_out(&dir.to_string_lossy());
            let warning = format!("the skill in {dir} is left out: {why}");
            self.found.warnings.push(warning);
        }
    }

    fn done(mut self) -> Result<Skills, UnusableSkill> {
        let warnings = &mut self.found.warnings;
        if let Some(more @ 1..) = warnings.len().checked_sub(WARNINGS_MAX) {
            warnings.truncate(WARNINGS_MAX);
            warnings.push(format!("and {more} more about skills"));
        }
        let names = || self.found.offered.iter().map(|it| it.name.as_str());
        if let SkillChoice::Named(wanted) = self.choice {
            let missing = wanted
                .iter()
                .find(|name| !names().any(|it| it == name.as_str()));
            if let Some(name) = missing {
                let known = self.named.iter().map(String::as_str);
                let why = self.refused.get(name).cloned().unwrap_or_else(|| {
                    format!(
                        "no skill has this name in {} of the working directory or of your home{}",
                        PROJECT_PLACES[0],
                        did_you_mean(nearest(name, known))
                    )
                });
                return Err(UnusableSkill {
                    name: name.clone(),
                    why,
                });
            }
        }
        Ok(self.found)
    }
}

/// The real paths of the folders of a place that have a [`SKILL_FILE`], by name, and what is wrong with the place.
fn folders(root: &Path, place: &Path) -> (Vec<PathBuf>, Option<String>) {
    let shown = || written_out(&root.join(place).to_string_lossy());
    let held = match beneath::directory(root, place) {
        Ok((held, _)) => held,
        Err(error) if beneath::leads_out(&error) => {
            let warning = format!(
                "{} is a link that leads out of {}, and is not read",
                shown(),
                written_out(&root.to_string_lossy())
            );
            return (vec![], Some(warning));
        }
        // It is not there, or is no directory.
        Err(_) => return (vec![], None),
    };
    let entries = match held.entries(FOLDERS_MAX) {
        Ok(entries) => entries,
        Err(error) => return (vec![], Some(format!("{} is not read: {error}", shown()))),
    };
    let mut dirs = vec![];
    let mut outside = vec![];
    for entry in entries {
        let is_hidden = entry.name.as_encoded_bytes().starts_with(b".");
        if is_hidden || !matches!(entry.kind, EntryKind::Directory | EntryKind::Link) {
            continue;
        }
        match beneath::directory(root, &place.join(&entry.name)) {
            Ok((_, dir)) if dir.join(SKILL_FILE).symlink_metadata().is_ok() => dirs.push(dir),
            Err(error) if beneath::leads_out(&error) => {
                outside.push(written_out(&entry.name.to_string_lossy()));
            }
            Ok(_) | Err(_) => {}
        }
    }
    let warning = (!outside.is_empty()).then(|| {
        let outside = outside.join(", ");
        format!(
            "not read in {}: {outside}, which is a link that leads elsewhere",
            shown()
        )
    });
    (dirs, warning)
}

/// What there is to trust of skills in a directory: the skill that it is, or those in its places. With what cannot be
/// offered, each as a sentence.
pub fn examine(dir: &Path) -> (Vec<(Contents, Wants)>, Vec<String>) {
    let mut dirs = vec![];
    let mut warnings = vec![];
    if dir.join(SKILL_FILE).symlink_metadata().is_ok() {
        dirs.push(dir.to_owned());
    }
    let itself = dir.ends_with("skills").then_some("");
    for place in PROJECT_PLACES.into_iter().chain(itself) {
        let (found, warning) = folders(dir, Path::new(place));
        dirs.extend(found);
        warnings.extend(warning);
    }
    let mut seen = BTreeSet::new();
    let mut all = vec![];
    for dir in dirs {
        if !seen.insert(dir.clone()) {
            continue;
        }
        match folder::read(&dir, &SecretFiles::default()) {
            Ok(folder) => all.push((folder.contents.clone(), folder.wants())),
            Err(bad) => {
                let dir = written_out(&dir.to_string_lossy());
                let bad = written_out(&bad.to_string());
                warnings.push(format!("the skill in {dir} cannot be offered: {bad}"));
            }
        }
    }
    (all, warnings)
}

#[cfg(test)]
mod tests;
