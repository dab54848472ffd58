"""The checks find what they are for."""

import json
import unittest

import loop_checks


def entry(kind, **data):
    return {"kind": kind, "data": data}


def call(tool, **arguments):
    return {"tool": tool, "arguments": json.dumps(arguments)}


LOG = [
    entry("run_started", config={"looping": {"memory": '{"old": 1, "state": "idle"}'}}),
    entry("decision_made", calls=[
        call("ram_add", key="colour", value="blue"),
        call("ram_add", key="steps", value='["a", "b"]'),
        call("ram_delete", key="old"),
        call("state_add", state="executing"),
        call("ram_add", key="refused", value="x"),
    ]),
    *[entry("tool_finished", call=number) for number in range(4)],
    entry("tool_finished", call=4, outcome="failed"),
    entry("decision_made", calls=[call("state_add", state="record_organizing"), call("state_delete", state="executing")]),
    entry("tool_finished", call=0),
    entry("tool_finished", call=1),
    entry("memory_edited", set={"by_hand": True}, removed=["steps"]),
    entry("run_ended"),
]
WRITTEN = {"colour": "blue", "by_hand": True, "state": "record_organizing,paging"}
AUDIT = {"prompt_hash": "a" * 64, "error_code": None, "loop_count": 2, "started_at": "then", "completed_at": "now"}
RUN = {"status": "succeeded", "error_code": None, "audit": AUDIT}


class Checks(unittest.TestCase):
    def test_a_run_that_kept_everything_has_no_findings(self):
        self.assertEqual(loop_checks.of_run(RUN, LOG, 4), [])
        self.assertEqual(loop_checks.of_memory(LOG, WRITTEN), [])

    def test_whatever_does_not_hold_of_a_run_is_found(self):
        failed = {"status": "failed", "error_code": "XML_PARSE_ERROR", "audit": {**AUDIT, "error_code": "XML_PARSE_ERROR"}}
        self.assertEqual(loop_checks.of_run(failed, LOG, 4), [])
        rows = [
            ({**RUN, "status": "running"}, LOG, "the run is running"),
            ({**failed, "error_code": None, "audit": AUDIT}, LOG, "failed with the code None"),
            ({**failed, "audit": AUDIT}, LOG, "the audit has the code None"),
            (RUN, LOG[:-1], "the log ends with"),
            (RUN, LOG + LOG[-1:], "the log ends with"),
            ({**RUN, "audit": {**AUDIT, "prompt_hash": ""}}, LOG, "the audit is"),
            ({**RUN, "audit": {**AUDIT, "loop_count": 5}}, LOG, "5 loops of 4"),
            ({**RUN, "audit": {**AUDIT, "completed_at": None}}, LOG, "no times"),
        ]
        for run, log, expected in rows:
            found = loop_checks.of_run(run, log, 4)
            self.assertEqual(len(found), 1, (expected, found))
            self.assertIn(expected, found[0])

    def test_a_memory_that_does_not_follow_from_the_log_is_found(self):
        for key, value in [("colour", "red"), ("old", 1), ("state", "idle"), ("refused", "x")]:
            found = loop_checks.of_memory(LOG, {**WRITTEN, key: value})
            self.assertEqual(len(found), 1, found)
            self.assertIn(f"memory {key}", found[0])


if __name__ == "__main__":
    unittest.main()
