//! What a run looks like: colours, widths, the live line, its end.
//!
//! Screens are files in `screens`, with the letter of a row's colour before it. Times are replaced by words. `BLESS=1`
//! writes them anew; look at what it wrote.

use std::path::Path;
use std::process::Command;

use serde_json::{Value, json};

use crate::place::{Place, call, done, never};
use crate::provider::{self, Provider};
use crate::terminal::{Size, Terminal};

/// Durations differ each time; the columns that they take do not.
fn without_times(row: &str) -> String {
    let fields: Vec<String> = row.split(" · ").map(without_time).collect();
    let words: Vec<String> = fields.join(" · ").split(' ').map(without_tokens).collect();
    words.join(" ")
}

/// Requests hold the directory of the test, so that their tokens differ too.
fn without_tokens(word: &str) -> String {
    match word.contains(',') && word.bytes().filter(u8::is_ascii_digit).count() >= 4 {
        true => word.replace(|letter: char| letter.is_ascii_digit(), "0"),
        false => word.to_owned(),
    }
}

fn without_time(field: &str) -> String {
    let mut words: Vec<&str> = field.split(' ').collect();
    let is_number =
        |word: &str| !word.is_empty() && word.bytes().all(|b| b.is_ascii_digit() || b == b'.');
    let Some(unit) = words.last().copied().filter(|it| ["ms", "s"].contains(it)) else {
        return field.to_owned();
    };
    let number = words[words.len() - 2];
    if !is_number(number) {
        return field.to_owned();
    }
    words.truncate(words.len() - 2);
    let kept = words.join(" ");
    // The time stands at the right, so that a longer one takes spaces before it.
    let taken = kept.trim_end();
    let spaces = kept.len() - taken.len() + number.len() + unit.len();
    match spaces > 4 {
        true => format!("{taken}{:>width$}", "TIME", width = spaces + 2),
        false => match taken.is_empty() {
            true => "TIME".to_owned(),
            false => format!("{taken} TIME"),
        },
    }
}

/// Holds a screen against its file.
#[track_caller]
fn check(name: &str, coloured: &str) {
    let screen: Vec<String> = coloured.lines().map(without_times).collect();
    let screen = screen.join("\n") + "\n";
    let path =
        Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("tests/terminal/screens/{name}.txt"));
    if std::env::var_os("BLESS").is_some() {
        std::fs::create_dir_all(path.parent().expect("it lies in a directory")).expect("made");
        std::fs::write(&path, &screen).expect("the screen can be written");
    }
    let wanted = std::fs::read_to_string(&path).unwrap_or_default();
    assert_eq!(screen, wanted, "{name}:\n{screen}");
}

/// The program with a locale, as people have one.
fn command(place: &Place, arguments: &[&str]) -> Command {
    let mut command = place.command(arguments);
    command.env("LANG", "C.UTF-8").env("TZ", "UTC");
    command
}

fn at(place: &Place, arguments: &[&str], size: Size) -> Terminal {
    Terminal::start(&command(place, arguments), size)
}

/// A run that looks around, meets a failing test, edits and ends.
fn leap(place: &Place) -> String {
    place.write(
        "work/leap.sh",
        "year=$1\nif [ $((year % 100)) -ne 0 ]; then\n  echo leap\nfi\n",
    );
    place.write(
        "work/test.sh",
        "echo 'FAIL  2000 should be leap, got common'\nexit 1\n",
    );
    let said = |mut line: Value, text: &str| {
        line["text"] = text.into();
        line
    };
    place.script(&[
        said(call("list", json!({})), "I'll run the test, then read the script."),
        call("run", json!({ "command": "sh test.sh" })),
        call("read", json!({ "path": "leap.sh" })),
        said(
            call("edit", json!({ "path": "leap.sh", "old": "if [ $((year % 100)) -ne 0 ]; then", "new": "if [ $((year % 100)) -ne 0 ] || [ $((year % 400)) -eq 0 ]; then" })),
            "The century rule lacks the exception for 400.",
        ),
        call("read", json!({ "path": "no-such-file" })),
        done("Fixed leap.sh: years that can be divided by 400 are leap years."),
    ])
}

