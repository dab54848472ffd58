"""The orders that services demand of a conversation. Each looks at the body of a request, and says where it is broken: a
place or a name, or nothing where it holds. Which service demands which is said in `refusals.toml`.
"""

import re

import script

ORDERS = {}


def order(check):
    ORDERS[check.__name__] = check
    return check


def blocks_of(message):
    """The blocks of a message; a text alone is one."""
    content = message.get("content")
    if isinstance(content, str):
        return [{"type": "text", "text": content}]
    return content or []


def calls_of(message):
    return message.get("tool_calls") or []


def roles(body):
    return [message["role"] for message in body["messages"]]


# Chat completions.


@order
def calls_are_answered(body):
    waiting = []
    for message in body["messages"]:
        if message["role"] == "tool":
            if message["tool_call_id"] not in waiting:
                return message["tool_call_id"]
            waiting.remove(message["tool_call_id"])
            continue
        if waiting:
            return waiting[0]
        waiting = [call["id"] for call in calls_of(message)]
    return waiting[0] if waiting else None


@order
def no_user_after_tool(body):
    pairs = zip(roles(body), roles(body)[1:])
    return next(("messages" for before, after in pairs if (before, after) == ("tool", "user")), None)


def ids_of(body):
    """The ids of calls and of their answers."""
    for message in body["messages"]:
        yield from (call["id"] for call in calls_of(message))
        if message["role"] == "tool":
            yield message["tool_call_id"]


@order
def ids_have_nine_letters(body):
    return next((id for id in ids_of(body) if not re.fullmatch("[a-zA-Z0-9]{9}", id)), None)


@order
def ids_are_short(body):
    return next((id for id in ids_of(body) if len(id) > 40), None)


@order
def a_question_ends(body):
    return "messages" if roles(body)[-1] not in ("user", "tool", "system") else None


@order
def roles_alternate(body):
    """As templates count: what is called and what tools say does not count."""
    spoken = [m["role"] for m in body["messages"] if m["role"] != "tool" and not calls_of(m)]
    if spoken and spoken[0] in ("system", "developer"):
        spoken = spoken[1:]
    expected = ["user" if at % 2 == 0 else "assistant" for at in range(len(spoken))]
    return None if spoken == expected else "messages"


@order
def results_have_tools(body):
    has_calls = any(message["role"] == "tool" or calls_of(message) for message in body["messages"])
    return "tools" if has_calls and not body.get("tools") else None


@order
def thoughts_come_back(body):
    """Every message that called tools has the thought that came before its calls."""
    if (body.get("thinking") or {}).get("type") == "disabled":
        return None
    for at, message in enumerate(body["messages"]):
        said = script.turn_in(calls_of(message))
        if said is not None and script.thought_in_text(said) != (message.get("reasoning_content") or ""):
            return f"messages[{at}]"
    return None


@order
def details_come_back(body):
    for at, message in enumerate(body["messages"]):
        said = script.turn_in(calls_of(message))
        if said is not None and script.has_thought(said) and not message.get("reasoning_details"):
            return f"messages[{at}]"
    return None


# Responses.


@order
def items_are_answered(body):
    items = [item for item in body["input"] if isinstance(item, dict)]
    called = [item["call_id"] for item in items if item.get("type") == "function_call"]
    answered = [item["call_id"] for item in items if item.get("type") == "function_call_output"]
    return next((id for id in called + answered if called.count(id) != 1 or answered.count(id) != 1), None)


@order
def item_ids_are_short(body):
    items = enumerate(item for item in body["input"] if isinstance(item, dict))
    return next((f"input[{at}].call_id" for at, item in items if len(item.get("call_id", "")) > 64), None)


def own_items(body):
    """What the model said, item by item; what others said is `None`."""
    for item in body["input"]:
        is_own = item.get("type") in ("reasoning", "function_call") or item.get("role") == "assistant"
        yield item if is_own else None


@order
def thought_items_are_followed(body):
    items = [*own_items(body), None]
    for item, after in zip(items, items[1:]):
        if item and item.get("type") == "reasoning" and (after is None or after.get("type") == "reasoning"):
            return item.get("id")
    return None


@order
def thought_items_are_as_given(body):
    """A thought is followed by the very kind of item that it was given before."""
    items = [*own_items(body), None]
    for item, after in zip(items, items[1:]):
        if not item or item.get("type") != "reasoning" or after is None:
            continue
        turn, at = (int(part) for part in item["id"].split("_")[1:])
        given = script.kinds_of_items(turn)
        kind = "message" if after.get("role") == "assistant" else after["type"]
        if at + 1 >= len(given) or given[at + 1] != kind:
            return item["id"]
    return None


@order
def phases_are_kept(body):
    """Each message of the script has the phase that it came with; what others said never had one."""
    said = [item for item in body["input"] if item.get("role") == "assistant" and script.is_own_text(item["content"])]
    return next((f"input[{body['input'].index(item)}]" for item in said if not item.get("phase")), None)


# Messages.


@order
def a_user_begins(body):
    return "messages[0]" if roles(body)[0] != "user" else None


@order
def a_user_ends(body):
    return "messages" if roles(body)[-1] != "user" else None


