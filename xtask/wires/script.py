"""What the model of the strict server says: thoughts, text and calls over several turns, then the report. It is the same
every time, so that what was given can be told from what came back without keeping anything.
"""

import hashlib
import json
import re

from families import is_of

# The turns before the report. The second has a thought between text and calls, and two calls; the third has no thought.
TURNS = [
    ["thought", "call"],
    ["thought", "text", "thought", "call", "call"],
    ["text", "call"],
]
MARK = re.compile(r"t(\d)c\d")
REPORT = "agent__final_report"
# What ends a run, with an agent and without one.
ENDS = {REPORT: {"report_format": "pipe", "report_content": "done"}, "done": {"reason": "done"}}
# What a tool of the program calls the text that the tools of the tests take.
WORDS = {"read": "path"}
# A model that is told so calls nothing, though its service may want tools to be named.
WITHDRAWN = "no longer available"
NONCE = re.compile(r"ai-agent-([0-9a-f]{8})-")


def turn_in(said):
    """The turn that calls belong to; `None` where it is none of these."""
    found = MARK.findall(json.dumps(said))
    return int(found[-1]) if found else None


def has_thought(turn):
    return "thought" in TURNS[turn]


def thought(turn, at):
    return f"I think {turn}.{at}."


def thought_in_text(turn):
    return "".join(thought(turn, at) for at, kind in enumerate(TURNS[turn]) if kind == "thought")


def text(turn, at):
    return f"I say {turn}.{at}."


def is_own_text(content):
    """Whether a message says what the script says."""
    return re.search(r"I say \d\.\d\.", json.dumps(content)) is not None


def arguments(tool, turn, at):
    return {WORDS.get(tool, "text"): f"t{turn}c{at}"}


def tool_names(body):
    names = []
    for tool in body.get("tools") or []:
        for it in tool.get("functionDeclarations") or [tool.get("function") or tool]:
            names.append(it["name"])
    return names


def offered(body):
    """The tool that is called before the end."""
    return next((name for name in tool_names(body) if name not in ENDS and not name.startswith("agent__")), None)


def plan(body):
    """What is said to a request: items of a kind, with what they hold."""
    said = body.get("messages") or body.get("contents") or body.get("input")
    before = turn_in(said)
    turn = 0 if before is None else before + 1
    tools = tool_names(body)
    tool = offered(body)
    if WITHDRAWN in json.dumps(said[-1]):
        tool = None
    if tool and turn < len(TURNS):
        hold = {"thought": thought, "text": text, "call": lambda *place: (tool, arguments(tool, *place))}
        return turn, [(kind, hold[kind](turn, at)) for at, kind in enumerate(TURNS[turn])]
    for end in ENDS.items():
        if end[0] in tools:
            return turn, [("call", end)]
    nonce = NONCE.search(json.dumps(body))
    slot = f"ai-agent-{nonce.group(1) if nonce else 'none'}-FINAL"
    return turn, [("text", f'<{slot} tool="{REPORT}" format="pipe">done</{slot}>')]


def thinks(dialect, service, model, body):
    """Whether a model thinks, and lets it be seen."""
    if dialect == "messages":
        asked = (body.get("thinking") or {}).get("type")
        by_itself = is_of(model, ["claude-always-thinking", "claude-5-opus"])
        return asked in ("enabled", "adaptive") or (asked is None and by_itself)
    if dialect == "gemini":
        config = (body.get("generationConfig") or {}).get("thinkingConfig") or {}
        return config.get("thinkingBudget") != 0
    if dialect == "responses":
        effort = (body.get("reasoning") or {}).get("effort")
        by_itself = not is_of(model, ["openai-plain", "gpt-5-1", "gpt-5-2-to-4"])
        return effort != "none" and (by_itself or effort is not None)
    if service == "deepseek":
        asked = (body.get("thinking") or {}).get("type")
        return is_of(model, ["deepseek-thinking"]) and asked != "disabled"
    if service == "openrouter":
        asked = body.get("reasoning") or {}
        is_on = asked.get("enabled") is not False and asked.get("effort") != "none"
        # These sign their calls, whatever they were told.
        return is_on or is_of(model, ["gemini-3"])
    return service in ("vllm", "llamacpp", "lmstudio", "xai", "groq", "ollama")


def shows_thoughts(body):
    """Newer models keep their thoughts to themselves unless they are asked for them."""
    asked = body.get("thinking") or {}
    is_newer = is_of(body.get("model", ""), ["claude-since-4-7"])
    return asked.get("display") == "summarized" or (not is_newer and asked.get("display") != "omitted")


def without_marks(said):
    """The same without what only says what to keep in a cache."""
    if isinstance(said, dict):
        return {name: without_marks(it) for name, it in said.items() if name != "cache_control"}
    return [without_marks(it) for it in said] if isinstance(said, list) else said


def before(body, at):
    """What stands before a message, as a few letters."""
    prefix = [body.get("system"), body.get("tools"), body["messages"][:at]]
    return hashlib.sha256(json.dumps(without_marks(prefix)).encode()).hexdigest()[:12]


def messages_blocks(turn, body, at_message=None):
    """The blocks of a turn, thoughts and all. A signature ends with what stood before the message."""
    bound = before(body, len(body["messages"]) if at_message is None else at_message)
    tool = offered(body) or "none"
    blocks = []
    for at, kind in enumerate(TURNS[turn]):
        if kind == "thought":
            said = thought(turn, at) if shows_thoughts(body) else ""
            blocks.append({"type": "thinking", "thinking": said, "signature": f"c2ln{turn}{at}==.{bound}"})
        elif kind == "text":
            blocks.append({"type": "text", "text": text(turn, at)})
        else:
            id = f"toolu_{turn}_{at}"
            blocks.append({"type": "tool_use", "id": id, "name": tool, "input": arguments(tool, turn, at)})
    return blocks


def kinds_of_items(turn):
    """The kinds of the items of a turn in responses."""
    kinds = {"thought": "reasoning", "text": "message", "call": "function_call"}
    return [kinds[kind] for kind in TURNS[turn]]