fn leap_run(place: &Place, flags: &[&str], size: Size) -> Terminal {
    let script = leap(place);
    let fixed = ["run", "--id", "leap", "--model", &script];
    at(
        place,
        &[
            &fixed[..],
            flags,
            &["The test fails. Find the bug and fix it."],
        ]
        .concat(),
        size,
    )
}

#[test]
fn a_run_is_a_line_for_each_call_with_the_answer_once_and_the_next_command() {
    for (name, size) in [
        ("run", Size::USUAL),
        ("run-200", Size(200, 40)),
        ("run-59", Size(59, 40)),
        ("run-39", Size(39, 40)),
        ("run-20", Size(20, 60)),
    ] {
        let place = Place::new();
        let mut terminal = leap_run(&place, &[], size);
        let code = terminal.wait_for_end();
        let screen = terminal.coloured();
        assert_eq!(code, Some(0), "{screen}");
        check(name, &screen);
    }
}

/// A run that asks a provider.
fn asking(place: &Place, provider: &Provider, flags: &[&str], size: Size) -> Terminal {
    let url = provider.base_url();
    let fixed = [
        "run",
        "--id",
        "asks",
        "--model",
        "small",
        "--base-url",
        &url,
    ];
    at(
        place,
        &[&fixed[..], flags, &["what is a leap year?"]].concat(),
        size,
    )
}

/// A streamed reply that stops after these pieces of its message and says no more.
fn unfinished(deltas: &[Value]) -> provider::Reply {
    let chunk = |delta: &Value| {
        let choice = json!({ "index": 0, "delta": delta });
        let chunk = json!({ "object": "chat.completion.chunk", "choices": [choice] });
        format!("data: {chunk}\n\n")
    };
    let body: String = deltas.iter().map(chunk).collect();
    provider::raw(200, "text/event-stream", body).hanging()
}

fn writing_call(arguments: &str) -> Value {
    let function = json!({ "name": "edit", "arguments": arguments });
    json!({ "tool_calls": [{ "index": 0, "id": "call_1", "type": "function", "function": function }] })
}

#[test]
fn the_live_line_says_what_is_under_way_and_what_is_left() {
    let priced = ["--price", "1,2", "--max-cost", "2.00", "--max-turns", "9"];
    let rows: [(&str, provider::Reply, &str); 4] = [
        ("slow-model", provider::silence(), "waiting for small"),
        (
            "writing-call",
            unfinished(&[writing_call(&"x".repeat(1200))]),
            "writing a call of edit",
        ),
        (
            "thinking",
            unfinished(&[json!({ "reasoning_content": "hm" })]),
            "thinking",
        ),
        (
            "answering",
            unfinished(&[json!({ "content": "A leap year has" })]),
            "answering",
        ),
    ];
    for (name, reply, doing) in rows {
        let (place, provider) = (Place::new(), Provider::start());
        provider.say([reply]);
        let terminal = asking(&place, &provider, &priced, Size(100, 20));
        // It is there for more than a second, so that all figures are.
        terminal.wait_until("a live line", |screen| {
            let line = screen.lines().last().unwrap_or_default();
            line.contains(doing) && line.contains(" 2 s · turn 1 of 9 · $0.00 of $2.00")
        });
        check(name, &without_spinner(&terminal.coloured()));
    }
}

/// The spinner and the rate are others each time.
fn without_spinner(screen: &str) -> String {
    let field = |field: &str| match field.ends_with(" tok/s") {
        true => "RATE".to_owned(),
        false => field.to_owned(),
    };
    let row = |row: &str| {
        let row = row.replace(|letter| ('\u{2800}'..='\u{28ff}').contains(&letter), "⠹");
        let fields: Vec<String> = row.split(" · ").map(field).collect();
        fields.join(" · ")
    };
    let rows: Vec<String> = screen.lines().map(row).collect();
    rows.join("\n")
}

