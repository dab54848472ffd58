"""What each service takes: its dialect's official request type, and the fields that `fields.toml` has for it."""

import functools
import tomllib
from pathlib import Path
from typing import Literal, TypedDict

from routes import request_of
from shapes import Checker, Field

HERE = Path(__file__).parent
WORDS = {"string": str, "integer": int, "number": float, "boolean": bool, "list": list, "object": dict}


def table(name):
    with open(HERE / name, "rb") as file:
        return tomllib.load(file)


def hint_of(said):
    """The type that a table says: a word, a list of the words that are taken, or fields."""
    if isinstance(said, str):
        return WORDS[said]
    if isinstance(said, list):
        return Literal[tuple(said)]
    return TypedDict("Object", {name: hint_of(inner) for name, inner in said.items()}, total=False)


@functools.cache
def checker(service):
    also = {}
    for entry in table("fields.toml")["also"]:
        if service in entry["services"]:
            fields = {name: Field(hint_of(said), False) for name, said in entry["fields"].items()}
            also.setdefault(entry["type"], {}).update(fields)
    return Checker(also)


@functools.cache
def services():
    """All that have fields of their own, and one that has none."""
    return ["none", *sorted({service for entry in table("fields.toml")["also"] for service in entry["services"]})]


def shape_refusals(service, dialect, body):
    """What the types refuse, in words. A body for `any` service is refused if no service takes the whole of it, in the
    words of the one that takes most."""
    if service == "any":
        nearest = None
        for one in services():
            found = shape_refusals(one, dialect, body)
            if not found:
                return []
            nearest = found if nearest is None or len(found) < len(nearest) else nearest
        return nearest
    return [str(refusal) for refusal in checker(service).refusals(body, request_of(dialect))]
