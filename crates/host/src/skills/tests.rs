use super::*;
use crate::trust::Trust;
use std::fs::{create_dir_all, write};
use std::sync::Arc;
use tempfile::TempDir;

fn place() -> TempDir {
    tempfile::tempdir().expect("a directory can be made")
}

fn skill(root: &Path, place: &str, name: &str, description: &str) -> PathBuf {
    let dir = root.join(place).join(name);
    create_dir_all(&dir).expect("a directory can be made");
    let text = format!("---\nname: {name}\ndescription: {description}\n---\n");
    write(dir.join(SKILL_FILE), text).expect("a file can be written");
    dir
}

/// A place in which all that is found is trusted.
fn trusting(dir: &Path) -> Workplace {
    Workplace {
        dir: dir.to_owned(),
        trust: Arc::new(Trust::once()),
        ..Workplace::bare([].into_iter().collect())
    }
}

fn names(found: &Skills) -> Vec<&str> {
    let offered = found.offered.iter();
    offered.map(|skill| skill.name.as_str()).collect()
}

#[test]
fn a_choice_is_all_none_or_names() {
    let words = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect();
    for (written, expected) in [
        (&[][..], SkillChoice::None),
        (&["none"], SkillChoice::None),
        (&["a", "all"], SkillChoice::All),
        (&["a", "none"], SkillChoice::Named(words(&["a", "none"]))),
    ] {
        assert_eq!(SkillChoice::of(words(written)), expected, "{written:?}");
    }
}

#[test]
fn one_folder_that_two_places_lead_to_is_found_once_and_a_nearer_one_counts() {
    let root = place();
    let inner = root.path().join("inner");
    create_dir_all(root.path().join(".git")).expect("a directory can be made");
    skill(&inner, ".agents/skills", "near", "of inner");
    skill(root.path(), ".agents/skills", "near", "of the root");
    skill(root.path(), ".agents/skills", "far", "of the root");
    create_dir_all(root.path().join(".claude")).expect("a directory can be made");
    let link = root.path().join(".claude/skills");
    std::os::unix::fs::symlink("../.agents/skills", link).expect("a link can be made");
    let found = Skills::find(&trusting(&inner), &SkillChoice::All).expect("all can be used");
    assert_eq!(names(&found), ["near", "far"]);
    assert_eq!(found.lines, "- near: of inner\n- far: of the root\n");
    assert!(found.warnings.is_empty(), "{:?}", found.warnings);
}

#[test]
fn what_is_offered_is_bounded_and_what_is_left_out_is_named() {
    let root = place();
    for n in 0..SKILLS_MAX + 1 {
        skill(root.path(), ".agents/skills", &format!("s-{n:03}"), "short");
    }
    let found = Skills::find(&trusting(root.path()), &SkillChoice::All).expect("all can be used");
    assert_eq!(found.offered.len(), SKILLS_MAX);
    assert!(
        found.warnings[0].contains("s-064 is left out"),
        "{:?}",
        found.warnings
    );
    let root = place();
    for n in 0..SKILLS_MAX {
        let long = "d".repeat(1000);
        skill(root.path(), ".agents/skills", &format!("s-{n:03}"), &long);
    }
    let found = Skills::find(&trusting(root.path()), &SkillChoice::All).expect("all can be used");
    let system = found.after("system".into());
    assert!(system.len() <= OFFER_BYTES_MAX + 10, "{}", system.len());
    let left_out = SKILLS_MAX - found.offered.len() - WARNINGS_MAX;
    let last = found.warnings.last().map(String::as_str);
    assert_eq!(last, Some(&*format!("and {left_out} more about skills")));
    let last = SkillChoice::Named(vec!["s-063".into()]);
    let found = Skills::find(&trusting(root.path()), &last).expect("it can be used");
    assert_eq!(names(&found), ["s-063"]);
}

#[test]
fn a_folder_that_is_too_large_too_deep_or_no_skill_is_refused() {
    let root = place();
    let dir = skill(root.path(), "", "many", "x");
    for n in 0..256 {
        write(dir.join(n.to_string()), "x").expect("a file can be written");
    }
    let refused = |dir: &Path| {
        let read = folder::read(dir, &SecretFiles::default());
        read.expect_err("it is no skill").to_string()
    };
    assert!(refused(&dir).contains("more than 256 files"));
    let dir = skill(root.path(), "", "deep", "x");
    create_dir_all(dir.join("a/b/c/d/e/f/g/h/i")).expect("a directory can be made");
    assert!(refused(&dir).contains("nested"));
    let dir = skill(root.path(), "", "binary", "x");
    write(dir.join(SKILL_FILE), b"---\nname: caf\xe9").expect("a file can be written");
    assert!(refused(&dir).contains("not UTF-8"));
}

#[test]
fn hidden_files_and_what_programs_make_are_no_part_of_a_skill() {
    let root = place();
    let dir = skill(root.path(), "", "plain", "x");
    create_dir_all(dir.join("__pycache__")).expect("a directory can be made");
    create_dir_all(dir.join("scripts")).expect("a directory can be made");
    for name in [".env", "__pycache__/a.pyc", "scripts/a.py"] {
        write(dir.join(name), "x").expect("a file can be written");
    }
    let folder = folder::read(&dir, &SecretFiles::default()).expect("it is a skill");
    let offered = folder.offered();
    let files: Vec<&str> = offered.files.keys().map(String::as_str).collect();
    assert_eq!(files, ["SKILL.md", "scripts/a.py"]);
    assert_eq!(folder.warning(), None);
}

#[test]
fn a_file_that_changes_changes_what_is_trusted() {
    let root = place();
    let dir = skill(root.path(), ".agents/skills", "one", "x");
    write(dir.join("more.md"), "one").expect("a file can be written");
    let (before, _) = examine(root.path());
    write(dir.join("more.md"), "two").expect("a file can be written");
    let (after, warnings) = examine(&dir);
    assert_eq!(before[0].0.main(), after[0].0.main());
    assert_ne!(before[0].0.identity(), after[0].0.identity());
    assert!(warnings.is_empty(), "{warnings:?}");
    let (whole, _) = examine(&root.path().join(".agents/skills"));
    assert_eq!(whole.len(), 1);
}