#[test]
fn the_live_line_loses_fields_where_it_is_narrow_and_is_none_below_twenty_columns() {
    for (columns, name) in [
        (60, "live-60"),
        (40, "live-40"),
        (39, "live-39"),
        (20, "live-20"),
    ] {
        let (place, provider) = (Place::new(), Provider::start());
        provider.say([provider::silence()]);
        let terminal = asking(&place, &provider, &[], Size(columns, 20));
        terminal.wait_for(" 1 s");
        check(name, &without_spinner(&terminal.coloured()));
    }
    let (place, provider) = (Place::new(), Provider::start());
    provider.say([provider::text("no call").delayed_ms(1500)]);
    provider.then_always(provider::call("done", json!({ "reason": "366 days" })));
    let terminal = asking(&place, &provider, &[], Size(19, 40));
    terminal.wait_for("366 days");
    let bytes = String::from_utf8_lossy(&terminal.bytes()).into_owned();
    assert!(!bytes.contains("waiting"), "{bytes:?}");
    assert!(
        !bytes.contains("\u{1b}[J"),
        "nothing is drawn again: {bytes:?}"
    );
}

#[test]
fn the_live_line_moves_while_nothing_else_happens() {
    let (place, provider) = (Place::new(), Provider::start());
    provider.say([provider::silence()]);
    let terminal = asking(&place, &provider, &[], Size::USUAL);
    terminal.wait_for("waiting for small · 2 s");
    let bytes = String::from_utf8_lossy(&terminal.bytes()).into_owned();
    let spinners: std::collections::BTreeSet<char> = bytes
        .chars()
        .filter(|it| ('\u{2801}'..='\u{28ff}').contains(it))
        .collect();
    assert!(spinners.len() >= 8, "{spinners:?}");
    for second in ["0 s", "1 s", "2 s"] {
        assert!(
            bytes.contains(&format!("waiting for small · {second}")),
            "{second}"
        );
    }
    // Each drawing is one write that a terminal shows at once, and nothing clears the screen or leaves it.
    assert_eq!(
        bytes.matches("\u{1b}[?2026h").count(),
        bytes.matches("\u{1b}[?2026l").count()
    );
    for banned in [
        "\u{1b}[?1049",
        "\u{1b}[2J",
        "\u{1b}[3J",
        "\u{1b}[?25l",
        "\u{1b}[?100",
    ] {
        assert!(!bytes.contains(banned), "{banned:?}");
    }
}

#[test]
fn servers_that_start_are_named() {
    let place = Place::new();
    let agent = place.agent("agent", &[done("ok")], "tools: wiki, fs");
    let slow = json!({ "type": "stdio", "command": "sleep", "args": ["600"] });
    let config = json!({ "mcpServers": { "wiki": slow, "fs": slow } });
    let config = place.write("config.json", config.to_string());
    let (agent, config) = (agent.display().to_string(), config.display().to_string());
    let words = [
        "run", "--trust", "--config", &config, "--agent", &agent, "go",
    ];
    let terminal = at(&place, &words, Size::USUAL);
    let screen = terminal.wait_for("starting servers: 0 of 2 ready, waiting for ");
    assert!(screen.contains("wiki") && screen.contains("fs"), "{screen}");
}

#[test]
fn text_appears_as_it_is_written_and_the_answer_stands_there_once() {
    let (place, provider) = (Place::new(), Provider::start());
    let text = "A leap year has 366 days. It comes every fourth year, but for centuries that cannot be divided by 400.";
    provider.say([provider::streamed_text(text, 3).paused_ms(40)]);
    provider.then_always(provider::call("done", json!({ "reason": text })));
    let mut terminal = asking(&place, &provider, &[], Size::USUAL);
    terminal.wait_until("the beginning", |screen| {
        screen.contains("A leap year has 3") && !screen.contains("by 400.")
    });
    terminal.wait_for_end();
    check("streaming", &terminal.coloured());
    let (code, screen) = terminal.end();
    assert_eq!(code, Some(0), "{screen}");
    assert_eq!(screen.matches("every fourth year").count(), 1, "{screen}");
}

#[test]
fn without_streaming_the_text_comes_whole_and_the_answer_stands_there_once() {
    let (place, provider) = (Place::new(), Provider::start());
    provider.say([provider::call("list", json!({}))]);
    provider.then_always(provider::call("done", json!({ "reason": "366 days" })));
    let terminal = asking(&place, &provider, &["--no-stream"], Size::USUAL);
    let (code, screen) = terminal.end();
    assert_eq!(
        (code, screen.matches("366 days").count()),
        (Some(0), 1),
        "{screen}"
    );
    assert!(provider.asked().iter().all(|asked| !asked.is_streamed()));
}

