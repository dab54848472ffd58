"""Has the workspace's agent work with a real model, through the real server, and tells what does not hold.

usage: loops.py PROGRAM SCRATCH BASE_URL MODEL RUNS
Each line of SCRATCH/findings.txt is something that must hold and did not. How often the model did what it was asked is
printed, and is no finding: small models often do not.
"""

import json
import pathlib
import subprocess
import sys
import threading
import time
import urllib.error
import urllib.request

import loop_checks

LOOPS_MAX = 4
NOTES_MAX = 2
OUTPUT_TOKENS_MAX = 256
# A model on a busy machine is slow.
TIMEOUT_MS = 600_000
PATIENCE_S = 3600
START_PATIENCE_S = 60

SENTENCE = "The tide is out."
SPELLED_OUT = (
    "Reply with exactly these four lines and nothing else:\n"
    "<ram_add><key>colour</key><value>blue</value></ram_add>\n"
    f"<record_add><keywords>harbour</keywords><value>{SENTENCE}</value></record_add>\n"
    "<state_delete><state>planning</state></state_delete>\n"
    "<state_add><state>idle</state></state_add>"
)
IN_WORDS = (
    "Do all of this in one reply: set the memory key colour to blue; make one note with the keyword harbour whose whole "
    f"text is: {SENTENCE} Then leave the state planning and become idle."
)
REQUESTS = {"spelled out": SPELLED_OUT, "in words": IN_WORDS}


class Site:
    """A running server, and what was there before any run."""

    def __init__(self, program, scratch, base_url, model):
        self.program, self.scratch, self.data = program, scratch, scratch / "data"
        self.bonded("init", str(self.data))
        config = {
            "automation": {
                "default_provider_kind": "lmstudio", "base_url": base_url, "model": model,
                "timeout_ms": TIMEOUT_MS, "max_tokens": OUTPUT_TOKENS_MAX, "temperature": 0.1,
            },
            "agent": {"mode": "yolo", "loop_delay_ms": 1, "idle_delay_ms": 1, "max_iterations": LOOPS_MAX},
        }
        (self.data / "config.json").write_text(json.dumps(config))
        self.told, self.address = [], None
        self.start()
        self.token = (self.data / "owner-token").read_text().strip()
        self.workspace = self.get("/api/workspaces")["workspaces"][0]["workspace_id"]
        self.other = self.post("/api/workspaces", {"name": "Other"})["workspace_id"]
        self.note(self.other, "Elsewhere", "note")
        self.note(self.workspace, "Keepsake", "keepsake")
        self.untouched = self.what_must_stay()

    def command(self, *words):
        return [str(self.program), *words]

    def env(self):
        return {"HOME": str(self.scratch), "PATH": "/usr/bin:/bin"}

    def bonded(self, *words):
        return subprocess.run(
            self.command(*words), cwd=self.scratch, env=self.env(), capture_output=True, text=True, check=False
        )

    def start(self):
        words = self.command("serve", "--data", str(self.data), "--listen", "127.0.0.1:0")
        self.process = subprocess.Popen(words, cwd=self.scratch, env=self.env(), stderr=subprocess.PIPE, text=True)
        listening = threading.Event()

        def hear():
            for line in self.process.stderr:
                self.told.append(line.rstrip())
                if line.startswith("listening on http://"):
                    self.address = line.split("http://")[1].strip()
                    listening.set()

        threading.Thread(target=hear, daemon=True).start()
        if not listening.wait(START_PATIENCE_S):
            raise SystemExit(f"the server did not start: {self.told}")

    def ask(self, method, path, body=None):
        request = urllib.request.Request(f"http://{self.address}{path}", method=method)
        request.add_header("Authorization", f"Bearer {self.token}")
        if body is not None:
            request.data = json.dumps(body).encode()
            request.add_header("Content-Type", "application/json")
            request.add_header("Idempotency-Key", str(time.monotonic_ns()))
        with urllib.request.urlopen(request, timeout=60) as answer:
            return json.load(answer)

    def get(self, path):
        return self.ask("GET", path)

    def post(self, path, body):
        return self.ask("POST", path, body)

    def note(self, workspace, title, kind):
        self.post("/api/notes", {"workspace_id": workspace, "title": title, "markdown": "stays", "note_kind": kind})

    def notes(self, workspace):
        return self.get(f"/api/notes?workspace_id={workspace}&limit=200")["notes"]

    def what_must_stay(self):
        """The other workspace, the note of a kind that is out of scope, and every file but the server's own."""
        keepsakes = [note for note in self.notes(self.workspace) if note["note_kind"] == "keepsake"]
        return [self.notes(self.other), keepsakes, sorted(path.name for path in self.scratch.iterdir())]

    def stop(self):
        self.process.terminate()
        return self.process.wait(60)


