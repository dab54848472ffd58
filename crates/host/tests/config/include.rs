//! Includes of agent files: where they may lead, and how far.

use bonded_host::agent_file::{AgentFile, AgentFileError, IncludePolicy};

use crate::world::World;

fn load(world: &World, policy: IncludePolicy) -> Result<AgentFile, AgentFileError> {
    AgentFile::load(&world.path("agent/a.ai"), policy)
}

/// The error of an agent file that includes this path.
fn refused(world: World, path: &str) -> String {
    let world = world.file("agent/a.ai", format!("\n${{include:{path}}}"));
    let error = load(&world, IncludePolicy::InsideTree).expect_err(path);
    world.shown(&error)
}

/// Files 1 to `count`, each of which includes the next one, as far as there is one.
fn staged(count: usize) -> World {
    let mut world = World::new().file("agent/a.ai", "top {{include:1.md}}");
    for stage in 1..=count {
        let next = match stage {
            last if last == count => "deepest".to_owned(),
            stage => format!("${{include:{}.md}}", stage + 1),
        };
        world = world.file(&format!("agent/{stage}.md"), next);
    }
    world
}

#[test]
fn includes_are_put_in_relative_to_the_file_that_names_them() {
    let world = World::new()
        .file(
            "agent/a.ai",
            "one ${include:sub/b.md} three {{include: sub/c.md }}",
        )
        .file("agent/sub/b.md", "two ${include:c.md}")
        .file("agent/sub/c.md", "c");
    let agent = load(&world, IncludePolicy::InsideTree).expect("the includes are good");
    assert_eq!(agent.body, "one two c three c");
}

#[test]
fn an_include_may_bring_front_matter_and_its_mistakes_are_found_in_its_own_file() {
    let world = World::new()
        .file(
            "agent/a.ai",
            "#!x\n---\n${include:common.yaml}\ndescription: d\n---\nprompt",
        )
        .file("agent/common.yaml", "maxTurns: 4\nusage: u");
    let agent = load(&world, IncludePolicy::InsideTree).expect("the includes are good");
    assert_eq!(agent.options["maxTurns"].value, 4);
    assert_eq!(agent.description.as_deref(), Some("d"));
    let bad = world.file("agent/common.yaml", "maxTurns: 4\nusge: u");
    let error = load(&bad, IncludePolicy::InsideTree).expect_err("a key is wrong");
    assert!(
        bad.shown(&error)
            .contains("common.yaml, line 2: unknown key usge; did you mean usage?")
    );
    let below = bad.file("agent/common.yaml", "maxTurns: 4\nusage: u").file(
        "agent/a.ai",
        "---\n${include:common.yaml}\ndescrption: d\n---\n",
    );
    let error = load(&below, IncludePolicy::InsideTree).expect_err("a key is wrong");
    assert!(
        below
            .shown(&error)
            .contains("a.ai, line 3: unknown key descrption"),
        "{error}"
    );
}

#[test]
fn eight_includes_deep_is_read_and_nine_is_refused_with_the_chain() {
    let agent = load(&staged(8), IncludePolicy::InsideTree).expect("eight are allowed");
    assert_eq!(agent.body, "top deepest");
    let world = staged(9);
    let error = load(&world, IncludePolicy::InsideTree).expect_err("nine are not");
    let shown = world.shown(&error);
    assert!(shown.contains("deeper than 8: agent/a.ai -> "), "{shown}");
    assert!(shown.ends_with("9.md"), "{shown}");
}

#[test]
fn a_circle_is_found_before_the_depth_is_used_up() {
    let world = World::new()
        .file("agent/a.ai", "${include:b.md}")
        .file("agent/b.md", "${include:a.ai}");
    let error = load(&world, IncludePolicy::InsideTree).expect_err("it is a circle");
    assert!(
        matches!(error, AgentFileError::IncludeCycle { .. }),
        "{error}"
    );
    let itself = World::new().file("agent/a.ai", "${include:./a.ai}");
    let error = load(&itself, IncludePolicy::InsideTree).expect_err("it is a circle");
    assert!(
        matches!(error, AgentFileError::IncludeCycle { .. }),
        "{error}"
    );
}