#[test]
fn a_reply_that_breaks_off_stays_and_is_said_to_be_discarded() {
    let (place, provider) = (Place::new(), Provider::start());
    let begun =
        json!({ "choices": [{ "index": 0, "delta": { "content": "A leap year has 366 " } }] });
    let body = format!("data: {begun}\n\n");
    provider.say([provider::raw(200, "text/event-stream", body)]);
    provider.then_always(provider::call("done", json!({ "reason": "366 days" })));
    let mut terminal = asking(&place, &provider, &[], Size::USUAL);
    terminal.wait_for_end();
    check("discarded", &terminal.coloured());
}

#[test]
fn a_failure_names_its_cause_once_and_the_next_command() {
    let list = || call("list", json!({}));
    let rows: [(&str, &[&str], Vec<Value>); 6] = [
        ("failed-progress", &[], vec![list(), list(), list(), list()]),
        (
            "failed-turns",
            &["--max-turns", "2"],
            vec![list(), call("read", json!({ "path": "x" }))],
        ),
        ("failed-budget", &["--max-tokens", "2000"], vec![list()]),
        ("failed-time", &["--max-time", "1"], vec![never()]),
        (
            "failed-blocked",
            &[],
            vec![done("blocked: there is no test to run")],
        ),
        (
            "failed-key",
            &[],
            vec![json!({ "fail": "auth", "message": "401: the key is refused" })],
        ),
    ];
    for (name, flags, lines) in rows {
        let place = Place::new();
        let script = place.script(&lines);
        let fixed = ["run", "--id", "fails", "--model", &script];
        let mut terminal = at(&place, &[&fixed[..], flags, &["go"]].concat(), Size::USUAL);
        assert_eq!(terminal.wait_for_end(), Some(1), "{name}");
        check(name, &terminal.coloured());
    }
}

#[test]
fn attempts_that_fail_are_counted_in_the_live_line_and_told_once() {
    let (place, provider) = (Place::new(), Provider::start());
    provider.then_always(provider::refusal(503, "loading the model"));
    let mut terminal = asking(&place, &provider, &["--max-retries", "3"], Size(100, 40));
    let seen = terminal.wait_for("attempt 2 of 3 in 1 s");
    let live = seen.lines().last().unwrap_or_default();
    assert!(
        live.contains("backing off: model: ") && live.contains("loading the model"),
        "{live}"
    );
    terminal.wait_for_end();
    check("failed-busy", &terminal.coloured());
}

#[test]
fn a_provider_that_recovered_is_told_in_one_line() {
    let (place, provider) = (Place::new(), Provider::start());
    let busy = provider::refusal(503, "loading the model");
    provider.say([
        busy.clone(),
        busy,
        provider::call("done", json!({ "reason": "366 days" })),
    ]);
    let terminal = asking(&place, &provider, &[], Size::USUAL);
    let (code, screen) = terminal.end();
    assert_eq!(
        (code, screen.matches("loading the model").count()),
        (Some(0), 1),
        "{screen}"
    );
    assert!(screen.contains("loading the model ×2"), "{screen}");
}

#[test]
fn what_happens_again_is_one_line_with_its_count() {
    let place = Place::new();
    let list = || call("list", json!({}));
    let script = place.script(&[
        list(),
        list(),
        list(),
        call("read", json!({ "path": "x" })),
        done("ok"),
    ]);
    let words = ["run", "--no-progress", "0", "--model", &script, "go"];
    let (_, screen) = at(&place, &words, Size::USUAL).end();
    assert_eq!(screen.matches("✓ list").count(), 1, "{screen}");
    assert!(screen.contains("✓ list . ×3"), "{screen}");
}

/// The name of a screen, flags, and variables.
type LookRow<'a> = (&'a str, &'a [&'a str], &'a [(&'a str, &'a str)]);

