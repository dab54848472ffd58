"""The judge itself: every rule of its table refuses what it should, and a client that does everything right is refused
nothing, in any dialect, at the strictest models.
"""

import copy
import json
import unittest

import judge
import orders
import replies
from families import is_of, patterns

# A model of every family, and servers of one's own.
MODELS = [
    "gpt-4o", "o3", "gpt-5-mini", "gpt-5-pro", "gpt-5-codex", "gpt-5.1", "gpt-5.4", "gpt-5.5", "gpt-5.6-sol", "gpt-6-astra",
    "claude-3-5-haiku-20241022", "claude-sonnet-4-20250514", "claude-opus-4-1-20250805", "claude-opus-4-5", "claude-sonnet-4-5",
    "claude-opus-4-6", "claude-opus-4-7", "claude-opus-5", "claude-fable-5", "gemini-2.5-pro", "gemini-2.5-flash",
    "gemini-3-pro-preview", "gemini-3.7-flash", "deepseek-v4-pro", "kimi-k2.6", "kimi-k2.7-code", "grok-4", "grok-4.3", "grok-4.5", "grok-4.6", "gpt-oss-120b",
    "qwen3-32b", "llama3.2", "mistral-large-latest", "mistral-small-latest", "strict-template", "openai/gpt-5", "some-model",
]
DIALECTS = {"anthropic": "messages", "google": "gemini"}
EFFORTS = ["minimal", "none", "xhigh", "max", "medium", "low", "high"]
PLAIN = {
    "chat": {"messages": [{"role": "user", "content": "Go."}]},
    "responses": {"input": [{"role": "user", "content": "Go."}]},
    "messages": {"messages": [{"role": "user", "content": "Go."}], "max_tokens": 4096},
    "gemini": {"contents": [{"role": "user", "parts": [{"text": "Go."}]}]},
}
SCHEMA = {"type": "object", "properties": {"text": {"type": "string"}}}
TOOLS = {
    "chat": [{"type": "function", "function": {"name": "echo", "parameters": SCHEMA}}],
    "responses": [{"type": "function", "name": "echo", "parameters": SCHEMA, "strict": False}],
    "messages": [{"name": "echo", "input_schema": SCHEMA}],
    "gemini": [{"functionDeclarations": [{"name": "echo", "parametersJsonSchema": SCHEMA}]}],
}


def request(dialect, model):
    body = copy.deepcopy(PLAIN[dialect])
    return body if dialect == "gemini" else body | {"model": model}


def put(body, field, value):
    *path, last = field.split(".")
    for name in path:
        body = body.setdefault(name, {})
    body[last] = value


def satisfying(condition):
    """A value for which a condition holds; `None` where that is to leave it out."""
    if "is" in condition:
        return condition["is"]
    if "among" in condition:
        return condition["among"][0]
    if "not_among" in condition:
        return next(word for word in EFFORTS if word not in condition["not_among"])
    if "above" in condition:
        return condition["above"] + 1
    if "below" in condition:
        return condition["below"] / 2
    if "not_below" in condition:
        return 1_000_000
    if not condition.get("present"):
        return None
    values = {"tools": TOOLS["chat"], "store": False, "top_k": 5}
    return values.get(condition["field"], "low" if "effort" in condition["field"] else 0.5)


class Rules(unittest.TestCase):
    def test_every_rule_refuses_what_it_names_and_not_a_plain_request(self):
        for rule in judge.rules():
            if "order" in rule:
                continue
            service = rule["services"][0]
            dialect = rule.get("dialects", [DIALECTS.get(service, "chat")])[0]
            model = next(model for model in MODELS if judge.is_for(rule, service, dialect, model))
            body = request(dialect, model)
            if "when" in rule:
                self.assertIsNone(judge.verdict_of(rule, body, dialect, model), rule["words"])
            for condition in rule.get("when", []):
                value = satisfying(condition)
                if value is not None:
                    put(body, judge.EFFORT.get(dialect, "") if condition["field"] == "@effort" else condition["field"], value)
            self.assertIsNotNone(judge.verdict_of(rule, body, dialect, model), rule["words"])

    def test_every_rule_has_a_source_and_every_family_and_order_a_rule(self):
        named, used = set(), set()
        for rule in judge.rules():
            self.assertTrue(rule["source"] and rule["words"], rule)
            named |= {*rule.get("families", []), *rule.get("but_not", [])}
            used |= {rule.get("order")}
        self.assertEqual(named, set(patterns()))
        self.assertEqual(used - {None}, set(orders.ORDERS))

    def test_names_are_read_through_routers(self):
        for name, family in [
            ("anthropic/claude-opus-4.7", "claude-since-4-7"),
            ("bedrock/us.anthropic.claude-sonnet-4-5-20250929-v1:0", "claude-4-5"),
            ("models/gemini-3-pro-preview", "gemini-3-pro"),
            ("claude-haiku-5-5", "claude-since-4-7"),
        ]:
            self.assertTrue(is_of(name, [family]), name)
        for name in ("claude-opus-4-6", "claude-sonnet-4-20250514", "claude-3-7-sonnet-20250219"):
            self.assertFalse(is_of(name, ["claude-since-4-7"]), name)


