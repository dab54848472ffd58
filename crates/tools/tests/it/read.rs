//! What `read` and `list` say.

use bonded_kernel::Hash;
use serde_json::json;

use crate::world::{World, make_fifo};

#[tokio::test]
async fn a_file_is_read_by_lines_with_its_hash() {
    let world = World::new();
    let text = "one\ntwo\nthree\nfour";
    world.put("f", text);
    let whole = world.ok("read", json!({ "path": "f" })).await;
    assert_eq!(
        whole,
        json!({
            "content": text, "hash": &Hash::of(text.as_bytes()).to_string()[..16]
        })
    );
    let table = [
        (1, 1, "one\n", Some(2)),
        (2, 2, "two\nthree\n", Some(4)),
        (4, 5, "four", None),
    ];
    for (offset, limit, content, next_line) in table {
        let part = world
            .ok(
                "read",
                json!({ "path": "f", "offset": offset, "limit": limit }),
            )
            .await;
        assert_eq!(part["content"], content, "{offset} {limit}");
        let truncated = next_line.map(|_| true);
        assert_eq!(part["truncated"], json!(truncated), "{offset} {limit}");
        let lines_total = (truncated.is_some() || offset > 1).then_some(4);
        assert_eq!(part["lines_total"], json!(lines_total), "{offset} {limit}");
        assert_eq!(part["next_line"], json!(next_line), "{offset} {limit}");
        assert_eq!(part["hash"], whole["hash"]);
    }
    world.put("ended", "one\ntwo\n");
    world.put("empty", "");
    for (path, offset) in [("f", 5), ("f", 99), ("ended", 3), ("empty", 2)] {
        let past = json!({ "path": path, "offset": offset });
        assert_eq!(
            world.fault("read", past).await,
            "past_end",
            "{path} {offset}"
        );
    }
    let empty = world.ok("read", json!({ "path": "empty" })).await;
    assert_eq!(empty["content"], "");
}

#[tokio::test]
async fn a_file_of_any_size_can_be_read_on_in_pieces_that_fit_the_cap() {
    for lines in [500, 20_000] {
        let mut world = World::new();
        world.limits.tool_output_bytes_max = 20_000;
        let text: String = (0..lines).map(|n| format!("line \"{n}\" ä\n")).collect();
        world.put("f", &text);
        let (mut read, mut offset, mut pieces) = (String::new(), 1, 0);
        loop {
            let arguments = json!({ "path": "f", "offset": offset, "limit": 1_000_000 });
            let piece = world.ok("read", arguments).await;
            read.push_str(piece["content"].as_str().expect("a text"));
            pieces += 1;
            match piece["next_line"].as_u64() {
                Some(next) => offset = next,
                None => break,
            }
        }
        assert_eq!(read, text);
        assert!(pieces > lines / 2000, "{pieces} pieces");
    }
}

#[tokio::test]
async fn a_file_that_fits_only_without_its_escapes_is_truncated_at_a_line() {
    let mut world = World::new();
    world.limits.tool_output_bytes_max = 2000;
    let line = format!("{}\n", "\"".repeat(59));
    world.put("f", line.repeat(20));
    let read = world.ok("read", json!({ "path": "f" })).await;
    let shown = read["content"].as_str().expect("a text");
    let lines = shown.len() / line.len();
    assert_eq!(shown, line.repeat(lines));
    assert!((5..20).contains(&lines), "{lines}");
    assert_eq!(
        (&read["truncated"], &read["next_line"]),
        (&json!(true), &json!(lines + 1))
    );
}

#[tokio::test]
async fn a_line_that_is_longer_than_the_cap_is_cut_and_the_answer_says_so() {
    let mut world = World::new();
    world.limits.tool_output_bytes_max = 2000;
    for size in [10_000, 200_000] {
        world.put("f", format!("{}\nnext\n", "ä".repeat(size)));
        let read = world.ok("read", json!({ "path": "f" })).await;
        assert_eq!(
            (&read["line_cut"], &read["truncated"]),
            (&json!(true), &json!(true))
        );
        assert_eq!(read["next_line"], 2);
        let shown = read["content"].as_str().expect("a text");
        assert!(shown.len() > 1000 && shown.chars().all(|c| c == 'ä'));
    }
}