#[test]
fn nothing_but_the_letters_changes_without_colour_and_without_unicode() {
    let rows: [LookRow<'_>; 4] = [
        ("no-color", &[], &[("NO_COLOR", "1")]),
        ("ascii", &["--ascii"], &[]),
        ("plain", &["--plain"], &[]),
        ("dumb", &[], &[("TERM", "dumb")]),
    ];
    for (name, flags, variables) in rows {
        let place = Place::new();
        let script = leap(&place);
        let fixed = ["run", "--id", "leap", "--model", &script];
        let mut command = command(&place, &[&fixed[..], flags, &["go"]].concat());
        command.envs(variables.iter().copied());
        let mut terminal = Terminal::start(&command, Size::USUAL);
        terminal.wait_for_end();
        let bytes = terminal.bytes();
        let screen = terminal
            .coloured()
            .replace(&place.work().display().to_string(), "DIR");
        let rows: Vec<String> = screen.lines().map(without_durations).collect();
        check(name, &rows.join("\n"));
        if ["plain", "dumb"].contains(&name) {
            assert!(
                !bytes.contains(&0x1b),
                "{name}: {}",
                String::from_utf8_lossy(&bytes)
            );
            assert!(bytes.is_ascii(), "{name}");
        }
    }
}

#[test]
fn the_flag_has_colour_where_no_terminal_reads() {
    let place = Place::new();
    let script = place.script(&[done("ok")]);
    let run = |flags: &[&str]| {
        let fixed = ["run", "--model", &script];
        place.bonded(&[&fixed[..], flags, &["go"]].concat())
    };
    assert!(!run(&[]).stderr.contains('\u{1b}'));
    assert!(
        !run(&["--color", "always"]).stdout.contains('\u{1b}'),
        "the answer is data"
    );
}

#[test]
fn whatever_a_model_or_a_tool_writes_only_the_program_drives_the_terminal() {
    let place = Place::new();
    let hostile = "\u{1b}[2J\u{1b}]52;c;aGk=\u{7}\u{1b}[31mred\u{9b}5n\r\u{202e}";
    let evil = json!({ "text": hostile, "calls": [{ "tool": "run", "arguments": { "command": "printf '\\033[2J\\033[6nevil\\n' >&2; exit 3" } }] });
    let script = place.script(&[evil, done(hostile)]);
    let mut terminal = at(&place, &["run", "--model", &script, "go"], Size::USUAL);
    terminal.wait_for_end();
    let bytes = String::from_utf8_lossy(&terminal.bytes()).into_owned();
    for banned in [
        "\u{1b}[2J",
        "\u{1b}]",
        "\u{1b}[6n",
        "\u{7}",
        "\u{9b}",
        "\u{202e}",
        "\u{1b}[31mred",
    ] {
        assert!(!bytes.contains(banned), "{banned:?} in {bytes:?}");
    }
    assert!(bytes.contains("evil") && bytes.contains("red"), "{bytes:?}");
}

#[test]
fn a_window_that_changes_its_width_keeps_every_line_once() {
    let (place, provider) = (Place::new(), Provider::start());
    let words: Vec<String> = (100..220).map(|number| format!("word{number}")).collect();
    let text = words.join(" ");
    provider.say([provider::streamed_text(&text, 12).paused_ms(20)]);
    provider.then_always(provider::call("done", json!({ "reason": "said" })));
    let mut terminal = asking(&place, &provider, &[], Size(50, 60));
    terminal.wait_for("word120");
    terminal.resize(Size(100, 60));
    let wide = terminal.wait_for("word160");
    for word in &words[..60] {
        assert_eq!(wide.matches(word.as_str()).count(), 1, "{word} in\n{wide}");
    }
    // This terminal cuts what stands there when it becomes narrow; what comes then is wrapped for its new width.
    terminal.resize(Size(50, 60));
    terminal.wait_for_end();
    let narrow = terminal.screen();
    for word in &words[80..] {
        assert_eq!(
            narrow.matches(word.as_str()).count(),
            1,
            "{word} in\n{narrow}"
        );
    }
    assert!(!narrow.contains("answering"), "{narrow}");
}

