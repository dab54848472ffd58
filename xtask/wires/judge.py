"""Judges a request: by the official SDKs' types, and by what its service is known to refuse."""

import functools
from dataclasses import dataclass

from families import is_of
from orders import ORDERS
from services import shape_refusals, table

EFFORT = {"chat": "reasoning_effort", "responses": "reasoning.effort"}
ABSENT = object()


@dataclass(frozen=True)
class Verdict:
    words: str
    status: int = 400
    # The service takes it all the same.
    is_advice: bool = False


@functools.cache
def rules():
    return table("refusals.toml")["refusal"]


def value_at(body, field):
    for name in field.split("."):
        if not isinstance(body, dict) or name not in body:
            return ABSENT
        body = body[name]
    return body


TESTS = {
    "is": lambda value, wanted, _: value == wanted,
    # What is absent is something else, too.
    "isnt": lambda value, wanted, _: value != wanted,
    "present": lambda value, wanted, _: (value is not ABSENT and value is not None) == wanted,
    "among": lambda value, words, _: value in words,
    "not_among": lambda value, words, _: value is not ABSENT and value not in words,
    "above": lambda value, limit, _: value is not ABSENT and value > limit,
    "below": lambda value, limit, _: value is not ABSENT and value < limit,
    "not_below": lambda value, other, body: value is not ABSENT and value >= value_at(body, other),
}


def holds(condition, body, dialect):
    field = condition["field"]
    value = value_at(body, EFFORT.get(dialect, "none") if field == "@effort" else field)
    return all(test(value, condition[name], body) for name, test in TESTS.items() if name in condition)


def is_for(rule, service, dialect, model):
    if service not in rule["services"] or dialect not in rule.get("dialects", [dialect]):
        return False
    if "families" in rule and not is_of(model, rule["families"]):
        return False
    return not is_of(model, rule.get("but_not", []))


def words_of(rule, body, dialect, model, detail):
    """What the service answers."""
    said = rule["words"].replace("{model}", model).replace("{detail}", str(detail))
    if "{value}" in said:
        field = rule["when"][0]["field"]
        value = value_at(body, EFFORT.get(dialect, "none") if field == "@effort" else field)
        said = said.replace("{value}", str(value))
    return said


def verdict_of(rule, body, dialect, model):
    detail = None
    if "order" in rule:
        detail = ORDERS[rule["order"]](body)
        if detail is None:
            return None
    elif not all(holds(condition, body, dialect) for condition in rule.get("when", [])):
        return None
    words = words_of(rule, body, dialect, model, detail)
    return Verdict(words, rule.get("status", 400), rule.get("advice", False))


def judge(service, dialect, model, body):
    """Every reason to refuse a request. A body of another shape has no order to look at."""
    found = [Verdict(words) for words in shape_refusals(service, dialect, body)]
    if found:
        is_missing = any("is needed" in verdict.words or "belongs" in verdict.words for verdict in found)
        if is_missing:
            return found
    mine = (rule for rule in rules() if is_for(rule, service, dialect, model))
    return found + [verdict for rule in mine if (verdict := verdict_of(rule, body, dialect, model))]