#[tokio::test]
async fn a_huge_file_is_read_without_taking_it_into_memory() {
    let world = World::new();
    world.put("text", "first\nsecond\n");
    world.put("zeros", "");
    for name in ["text", "zeros"] {
        let file = std::fs::File::options().write(true).open(world.path(name));
        file.and_then(|file| file.set_len(10 << 30))
            .expect("a sparse file");
    }
    let read = world
        .ok("read", json!({ "path": "text", "limit": 1 }))
        .await;
    assert_eq!(read["content"], "first\n");
    assert_eq!(read["truncated"], true);
    assert_eq!(read["size_bytes"], 10_u64 << 30);
    assert_eq!(read.get("hash"), None);
    assert_eq!(
        world.fault("read", json!({ "path": "zeros" })).await,
        "not_utf8"
    );
    assert_eq!(
        world
            .fault("append", json!({ "path": "text", "content": "x" }))
            .await,
        "too_large"
    );
}

#[tokio::test]
async fn what_is_not_a_text_file_is_refused_without_waiting() {
    let world = World::new();
    world.put("latin1", b"caf\xe9");
    world.put("binary", b"a\0b");
    world.put("dir/f", "x");
    make_fifo(&world.path("fifo"));
    let table = [
        ("latin1", "not_utf8"),
        ("binary", "not_utf8"),
        ("dir", "is_directory"),
        (".", "is_directory"),
        ("fifo", "not_a_file"),
        ("missing", "not_found"),
        ("missing/f", "not_found"),
        ("latin1/f", "not_a_directory"),
    ];
    for (path, code) in table {
        assert_eq!(
            world.fault("read", json!({ "path": path })).await,
            code,
            "{path}"
        );
    }
    for tool in ["write", "append"] {
        let fault = world
            .fault(tool, json!({ "path": "fifo", "content": "x" }))
            .await;
        assert_eq!(fault, "not_a_file");
    }
}

#[tokio::test]
async fn a_listing_is_sorted_and_says_what_each_entry_is() {
    let world = World::new();
    world.put("b/inner/deep", "12345");
    world.put("a", "123");
    world.put(".git/config", "x");
    world.link("a", "c");
    make_fifo(&world.path("d"));
    let flat = world.ok("list", json!({})).await;
    let expected = json!([
        { "path": ".git", "kind": "dir" },
        { "path": "a", "kind": "file", "size_bytes": 3 },
        { "path": "b", "kind": "dir" },
        { "path": "c", "kind": "symlink" },
        { "path": "d", "kind": "other" },
    ]);
    assert_eq!(flat, json!({ "entries": expected, "truncated": false }));
    let deep = world.ok("list", json!({ "depth": 3 })).await;
    let paths: Vec<_> = deep["entries"]
        .as_array()
        .expect("a list")
        .iter()
        .map(|e| &e["path"])
        .collect();
    assert_eq!(
        paths,
        [".git", "a", "b", "b/inner", "b/inner/deep", "c", "d"]
    );
    assert_eq!(
        world.fault("list", json!({ "path": "a" })).await,
        "not_a_directory"
    );
}

#[tokio::test]
async fn a_listing_that_is_limited_has_the_first_entries_and_says_that_there_are_more() {
    let mut world = World::new();
    for n in 0..300 {
        world.put(&format!("f{n:03}"), "");
    }
    for (limit, shown, truncated) in [(1, 1, true), (299, 299, true), (300, 300, false)] {
        let listed = world.ok("list", json!({ "limit": limit })).await;
        let entries = listed["entries"].as_array().expect("a list");
        assert_eq!(
            (entries.len(), &listed["truncated"]),
            (shown, &json!(truncated)),
            "{limit}"
        );
        assert_eq!(entries[shown - 1]["path"], format!("f{:03}", shown - 1));
    }
    world.limits.tool_output_bytes_max = 2000;
    let listed = world.ok("list", json!({})).await;
    assert_eq!(
        (&listed["truncated"], &listed["entries"][0]["path"]),
        (&json!(true), &json!("f000"))
    );
}