#[test]
fn the_same_file_may_be_included_twice_side_by_side() {
    let world = World::new()
        .file("agent/a.ai", "${include:b.md}${include:b.md}")
        .file("agent/b.md", "b");
    assert_eq!(
        load(&world, IncludePolicy::InsideTree)
            .expect("no circle")
            .body,
        "bb"
    );
}

#[test]
fn an_include_cannot_leave_the_directory_unless_that_is_allowed() {
    let world = World::new()
        .file("out.md", "outside")
        .file("agent/sub/x.md", "inside");
    let absolute = world.path("out.md").display().to_string();
    std::os::unix::fs::symlink(world.path("out.md"), world.path("agent/link.md"))
        .expect("a link can be made");
    std::os::unix::fs::symlink(world.path(""), world.path("agent/up")).expect("a link can be made");
    let mut world = world;
    for path in [
        "../out.md",
        "sub/../../out.md",
        &absolute,
        "link.md",
        "up/out.md",
    ] {
        world = world.file("agent/a.ai", format!("x\n${{include:{path}}}"));
        let error = load(&world, IncludePolicy::InsideTree).expect_err(path);
        let shown = world.shown(&error);
        assert!(
            shown.contains("agent/a.ai, line 2: cannot include"),
            "{path}: {shown}"
        );
        assert!(shown.contains("it lies outside"), "{path}: {shown}");
        let agent = load(&world, IncludePolicy::Anywhere).expect(path);
        assert_eq!(agent.body, "x\noutside", "{path}");
    }
    let inside = world.file("agent/a.ai", "${include:sub/../sub/x.md}");
    assert_eq!(
        load(&inside, IncludePolicy::InsideTree)
            .expect("inside")
            .body,
        "inside"
    );
}

#[test]
fn files_that_hold_secrets_are_never_included() {
    for name in [".env", ".ai-agent.env", "sub/.env", ".ENV"] {
        for policy in [IncludePolicy::InsideTree, IncludePolicy::Anywhere] {
            let world = World::new()
                .file(&format!("agent/{name}"), "KEY=secret")
                .file("agent/a.ai", format!("{{{{include:{name}}}}}"));
            let error = load(&world, policy).expect_err(name).to_string();
            assert!(error.contains("hold secrets"), "{name}: {error}");
        }
    }
    let world = World::new().file("agent/.env", "KEY=secret");
    std::os::unix::fs::symlink(".env", world.path("agent/harmless.md"))
        .expect("a link can be made");
    assert!(refused(world, "harmless.md").contains("leads to a file that holds secrets"));
}

#[test]
fn an_include_that_cannot_be_read_is_said_with_the_line_that_wants_it() {
    let rows = [
        (
            World::new(),
            "none.md",
            "line 2: cannot include \"none.md\": No such file",
        ),
        (
            World::new(),
            "",
            "line 2: cannot include \"\": it does not name a file",
        ),
        (
            World::new().file("agent/d/x", ""),
            "d",
            "not a regular file",
        ),
        (
            World::new().file("agent/b.md", b"\xff"),
            "b.md",
            "not UTF-8",
        ),
    ];
    for (world, path, expected) in rows {
        let error = refused(world, path);
        assert!(error.contains(expected), "{path}: {error}");
    }
}

#[test]
fn what_only_looks_like_an_include_is_left_alone() {
    let body = "$include:x {include:x} ${include:x ${include:\nx} {{include:x} ${Include:x}";
    let world = World::new().file("agent/a.ai", body);
    assert_eq!(
        load(&world, IncludePolicy::InsideTree)
            .expect("no includes")
            .body,
        body
    );
}

#[test]
fn includes_that_multiply_are_stopped() {
    let mut world = World::new().file("agent/a.ai", "${include:1.md}".repeat(10));
    for stage in 1..8 {
        let next = format!("${{include:{}.md}}", stage + 1).repeat(10);
        world = world.file(&format!("agent/{stage}.md"), next);
    }
    let many = world.file("agent/8.md", "");
    let error = load(&many, IncludePolicy::InsideTree).expect_err("there are too many");
    assert!(
        error.to_string().contains("more than 1000 includes"),
        "{error}"
    );
    let large = World::new()
        .file("agent/a.ai", "${include:b.md}".repeat(10))
        .file("agent/b.md", "x".repeat(1024 * 1024));
    let error = load(&large, IncludePolicy::InsideTree).expect_err("it is too large");
    assert!(matches!(error, AgentFileError::TooLarge { .. }), "{error}");
}