def answer_chat(body, whole):
    message = whole["choices"][0]["message"]
    results = [{"role": "tool", "tool_call_id": call["id"], "content": "ok"} for call in message.get("tool_calls", [])]
    body["messages"] += [message, *results]
    return results


def answer_responses(body, whole):
    calls = [item for item in whole["output"] if item["type"] == "function_call"]
    results = [{"type": "function_call_output", "call_id": call["call_id"], "output": "ok"} for call in calls]
    body["input"] += [*whole["output"], *results]
    return results


def answer_messages(body, whole):
    calls = [block for block in whole["content"] if block["type"] == "tool_use"]
    results = [{"type": "tool_result", "tool_use_id": call["id"], "content": "ok"} for call in calls]
    body["messages"] += [{"role": "assistant", "content": whole["content"]}, {"role": "user", "content": results}]
    return results


def answer_gemini(body, whole):
    content = whole["candidates"][0]["content"]
    calls = orders.parts_with(content, "functionCall")
    parts = [{"functionResponse": {"id": call["id"], "name": call["name"], "response": {"output": "ok"}}} for call in calls]
    body["contents"] += [content, {"role": "user", "parts": parts}]
    return parts


ANSWERS = {"chat": answer_chat, "responses": answer_responses, "messages": answer_messages, "gemini": answer_gemini}
IDEAL = [
    ("openai", "chat", "gpt-6-sol", {"reasoning_effort": "none"}),
    ("openai", "responses", "gpt-6-sol", {"reasoning": {"effort": "high"}}),
    ("anthropic", "messages", "claude-opus-5", {"thinking": {"type": "adaptive"}, "output_config": {"effort": "high"}}),
    ("anthropic", "messages", "claude-opus-4-7", {"thinking": {"type": "adaptive", "display": "summarized"}}),
    ("anthropic", "messages", "claude-sonnet-4-5", {"thinking": {"type": "enabled", "budget_tokens": 2000}}),
    ("google", "gemini", "gemini-3-pro-preview", {"generationConfig": {"thinkingConfig": {"thinkingLevel": "high"}}}),
    ("deepseek", "chat", "deepseek-v4-pro", {}),
    ("mistral", "chat", "mistral-large-latest", {"max_tokens": 100}),
    ("openrouter", "chat", "google/gemini-3-flash-preview", {"reasoning": {"effort": "low"}}),
    ("litellm", "chat", "bedrock/us.anthropic.claude-sonnet-4-5-20250929-v1:0", {"max_tokens": 100}),
    ("llamacpp", "chat", "strict-template", {"max_tokens": 100}),
    ("anthropic", "messages", "claude-opus-5-5", {"max_tokens": 4096, "thinking": {"type": "adaptive"}}),
]


def conversation(service, dialect, model, settings, turns):
    """What a client that does everything right sends after so many turns."""
    body = request(dialect, model) | copy.deepcopy(settings) | {"tools": copy.deepcopy(TOOLS[dialect])}
    for _ in range(turns):
        whole = json.loads(json.dumps(replies.reply(dialect, service, model, body)))
        ANSWERS[dialect](body, whole)
    return body