#[test]
fn wide_letters_are_wrapped_where_they_end() {
    let (place, provider) = (Place::new(), Provider::start());
    provider.say([provider::streamed_text(&"日本語の文章 🦀 ".repeat(12), 2)]);
    provider.then_always(provider::call("done", json!({ "reason": "done" })));
    let mut terminal = asking(&place, &provider, &[], Size(41, 40));
    terminal.wait_for_end();
    check("wide-letters", &terminal.coloured());
}

#[test]
fn a_window_that_is_closed_interrupts_the_run_and_it_can_be_resumed() {
    let place = Place::new();
    let script = place.script(&[call("list", json!({})), never()]);
    let mut terminal = at(
        &place,
        &["run", "--id", "closed", "--model", &script, "go"],
        Size::USUAL,
    );
    terminal.wait_for("turn 2 of");
    terminal.hang_up();
    let (code, _) = terminal.end();
    assert_ne!(code, Some(0));
    assert_eq!(place.status("closed").as_deref(), Some("interrupted"));
}

#[test]
fn where_no_terminal_reads_each_event_is_a_line_and_stdout_has_the_answer_alone() {
    let place = Place::new();
    let script = leap(&place);
    let mut command = command(&place, &["run", "--id", "leap", "--model", &script, "go"]);
    let run = crate::place::finish(crate::place::start(&mut command));
    assert_eq!(
        run.stdout,
        "Fixed leap.sh: years that can be divided by 400 are leap years.\n"
    );
    let lines: Vec<String> = run
        .stderr
        .lines()
        .map(|line| {
            let line = line.replace(&place.work().display().to_string(), "DIR");
            let is_clock =
                |it: &&str| it.len() == 8 && it.bytes().filter(|b| *b == b':').count() == 2;
            match line.split_once(' ').filter(|(clock, _)| is_clock(clock)) {
                Some((_, rest)) => format!("CLOCK {}", without_durations(rest)),
                None => line,
            }
        })
        .collect();
    check("no-terminal", &lines.join("\n"));
}

/// Every duration in a sentence.
fn without_durations(text: &str) -> String {
    let words: Vec<&str> = text.split(' ').collect();
    let is_unit =
        |word: Option<&&str>| word.is_some_and(|it| ["ms", "ms,", "ms:", "s", "s,"].contains(it));
    let mut kept = vec![];
    let mut rest = words.iter().peekable();
    while let Some(word) = rest.next() {
        let is_number = word.bytes().all(|b| b.is_ascii_digit() || b == b'.') && !word.is_empty();
        match is_number && is_unit(rest.peek().copied()) {
            true => {
                let unit = rest.next().copied().unwrap_or_default();
                kept.push(format!("TIME{}", unit.trim_start_matches(['m', 's'])));
            }
            false => kept.push((*word).to_owned()),
        }
    }
    kept.join(" ")
}

/// Three runs: one that is done, one that failed, and one that waits.
fn three_runs(place: &Place) {
    let long = "Summarise the log of the last night and say which of the jobs have failed, with the reason of each of them";
    let waits = call("write", json!({ "path": "a", "content": "b" }));
    for (id, lines, flags, goal) in [
        ("first", vec![done("ok")], &[][..], "Fix the failing test"),
        ("second", vec![done("blocked: no log")], &[], long),
        ("third", vec![waits], &["--ask", "write"], "Tidy up"),
    ] {
        let script = place.script(&lines);
        let fixed = ["run", "-q", "--id", id, "--model", &script];
        place.bonded(&[&fixed[..], flags, &[goal]].concat());
    }
}

#[test]
fn the_list_of_runs_fits_the_terminal_and_the_goal_is_cut() {
    let place = Place::new();
    three_runs(&place);
    for (name, columns) in [("runs-80", 80), ("runs-140", 140), ("runs-40", 40)] {
        let mut terminal = at(&place, &["runs"], Size(columns, 20));
        terminal.wait_for_end();
        let screen = terminal.coloured();
        check(name, &without_dates(&screen));
    }
    let piped = place.bonded(&["runs"]).stdout;
    assert!(
        piped.contains("STATUS") && piped.contains("awaiting_review"),
        "{piped}"
    );
    assert!(!piped.contains('\u{1b}'));
}

