//! Test counts, read from what real runners write.

use bonded_work_rules::{TestCounts, test_counts};
use proptest::prelude::*;

/// Runner, passed, failed, skipped, and what it wrote.
const OUTPUTS: [(&str, u64, u64, u64, &str); 24] = [
    ("cargo test", 4, 1, 1, "\
running 3 tests
test a ... ok
test b ... FAILED
test c ... ignored

failures:
    b

test result: FAILED. 1 passed; 1 failed; 1 ignored; 0 measured; 0 filtered out; finished in 0.00s

   Doc-tests demo

running 3 tests
...
test result: ok. 3 passed; 0 failed; 0 ignored; 0 measured; 12 filtered out; finished in 0.31s
"),
    ("cargo test, no test", 0, 0, 0, "\nrunning 0 tests\n\ntest result: ok. 0 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.00s\n"),
    ("nextest", 2, 1, 1, "\
    Starting 3 tests across 2 binaries (1 test skipped)
        PASS [   0.004s] demo a
        FAIL [   0.005s] demo b
  stdout ───

    running 1 test
    test b ... FAILED
    test result: FAILED. 0 passed; 1 failed; 0 ignored; 0 measured; 2 filtered out; finished in 0.00s

        PASS [   0.004s] demo c
────────────
     Summary [   0.012s] 3 tests run: 2 passed, 1 failed, 1 skipped
        FAIL [   0.005s] demo b
error: test run failed
"),
    ("nextest in colour", 5, 3, 0, "\u{1b}[32;1m     Summary\u{1b}[0m [   2.012s] \u{1b}[1m8\u{1b}[0m/\u{1b}[1m9\u{1b}[0m tests run: \u{1b}[1m5\u{1b}[0m \u{1b}[32;1mpassed\u{1b}[0m (\u{1b}[1m1\u{1b}[0m slow, 1 flaky), 1 failed, 1 exec failed, 1 timed out, 0 skipped\n"),
    ("pytest", 3, 3, 3, "\
============================= test session starts ==============================
collected 9 items

test_a.py ..F.sx                                                         [100%]

=========================== short test summary info ============================
FAILED test_a.py::test_c - assert 1 == 2
=== 1 failed, 2 passed, 1 skipped, 3 deselected, 2 xfailed, 1 xpassed, 4 warnings, 2 errors in 62.12s (0:01:02) ===
"),
    ("pytest -q", 3, 0, 0, "...                                                                      [100%]\n3 passed in 0.01s\n"),
    ("pytest, no test", 0, 0, 0, "============================ no tests ran in 0.01s =============================\n"),
    ("unittest", 4, 2, 1, "\
.F.E.s.
======================================================================
FAIL: test_b (demo.Demo)
----------------------------------------------------------------------
Ran 7 tests in 0.001s

FAILED (failures=1, errors=1, skipped=1)
"),
    ("unittest, well", 2, 0, 0, "..\n----------------------------------------------------------------------\nRan 2 tests in 0.000s\n\nOK\n"),
    ("go test -v", 3, 1, 1, "\
=== RUN   TestA
--- PASS: TestA (0.00s)
=== RUN   TestB
=== RUN   TestB/one
=== RUN   TestB/two
--- FAIL: TestB (0.00s)
    --- PASS: TestB/one (0.00s)
    --- PASS: TestB/two (0.00s)
=== RUN   TestC
    demo_test.go:9: not here
--- SKIP: TestC (0.00s)
FAIL
FAIL\texample.com/demo\t0.002s
"),
    ("go test -json", 1, 1, 1, r#"{"Time":"2026-01-01T00:00:00Z","Action":"start","Package":"example.com/demo"}
{"Time":"2026-01-01T00:00:00Z","Action":"run","Package":"example.com/demo","Test":"TestA"}
{"Time":"2026-01-01T00:00:00Z","Action":"output","Package":"example.com/demo","Test":"TestA","Output":"--- PASS: TestA (0.00s)\n"}
{"Time":"2026-01-01T00:00:00Z","Action":"pass","Package":"example.com/demo","Test":"TestA","Elapsed":0}
{"Time":"2026-01-01T00:00:00Z","Action":"fail","Package":"example.com/demo","Test":"TestB","Elapsed":0}
{"Time":"2026-01-01T00:00:00Z","Action":"skip","Package":"example.com/demo","Test":"TestC","Elapsed":0}
{"Time":"2026-01-01T00:00:00Z","Action":"fail","Package":"example.com/demo","Elapsed":0.002}
"#),
    ("jest", 3, 1, 3, "\
PASS  ./sum.test.js
FAIL  ./other.test.js
Test Suites: 1 failed, 1 passed, 2 total
Tests:       1 failed, 2 skipped, 1 todo, 3 passed, 7 total
Snapshots:   0 total
Time:        0.5 s, estimated 1 s
Ran all test suites.
"),
    ("jest, no test", 0, 0, 0, "Test Suites: 1 failed, 1 total\nTests:       0 total\nSnapshots:   0 total\n"),
    ("vitest", 3, 1, 2, "\
 ❯ sum.test.ts (6 tests | 1 failed | 2 skipped) 5ms
 Test Files  1 failed (1)
      Tests  1 failed | 3 passed | 2 skipped (6)
   Start at  10:00:00
   Duration  300ms
"),
    ("vitest, well", 3, 0, 0, " Test Files  1 passed (1)\n      Tests  3 passed (3)\n"),
    ("vitest, no test", 0, 0, 0, " Test Files  no tests\n      Tests  no tests\n"),
    ("node --test, TAP", 4, 2, 2, "\
TAP version 13
# Subtest: a
ok 1 - a
  ---
  duration_ms: 0.4
  ...
not ok 2 - b
1..2
# tests 8
# suites 0
# pass 4
# fail 1
# cancelled 1
# skipped 1
# todo 1
# duration_ms 44.3
"),
    ("node --test, spec", 2, 1, 0, "\
✔ a (0.4ms)
✖ b (0.3ms)
ℹ tests 3
ℹ suites 0
ℹ pass 2
ℹ fail 1
ℹ cancelled 0
ℹ skipped 0
ℹ todo 0
ℹ duration_ms 40.1
"),
    ("bats", 1, 1, 1, "1..3\nok 1 adds\nnot ok 2 subtracts\n# (in test file demo.bats, line 5)\nok 3 divides # skip not yet\n"),
    ("mocha", 3, 1, 2, "\n  Array\n    ✔ works\n    1) fails\n\n\n  3 passing (5ms)\n  2 pending\n  1 failing\n\n  1) Array\n       fails:\n"),
    ("JUnit", 2, 2, 1, r#"<?xml version="1.0" encoding="UTF-8"?>
<testsuites name="all" tests="5" failures="1" errors="1" skipped="1">
  <testsuite name="demo" tests="5">
    <properties><property name="a" value="b>c"/></properties>
    <!-- <testcase name="no test"/> -->
    <testcase name="a" classname="demo" time="0.1"/>
    <testcase name="says &lt;failure>">
      <system-out><![CDATA[<failure>not this</failure>]]></system-out>
    </testcase>
    <testcase name="b"><failure message="1 > 2">at line 3</failure></testcase>
    <testcase name="c"><error/></testcase>
    <testcase name='d'><skipped /></testcase>
  </testsuite>
</testsuites>
"#),
    ("JUnit, no test", 0, 0, 0, "<testsuites tests=\"0\"></testsuites>"),
    ("cargo and pytest", 3, 0, 0, "test result: ok. 1 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.00s\n2 passed in 0.01s\n"),
    ("a progress bar", 2, 0, 0, "running 1/2\rrunning 2/2\r2 passed in 0.01s\r\n"),
];

#[test]
fn the_output_of_each_runner_says_how_many_tests_ran() {
    for (runner, passed, failed, skipped, output) in OUTPUTS {
        let expected = TestCounts {
            passed,
            failed,
            skipped,
        };
        assert_eq!(test_counts(output), Some(expected), "{runner}");
        let on_windows = output.replace('\n', "\r\n");
        assert_eq!(
            test_counts(&on_windows),
            Some(expected),
            "{runner} with CRLF"
        );
    }
}

#[test]
fn what_is_no_summary_says_nothing() {
    let outputs = [
        "",
        "ok",
        "ok  \texample.com/demo\t0.002s",
        "?   \texample.com/demo\t[no test files]",
        "5 passed",
        "all 5 tests passed in my head",
        "10 files passed in 3 rounds",
        "Tests: see below",
        "3 passing thoughts",
        "test result: ok",
        "# passing by",
        "# pass many",
        "ok then",
        "<testcase name=\"alone\"/>",
        "if a <testsuit",
        "{\"Action\":\"pass\"}",
        "{\"Action\":\"pass\",\"Package\":\"p\"}",
        "Ran out of time in 5s",
        "99999999999999999999999 passed in 0.1s",
    ];
    for output in outputs {
        assert_eq!(test_counts(output), None, "{output}");
    }
}

#[test]
fn figures_beyond_all_bounds_are_added_without_harm() {
    let most = u64::MAX;
    let output = format!("{most} passed in 1s\n{most} passed, {most} failed in 1s\n");
    let counts = test_counts(&output).expect("two summaries");
    assert_eq!((counts.passed, counts.failed), (most, most));
    let output =
        format!("Ran 1 test in 0s\nFAILED (failures={most}, errors={most})\nOK (skipped={most})\n");
    assert!(test_counts(&output).is_some());
}

/// Pieces of summaries, in any order.
fn pieces() -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        "[ \n\r\t0-9a-z<>/\"'=#:;,.|()\\[\\]-]{0,8}",
        prop::sample::select(vec![
            "test result: ok. ",
            "passed",
            "Summary [",
            " run: ",
            " in 1s",
            "Ran ",
            "FAILED (",
            "--- PASS: ",
            "{\"Action\":\"",
            "Tests:",
            " total",
            "Tests  ",
            "# pass ",
            "ok 1 ",
            "passing",
            "<testsuite>",
            "<testcase ",
            "<![CDATA[",
            "]]>",
            "<!--",
            "\u{1b}[",
            "\u{1b}",
            "é",
            "\0",
            "failures=",
        ])
        .prop_map(str::to_owned),
    ];
    prop::collection::vec(piece, 0..60).prop_map(|pieces| pieces.concat())
}

proptest! {
    #[test]
    fn any_output_is_read_to_its_end(output in pieces(), anything in any::<String>()) {
        test_counts(&output);
        test_counts(&anything);
    }
}

/// Each would take minutes if a reader went back to where it began.
#[test]
fn a_megabyte_of_beginnings_is_read_as_soon_as_any_other() {
    for beginning in [
        "<",
        "<testcase ",
        "<a \"",
        "<![CDATA[",
        "<!--",
        "\u{1b}[",
        "test result: ",
        "{\"",
        "1 ",
        "= in ",
        "ok 1 # ",
    ] {
        let output = beginning.repeat((1 << 20) / beginning.len());
        test_counts(&output);
        test_counts(&format!("<testsuite>{output}"));
    }
}