class Ideal(unittest.TestCase):
    def test_a_client_that_does_everything_right_is_refused_nothing(self):
        for service, dialect, model, settings in IDEAL:
            for turns in range(4):
                body = conversation(service, dialect, model, settings, turns)
                self.assertEqual(judge.judge(service, dialect, model, body), [], f"{service} {model} {turns}")

    def test_the_model_calls_in_every_turn_and_then_reports(self):
        for service, dialect, model, settings in IDEAL:
            said = [json.dumps(replies.reply(dialect, service, model, conversation(service, dialect, model, settings, turn))) for turn in range(4)]
            for turn in range(3):
                self.assertIn(f"t{turn}c", said[turn], model)
            self.assertIn("agent__final_report", said[3], model)

    def test_a_stream_says_what_the_whole_reply_says(self):
        for service, dialect, model, settings in IDEAL:
            body = conversation(service, dialect, model, settings, 1)
            whole = replies.reply(dialect, service, model, body)
            events = replies.events(dialect, whole)
            self.assertTrue(all(line.startswith(("data: ", "event: ")) for line in events.split("\n") if line), dialect)
            self.assertIn("echo", events)


def swap(items, a, b):
    items[a], items[b] = items[b], items[a]


# For each order how a good conversation is broken: the ideal client that is taken, and what is done to its third request.
BREAKS = {
    "calls_are_answered": (0, lambda body: body["messages"].pop()),
    "ids_are_short": (0, lambda body: put(body["messages"][1]["tool_calls"][0], "id", 41 * "a")),
    "item_ids_are_short": (1, lambda body: put(body["input"][-1], "call_id", 65 * "a")),
    "ids_are_plain": (2, lambda body: put(body["messages"][-1]["content"][0], "tool_use_id", "functions.echo:0")),
    "items_are_answered": (1, lambda body: body["input"].pop()),
    "thought_items_are_followed": (1, lambda body: swap(body["input"], 5, 6)),
    "thought_items_are_as_given": (1, lambda body: body["input"].pop(5)),
    "phases_are_kept": (1, lambda body: body["input"][5].pop("phase")),
    "a_user_begins": (2, lambda body: body["messages"].pop(0)),
    "a_user_ends": (2, lambda body: body["messages"].append({"role": "assistant", "content": "Yes"})),
    "results_follow_their_calls": (2, lambda body: body["messages"][-1]["content"].insert(0, {"type": "text", "text": "a"})),
    "texts_say_something": (2, lambda body: body["messages"][-1]["content"].append({"type": "text", "text": " "})),
    "no_space_at_the_end": (2, lambda body: body["messages"].append({"role": "assistant", "content": "Yes "})),
    "thoughts_are_as_given": (2, lambda body: swap(body["messages"][3]["content"], 1, 2)),
    "a_thought_begins": (4, lambda body: body["messages"][1]["content"].pop(0)),
    "thoughts_are_bound": (11, lambda body: put(body["messages"][0], "content", "Go on.")),
    "calls_are_signed": (5, lambda body: body["contents"][3]["parts"][3].pop("thoughtSignature")),
    "responses_match_calls": (5, lambda body: body["contents"][-1]["parts"].pop()),
    "parts_are_there": (5, lambda body: body["contents"].append({"role": "user", "parts": []})),
    "function_names_are_good": (5, lambda body: put(body["tools"][0]["functionDeclarations"][0], "name", "2fast")),
    "thoughts_come_back": (6, lambda body: body["messages"][3].pop("reasoning_content")),
    "no_user_after_tool": (7, lambda body: body["messages"].append({"role": "user", "content": "a"})),
    "ids_have_nine_letters": (7, lambda body: put(body["messages"][1]["tool_calls"][0], "id", "call_1")),
    "a_question_ends": (7, lambda body: body["messages"].append({"role": "assistant", "content": "a"})),
    "details_come_back": (8, lambda body: body["messages"][1].pop("reasoning_details")),
    "results_have_tools": (9, lambda body: body.pop("tools")),
    "roles_alternate": (10, lambda body: body["messages"].append({"role": "user", "content": "a"})),
}


class Orders(unittest.TestCase):
    def test_every_order_is_broken_by_what_breaks_it_alone(self):
        self.assertEqual(set(BREAKS), set(orders.ORDERS))
        for name, (ideal, breaking) in BREAKS.items():
            service, dialect, model, settings = IDEAL[ideal]
            body = conversation(service, dialect, model, settings, 2)
            self.assertIsNone(orders.ORDERS[name](body), name)
            breaking(body)
            self.assertIsNotNone(orders.ORDERS[name](body), name)
            rule = next(rule for rule in judge.rules() if rule.get("order") == name and service in rule["services"])
            self.assertTrue(judge.is_for(rule, service, dialect, model), name)


if __name__ == "__main__":
    unittest.main()