/// A date of this day, in the form that the list has.
fn without_dates(screen: &str) -> String {
    let word = |word: &str| match word.len() == 10 && word.matches('-').count() == 2 {
        true => "YYYY-MM-DD".to_owned(),
        false if word.len() == 5 && word.as_bytes()[2] == b':' => "HH:MM".to_owned(),
        false => word.to_owned(),
    };
    let row = |row: &str| row.split(' ').map(word).collect::<Vec<_>>().join(" ");
    screen.lines().map(row).collect::<Vec<_>>().join("\n")
}

/// A time that stands before something else.
fn without_latencies(screen: &str) -> String {
    let row = |row: &str| match row.split_once(" ms ") {
        Some((before, after)) => {
            let before = before.trim_end_matches(|it: char| it.is_ascii_digit());
            format!("{} TIME {after}", before.trim_end())
        }
        None => row.to_owned(),
    };
    screen.lines().map(row).collect::<Vec<_>>().join("\n")
}

#[test]
fn show_looks_like_the_run_did() {
    let place = Place::new();
    let script = leap(&place);
    place
        .bonded(&[
            "run",
            "-q",
            "--id",
            "leap",
            "--model",
            &script,
            "The test fails.",
        ])
        .succeeds();
    let mut terminal = at(&place, &["show", "leap"], Size::USUAL);
    terminal.wait_for_end();
    check(
        "show",
        &without_dates(&without_latencies(&terminal.coloured())),
    );
    let piped = place.bonded(&["show", "leap"]).stdout;
    assert!(
        piped.contains("status   succeeded") && piped.contains("decided  list"),
        "{piped}"
    );
}

#[test]
fn what_is_longer_than_the_screen_goes_through_a_pager_and_one_that_quits_is_no_error() {
    let place = Place::new();
    let mut lines: Vec<Value> = (0..30)
        .map(|at| call("read", json!({ "path": format!("f{at}") })))
        .collect();
    lines.push(done("ok"));
    let script = place.script(&lines);
    place
        .bonded(&["run", "-q", "--id", "long", "--model", &script, "go"])
        .succeeds();
    for (pager, is_whole) in [("sed 's/^/> /'", true), ("head -n 2", false)] {
        let mut show = command(&place, &["show", "long"]);
        show.env("BONDED_PAGER", pager);
        let (code, screen) = Terminal::start(&show, Size(80, 20)).end();
        assert_eq!(code, Some(0), "{pager}: {screen}");
        assert_eq!(
            screen.contains("done · 31 turns"),
            is_whole,
            "{pager}: {screen}"
        );
    }
    let mut show = command(&place, &["show", "long"]);
    show.env("PAGER", "no-such-pager-anywhere");
    let (code, screen) = Terminal::start(&show, Size(80, 20)).end();
    assert_eq!(code, Some(0), "{screen}");
    assert!(screen.contains("done · 31 turns"), "{screen}");
}

#[test]
fn the_two_streams_never_share_a_line() {
    let place = Place::new();
    let script = place.script(&[call("list", json!({})), done("the answer")]);
    for _ in 0..5 {
        let (_, screen) = at(&place, &["run", "--model", &script, "go"], Size::USUAL).end();
        assert!(screen.lines().any(|line| line == "the answer"), "{screen}");
    }
}

#[test]
fn what_is_said_meanwhile_stands_below_the_call_before_it() {
    let place = Place::new();
    let script = place.script(&[call("list", json!({})), never()]);
    let mut terminal = at(&place, &["run", "--model", &script, "go"], Size::USUAL);
    terminal.wait_for("turn 2 of");
    let pid = terminal.pid();
    rustix::process::kill_process(pid, rustix::process::Signal::TERM).expect("it is there");
    terminal.wait_for_end();
    let screen = terminal.screen();
    let at = |text: &str| {
        screen
            .find(text)
            .unwrap_or_else(|| panic!("{text} in\n{screen}"))
    };
    assert!(at("✓ list .") < at("interrupted: "), "{screen}");
    assert_eq!(screen.matches("✓ list .").count(), 1, "{screen}");
    assert!(!screen.contains("turn 2 of"), "{screen}");
}