def order(site, number, request):
    """Starts a run with a memory of its own."""
    action = {
        "kind": "kjxlkj_agent", "mode": "yolo", "request": request,
        "memory": {"kv_store_path": f"memory-{number}.json"},
        "scope": {"allowed_note_kinds": ["note"], "max_notes_per_loop": NOTES_MAX, "max_edits_per_loop": NOTES_MAX},
    }
    rule = {"workspace_id": site.workspace, "trigger": "manual", "condition_json": {}, "action_json": action}
    rule_id = site.post("/api/automation/rules", rule)["rule_id"]
    return site.post(f"/api/automation/rules/{rule_id}/launch", {})["run_id"]


def ended(site, run_id):
    begun = time.monotonic()
    while True:
        run = site.get(f"/api/automation/runs/{run_id}")
        if run["status"] not in ("queued", "running") or time.monotonic() - begun > PATIENCE_S:
            return run
        time.sleep(1)


def check(site, number, run):
    """What does not hold, and whether the model did what it was asked."""
    store = ("--store", str(site.data / "bonded.db"))
    shown = site.bonded(*store, "show", "--json", run["run_id"])
    log = [json.loads(line) for line in shown.stdout.splitlines()]
    findings = loop_checks.of_run(run, log, LOOPS_MAX)
    for words, expected in [("verify", "log intact"), ("replay", "replay matches")]:
        said = site.bonded(*store, words, run["run_id"])
        if expected not in said.stdout:
            findings.append(f"{words}: {said.stdout}{said.stderr}")
    file = site.data / "memory" / site.workspace / f"memory-{number}.json"
    memory = json.loads(file.read_text()) if file.exists() else {}
    findings += loop_checks.of_memory(log, memory)
    if site.what_must_stay() != site.untouched:
        findings.append("something outside the scope was changed")
    notes = [site.get(f"/api/notes/{note['note_id']}") for note in site.notes(site.workspace)]
    made = [note for note in notes if note["metadata"].get("agent_run_id") == run["run_id"]]
    loops = (run.get("audit") or {}).get("loop_count", 0)
    if len(made) > NOTES_MAX * loops:
        findings.append(f"{len(made)} notes in {loops} loops")
    texts = [note["markdown"].strip() for note in made]
    did_it = run["status"] == "succeeded" and memory.get("colour") == "blue" and texts == [SENTENCE]
    return findings, did_it


def provider_findings(site):
    begun = time.monotonic()
    while time.monotonic() - begun < START_PATIENCE_S:
        with urllib.request.urlopen(f"http://{site.address}/readyz", timeout=60) as answer:
            provider = json.load(answer)["provider"]
        if provider["status"] == "ok":
            return []
        time.sleep(1)
    return [f"readyz says of a model that is served: {provider}"]


def main():
    program, scratch, base_url, model, runs = sys.argv[1:]
    scratch = pathlib.Path(scratch).resolve()
    scratch.mkdir(parents=True)
    site = Site(pathlib.Path(program).resolve(), scratch, base_url, model)
    try:
        findings, done = drive(site, int(runs))
    finally:
        code = site.stop()
    if code != 0:
        findings.append(f"the server ended with {code}: {site.told[-3:]}")
    for name, count in done.items():
        print(f"{count} runs did exactly what they were asked {name}, of {runs}")
    (scratch / "findings.txt").write_text("".join(f"{what}\n" for what in findings))


def drive(site, runs):
    findings, done = provider_findings(site), dict.fromkeys(REQUESTS, 0)
    orders = [(name, request) for name, request in REQUESTS.items() for _ in range(runs)]
    for number, (name, request) in enumerate(orders):
        begun = time.monotonic()
        run = ended(site, order(site, number, request))
        found, did_it = check(site, number, run)
        loops = (run.get("audit") or {}).get("loop_count")
        ending = run["error_code"] or run["status"]
        took = f"{time.monotonic() - begun:.0f} s"
        print(f"loop-{number}, {name}: {ending}, {loops} loops, {took}, {len(found)} findings", flush=True)
        findings += [f"loop-{number}: {what}" for what in found]
        done[name] += did_it
    return findings, done


main()
