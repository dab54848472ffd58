"""What must hold of a run of the workspace's agent, whatever its model said."""

import json

CODES = {
    "XML_PARSE_ERROR", "LLM_TIMEOUT", "RATE_LIMITED", "LLM_UNAVAILABLE", "SCOPE_VIOLATION", "CROSS_WORKSPACE_REJECTED",
    "CONTEXT_OVERFLOW", "AGENT_MEMORY_STORE_ERROR", "TURNS_EXHAUSTED", "NO_PROGRESS", "BUDGET_EXHAUSTED", "TIMED_OUT",
}
EXCLUSIVE = {"planning", "executing", "evaluating", "idle"}
# What the run itself keeps while it is there.
OWN_KEYS = ("user_request", "run_id")


def no_number(word):
    raise ValueError(word)


def value_of(text):
    """A value that is JSON is kept as JSON, but for a number that would be written otherwise."""
    try:
        value = json.loads(text, parse_constant=no_number)
    except ValueError:
        return text
    is_number = isinstance(value, (int, float)) and not isinstance(value, bool)
    return text if is_number and json.dumps(value) != text.strip() else value


def states_of(memory):
    """The states but for paging, which follows from the size of the memory alone."""
    labels = str(memory.get("state", "")).split(",")
    return [label for label in labels if label and label != "paging"]


def keep_states(memory, labels):
    memory.pop("state", None)
    if labels:
        memory["state"] = ",".join(labels)


def add_state(memory, label):
    labels = states_of(memory)
    if label in EXCLUSIVE:
        labels = [other for other in labels if other not in EXCLUSIVE]
    keep_states(memory, labels + [label] * (label not in labels and label != "paging"))


def carry_out(memory, tool, arguments):
    if tool == "state_add":
        add_state(memory, arguments["state"].strip())
    elif tool == "state_delete":
        gone = arguments["state"].strip()
        keep_states(memory, [label for label in states_of(memory) if label != gone])
    elif tool == "ram_add" and arguments["key"] == "state":
        keep_states(memory, [])
        for label in arguments["value"].strip().strip('"').split(","):
            if label.strip():
                add_state(memory, label.strip())
    elif tool == "ram_add":
        memory[arguments["key"]] = value_of(arguments["value"])
    elif tool == "ram_delete":
        memory.pop(arguments["key"], None)


def fold(log):
    """The memory that follows from the entries of a log."""
    memory, calls = {}, []
    for entry in log:
        kind, data = entry["kind"], entry["data"]
        if kind == "run_started":
            memory = json.loads(data["config"]["looping"]["memory"])
            if "idle" in states_of(memory):
                add_state(memory, "planning")
        elif kind == "decision_made":
            calls = data.get("calls", [])
        elif kind == "tool_finished" and data.get("outcome", "ok") == "ok":
            call = calls[data.get("call", 0)]
            carry_out(memory, call["tool"], json.loads(call["arguments"] or "{}"))
        elif kind == "memory_edited":
            memory.update(data.get("set", {}))
            for key in data.get("removed", []):
                memory.pop(key, None)
    return without_own(memory)


def without_own(memory):
    memory = {key: value for key, value in memory.items() if key not in OWN_KEYS}
    keep_states(memory, states_of(memory))
    return memory


def of_run(run, log, loops_max):
    """Everything that does not hold of a run and its log."""
    kinds = [entry["kind"] for entry in log]
    audit = run.get("audit") or {}
    code = run.get("error_code")
    rows = [
        (run["status"] in ("succeeded", "failed"), f"the run is {run['status']}"),
        (run["status"] != "failed" or code in CODES, f"it failed with the code {code}"),
        (run["status"] != "succeeded" or code is None, f"it succeeded with the code {code}"),
        (kinds.count("run_ended") == 1 and kinds[-1:] == ["run_ended"], f"the log ends with {kinds[-2:]}"),
        (len(audit.get("prompt_hash", "")) == 64, f"the audit is {audit}"),
        (audit.get("error_code") == code, f"the audit has the code {audit.get('error_code')}, the run {code}"),
        (audit.get("loop_count", loops_max + 1) <= loops_max, f"{audit.get('loop_count')} loops of {loops_max}"),
        (bool(audit.get("started_at")) and bool(audit.get("completed_at")), f"the audit has no times: {audit}"),
    ]
    return [what for holds, what in rows if not holds]


def of_memory(log, written):
    """What differs between the memory that was written and the one that follows from the log."""
    expected, found = fold(log), without_own(written)
    keys = sorted(expected.keys() | found.keys())
    wrong = [key for key in keys if expected.get(key) != found.get(key)]
    return [f"memory {key}: {found.get(key)!r} instead of {expected.get(key)!r}" for key in wrong]
