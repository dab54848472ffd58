//! What is printed of the figures: tables and the most telling names, or everything that was found.

use std::collections::BTreeMap;

use crate::house::circles::Circles;
use crate::house::figures::{CrateFigures, Figures};
use crate::house::json::Json;
use crate::house::source::Place;
use crate::house::table::{self, Row};

/// The crates whose public items are read by people who do not read their code.
const DOCUMENTED: [&str; 4] = ["kernel", "state", "tools", "transport"];

pub(crate) fn text(figures: &Figures, is_list: bool) -> String {
    let tables = table::all();
    let mut parts: Vec<String> = tables.iter().map(|it| it.show(figures)).collect();
    parts.push(single(figures));
    parts.push(largest(figures));
    parts.push(branches_by_file(&figures.profile.branches));
    parts.push(types(figures));
    parts.push(heavy(figures));
    if is_list {
        parts.extend(figures.crates.iter().map(places));
        parts.push(listed(
            "kernel: branches on the profile",
            &figures.profile.branches,
        ));
        parts.push(listed(
            "kernel: reads of the profile",
            &figures.profile.reads,
        ));
    }
    parts.join("\n")
}

/// The figures that are not those of each crate.
fn single(figures: &Figures) -> String {
    let documented = figures.crates.iter();
    let documented = documented.filter(|it| DOCUMENTED.contains(&it.name.as_str()));
    let (items, members) = documented.fold((0, 0), |(items, members), it| {
        let more = &it.undocumented;
        (items + more.items.len(), members + more.members.len())
    });
    let profile = &figures.profile;
    let lines = [
        ("profile branches in the kernel", profile.branches.len()),
        ("reads of the profile without a branch", profile.reads.len()),
        ("type names in more than two modules", figures.types.len()),
        (
            "public items without docs in kernel, state, tools, transport",
            items,
        ),
        ("public fields and variants without docs there", members),
        ("lines of xtask", figures.xtask_lines),
    ];
    let lines = lines.map(|(name, figure)| format!("{name:<62} {figure:>6}\n"));
    lines.concat()
}

fn largest(figures: &Figures) -> String {
    let mut shown = "circles, the modules of the largest\n".to_owned();
    for it in &figures.crates {
        for (what, circles) in [("modules", &it.modules), ("files", &it.files)] {
            let sizes: Vec<String> = circles
                .members
                .iter()
                .map(|it| it.len().to_string())
                .collect();
            if let Some(names) = circles.members.first() {
                let (name, sizes, names) = (&it.name, sizes.join(" "), names.join(" "));
                shown += &format!("  {name} {what}, {sizes}: {names}\n");
            }
        }
    }
    shown
}

fn branches_by_file(branches: &[Place]) -> String {
    let mut files: BTreeMap<&str, usize> = BTreeMap::new();
    for place in branches {
        *files.entry(&place.path).or_default() += 1;
    }
    let mut files: Vec<(&str, usize)> = files.into_iter().collect();
    files.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
    let lines = files
        .iter()
        .map(|(file, count)| format!("  {count:>3} {file}\n"));
    format!("profile branches\n{}", lines.collect::<String>())
}

fn types(figures: &Figures) -> String {
    let lines = figures.types.iter().map(|(name, modules)| {
        let (count, modules) = (modules.len(), modules.join(" "));
        format!("  {count:>3} {name}: {modules}\n")
    });
    format!(
        "type names in more than two modules\n{}",
        lines.collect::<String>()
    )
}

fn heavy(figures: &Figures) -> String {
    let mut files: Vec<&Place> = figures.shipped().flat_map(|it| &it.heavy).collect();
    files.sort_by_key(|it| std::cmp::Reverse(it.line));
    let lines = files
        .iter()
        .map(|it| format!("  {:>5} {}\n", it.line, it.path));
    format!(
        "files of more than 400 lines\n{}",
        lines.collect::<String>()
    )
}

fn places(it: &CrateFigures) -> String {
    let found = [
        ("wildcard arms", &it.wildcards.direct),
        (
            "wildcard arms within tuples and options",
            &it.wildcards.within,
        ),
        ("functions of more than 70 lines", &it.functions.long),
        ("public items without docs", &it.undocumented.items),
        ("public members without docs", &it.undocumented.members),
    ];
    let links = [
        links(&format!("{}: circles of modules", it.name), &it.modules),
        links(&format!("{}: circles of files", it.name), &it.files),
    ];
    let found = found.map(|(what, places)| listed(&format!("{}: {what}", it.name), places));
    let filled = links.into_iter().chain(found).filter(|it| !it.is_empty());
    filled.collect::<Vec<_>>().join("\n")
}

fn listed(title: &str, places: &[Place]) -> String {
    let lines = places
        .iter()
        .map(|it| format!("  {}:{}  {}\n", it.path, it.line, it.what));
    match places {
        [] => String::new(),
        _ => format!("{title}\n{}", lines.collect::<String>()),
    }
}

fn links(title: &str, circles: &Circles) -> String {
    let lines = circles.links.iter().map(|(count, place)| {
        let Place { path, line, what } = place;
        format!("  {what}, {count} times, first at {path}:{line}\n")
    });
    match circles.count() {
        0 => String::new(),
        _ => format!("{title}\n{}", lines.collect::<String>()),
    }
}

pub(crate) fn json(figures: &Figures) -> Json {
    let types = figures.types.iter().map(|(name, modules)| {
        Json::object([
            ("name", Json::Text(name.clone())),
            ("modules", Json::texts(modules)),
        ])
    });
    let tables = table::all();
    let rows = tables.iter().flat_map(|table| table.rows(figures));
    Json::object([
        ("figures", by_crate(rows)),
        (
            "places",
            Json::Object(figures.crates.iter().map(found).collect()),
        ),
        ("profile_branches", list(&figures.profile.branches)),
        ("profile_reads", list(&figures.profile.reads)),
        ("types", Json::list(types)),
        ("xtask_lines", Json::Number(figures.xtask_lines)),
    ])
}

/// The cells of all tables. A share is text: it follows from two of the others.
fn by_crate(rows: impl Iterator<Item = Row>) -> Json {
    let mut crates: Vec<(String, Json)> = vec![];
    for row in rows {
        let cells = row.cells.into_iter().map(|(name, cell)| {
            let number = cell.parse().map(Json::Number);
            (name.replace(' ', "_"), number.unwrap_or(Json::Text(cell)))
        });
        match crates.iter_mut().find(|(name, _)| *name == row.name) {
            Some((_, Json::Object(fields))) => fields.extend(cells),
            _ => crates.push((row.name, Json::Object(cells.collect()))),
        }
    }
    Json::Object(crates)
}

fn found(it: &CrateFigures) -> (String, Json) {
    let circles = |it: &Circles| Json::list(it.members.iter().map(|it| Json::texts(it)));
    let found = Json::object([
        ("circles_of_modules", circles(&it.modules)),
        ("circles_of_files", circles(&it.files)),
        ("wildcards", list(&it.wildcards.direct)),
        ("wildcards_within", list(&it.wildcards.within)),
        ("long_functions", list(&it.functions.long)),
        ("long_files", list(&it.heavy)),
        ("without_docs", list(&it.undocumented.items)),
        ("members_without_docs", list(&it.undocumented.members)),
    ]);
    (it.name.clone(), found)
}

fn list(places: &[Place]) -> Json {
    Json::list(places.iter().map(Json::from))
}