@order
def results_follow_their_calls(body):
    messages = body["messages"] + [{"role": "user", "content": []}]
    for at, (message, after) in enumerate(zip(messages, messages[1:])):
        called = {block["id"] for block in blocks_of(message) if block["type"] == "tool_use"}
        blocks = blocks_of(after)
        answered = [block["tool_use_id"] for block in blocks if block["type"] == "tool_result"]
        # Results come first in their message.
        is_first = all(block["type"] == "tool_result" for block in blocks[: len(answered)])
        if called != set(answered) or len(answered) != len(called) or not is_first:
            return f"messages.{at}"
    return None


@order
def ids_are_plain(body):
    for at, message in enumerate(body["messages"]):
        for place, block in enumerate(blocks_of(message)):
            field = {"tool_use": "id", "tool_result": "tool_use_id"}.get(block["type"])
            if field and not re.fullmatch("[a-zA-Z0-9_-]+", block[field]):
                return f"messages.{at}.content.{place}.{block['type']}.{field}"
    return None


@order
def texts_say_something(body):
    system = body.get("system") or []
    blocks = system if isinstance(system, list) else []
    blocks = blocks + [block for message in body["messages"] for block in blocks_of(message)]
    return next(("text" for block in blocks if block["type"] == "text" and not block["text"].strip()), None)


@order
def no_space_at_the_end(body):
    last = body["messages"][-1]
    blocks = blocks_of(last)
    if last["role"] != "assistant" or not blocks or blocks[-1]["type"] != "text":
        return None
    return "messages" if blocks[-1]["text"] != blocks[-1]["text"].rstrip() else None


THOUGHTS = ("thinking", "redacted_thinking")


@order
def thoughts_are_as_given(body):
    """In the latest message of the model every thought stands where it stood, and says what it said."""
    own = [(at, message) for at, message in enumerate(body["messages"]) if message["role"] == "assistant"]
    if not own:
        return None
    at, latest = own[-1]
    blocks = blocks_of(latest)
    turn = script.turn_in(blocks)
    if turn is None or not any(block["type"] in THOUGHTS for block in blocks):
        return None
    given = script.messages_blocks(turn, body)
    for place, block in enumerate(given):
        is_thought = block["type"] in THOUGHTS
        if is_thought and (place >= len(blocks) or not is_given(blocks[place], block, script.thought(turn, place))):
            return f"messages.{at}.content.{place}"
    return None if len(blocks) == len(given) else f"messages.{at}.content"


def is_given(block, given, thought):
    """Whether a thought is the one that was given, whether or not its words were shown then."""
    bare = lambda it: (it.get("type"), str(it.get("signature")).split(".")[0])
    return bare(block) == bare(given) and block.get("thinking") in ("", thought)


@order
def thoughts_are_bound(body):
    """What stands before a thought is what stood there when it was thought, unless such thoughts may be dropped."""
    binding = (body.get("thinking") or {}).get("block_binding") or {}
    if binding.get("prefix_mismatch_behavior") == "drop_block":
        return None
    for at, message in enumerate(body["messages"]):
        stood = script.before(body, at)
        for place, block in enumerate(blocks_of(message)):
            if block["type"] == "thinking" and block["signature"].split(".")[1:] not in ([], [stood]):
                return f"messages.{at}.content.{place}"
    return None


@order
def a_thought_begins(body):
    """With a budget to think, what the model said first since it was asked begins with a thought, if tools were called."""
    if (body.get("thinking") or {}).get("type") != "enabled":
        return None
    first = None
    for at in range(len(body["messages"]) - 1, -1, -1):
        message = body["messages"][at]
        blocks = blocks_of(message)
        if message["role"] == "assistant" and any(block["type"] == "tool_use" for block in blocks):
            first = at
        elif message["role"] == "assistant" or not any(block["type"] == "tool_result" for block in blocks):
            break
    if first is None or blocks_of(body["messages"][first])[0]["type"] in THOUGHTS:
        return None
    return f"messages.{first}.content.0.type"


# Gemini.


def parts_with(content, field):
    return [part[field] for part in content.get("parts") or [] if field in part]


@order
def calls_are_signed(body):
    """The first call of each reply carries the signature that it came with."""
    for content in body["contents"]:
        calls = [part for part in content.get("parts") or [] if "functionCall" in part]
        if calls and not calls[0].get("thoughtSignature"):
            return calls[0]["functionCall"]["name"]
    return None


@order
def responses_match_calls(body):
    contents = body["contents"] + [{}]
    for content, after in zip(contents, contents[1:]):
        called = [call["name"] for call in parts_with(content, "functionCall")]
        answered = [answer["name"] for answer in parts_with(after, "functionResponse")]
        if sorted(called) != sorted(answered):
            return ", ".join(called)
    return None


@order
def parts_are_there(body):
    for at, content in enumerate(body["contents"]):
        parts = content.get("parts") or []
        if not parts or any(part == {} or part.get("text") == "" for part in parts):
            return f"contents[{at}].parts"
    return None


@order
def function_names_are_good(body):
    names = (it["name"] for tool in body.get("tools") or [] for it in tool.get("functionDeclarations") or [])
    return next((name for name in names if not re.fullmatch(r"[A-Za-z_][A-Za-z0-9_.:-]{0,63}", name)), None)
