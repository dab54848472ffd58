"""Holds JSON against a type of an official SDK: a field that the type does not have is refused at every level, and so is
a value of another type. Types are read as the SDKs write them: typed dictionaries, and pydantic models by their aliases.
"""

import base64
import binascii
import collections.abc
import enum
import functools
import types
import typing
from dataclasses import dataclass

import typing_extensions
from pydantic import BaseModel
from pydantic.alias_generators import to_camel

# What only says something about the type inside.
WRAPPERS = {typing_extensions.Required, typing_extensions.NotRequired, typing.Required, typing.NotRequired}
LISTS = {list, set, tuple, collections.abc.Iterable, collections.abc.Sequence}
# How the refusal of a record ends that lacks a field.
NEEDED = "is needed"
# Where the SDKs keep their types; what they only use themselves stands elsewhere.
PACKAGES = ("openai.", "anthropic.", "google.genai.", "routes")
# The fields of these models that the public Gemini service does not take say so.
ELSEWHERE = "not supported in gemini api"


@dataclass(frozen=True)
class Refusal:
    place: str
    words: str
    # A word that is none of those allowed; where it is the value's own tag, another member of a union was meant.
    is_word: bool = False

    def __str__(self):
        return f"{self.place or 'the body'}: {self.words}"

    def weight(self, place):
        """How surely the value at a place was meant for another member of a union: 1 for a mistake within this one."""
        if self.place == place and not self.words.endswith(NEEDED):
            return 10_000
        return 100 if self.is_word and self.place.rpartition(".")[0] == place else 1


@dataclass(frozen=True)
class Field:
    hint: object
    is_required: bool
    is_elsewhere: bool = False


def is_record(hint):
    return typing_extensions.is_typeddict(hint) or (isinstance(hint, type) and issubclass(hint, BaseModel))


@functools.cache
def fields_of(record):
    """The fields of a typed dictionary or a model, by their names on the wire."""
    if typing_extensions.is_typeddict(record):
        hints = typing_extensions.get_type_hints(record, include_extras=True)
        required = set(record.__required_keys__)
        return {name: Field(hint, is_required(hint, name in required)) for name, hint in hints.items()}
    # The types of a model may name models that stand further down.
    record.model_rebuild()
    found = {}
    for name, field in record.model_fields.items():
        is_elsewhere = ELSEWHERE in (field.description or "").lower()
        found[field.alias or to_camel(name)] = Field(field.annotation, field.is_required(), is_elsewhere)
    return found


def is_required(hint, by_default):
    origin = typing_extensions.get_origin(hint)
    if origin in (typing_extensions.Required, typing.Required):
        return True
    return by_default and origin not in (typing_extensions.NotRequired, typing.NotRequired)


def unwrapped(hint):
    """A type without what is said about it."""
    while True:
        origin = typing_extensions.get_origin(hint)
        if origin in WRAPPERS or origin is typing.Annotated:
            hint = typing_extensions.get_args(hint)[0]
        elif isinstance(hint, typing_extensions.TypeAliasType):
            hint = hint.__value__
        else:
            return hint


def json_kind(value):
    kinds = {type(None): "null", bool: "a boolean", int: "a number", float: "a number", str: "a string", list: "a list"}
    return kinds.get(type(value), "an object")


def plain_name(record):
    """The name of a type; a request is one type, whether it asks for a stream or not."""
    return record.__name__.removesuffix("NonStreaming").removesuffix("Streaming")


class Checker:
    """Checks values. `also` has fields that a service documents beyond the SDK's types, by the name of the type."""

    def __init__(self, also=None):
        self.also = also or {}

    def refusals(self, value, hint, place=""):
        hint = unwrapped(hint)
        if hint in (typing.Any, object):
            return []
        origin = typing_extensions.get_origin(hint)
        if origin in (typing.Union, types.UnionType):
            return self.in_union(value, typing_extensions.get_args(hint), place)
        if origin in (typing.Literal, typing_extensions.Literal):
            return among(value, typing_extensions.get_args(hint), place)
        if is_record(hint):
            return self.in_record(value, hint, place)
        container = origin or hint
        if container in LISTS or getattr(container, "__name__", "") == "SequenceNotStr":
            return self.in_list(value, typing_extensions.get_args(hint), place)
        if container in (dict, collections.abc.Mapping):
            return self.in_map(value, typing_extensions.get_args(hint), place)
        return of_simple_type(value, hint, place)

    def in_union(self, value, members, place):
        """The refusals of the member that the value comes nearest to."""
        nearest = None
        for member in members:
            found = self.refusals(value, member, place)
            if not found:
                return []
            weight = sum(refusal.weight(place) for refusal in found)
            if nearest is None or weight < nearest[0]:
                nearest = (weight, found)
        return nearest[1]

    def in_record(self, value, record, place):
        if not isinstance(value, dict):
            return [Refusal(place, f"{json_kind(value)} where {record.__name__} belongs")]
        fields = fields_of(record) | self.also.get(plain_name(record), {})
        found = []
        for name, inner in value.items():
            at = f"{place}.{name}" if place else name
            if name not in fields:
                found.append(Refusal(at, f"{record.__name__} has no such field"))
            elif fields[name].is_elsewhere:
                found.append(Refusal(at, f"{record.__name__} has it for another service only"))
            else:
                found += self.refusals(inner, fields[name].hint, at)
        missing = (name for name, field in fields.items() if field.is_required and name not in value)
        found += [Refusal(place, f"{record.__name__}.{name} {NEEDED}") for name in missing]
        return found

    def in_list(self, value, inner, place):
        if not isinstance(value, list):
            return [Refusal(place, f"{json_kind(value)} where a list belongs")]
        hint = inner[0] if inner else object
        return [found for at, item in enumerate(value) for found in self.refusals(item, hint, f"{place}[{at}]")]

    def in_map(self, value, inner, place):
        if not isinstance(value, dict):
            return [Refusal(place, f"{json_kind(value)} where an object belongs")]
        hint = inner[1] if inner else object
        return [found for name, item in value.items() for found in self.refusals(item, hint, f"{place}.{name}")]


def among(value, allowed, place):
    if any(value == word and type(value) is type(word) for word in allowed):
        return []
    words = ", ".join(repr(word) for word in allowed)
    return [Refusal(place, f"{value!r} is none of {words}", is_word=True)]


def of_simple_type(value, hint, place):
    if isinstance(hint, type) and issubclass(hint, enum.Enum):
        return among_words(value, hint, place)
    if is_of(value, hint):
        return []
    name = getattr(hint, "__name__", str(hint))
    return [Refusal(place, f"{json_kind(value)} where {name} belongs")]


def among_words(value, words, place):
    """Google's services take the words of these in either case."""
    allowed = {str(word.value).lower() for word in words}
    if isinstance(value, str) and value.lower() in allowed:
        return []
    return [Refusal(place, f"{value!r} is none of {', '.join(sorted(allowed))}", is_word=True)]


def is_of(value, hint):
    """Whether a value has a type that JSON can say; what Python alone can say, such as a function, never has it."""
    is_number = isinstance(value, (int, float)) and not isinstance(value, bool)
    match hint:
        case types.NoneType | None:
            return value is None
        case builtin if builtin is bool:
            return isinstance(value, bool)
        case builtin if builtin is int:
            return is_number and value == int(value)
        case builtin if builtin is float:
            return is_number
        case builtin if builtin is str:
            return isinstance(value, str)
        case builtin if builtin is bytes:
            return isinstance(value, str) and is_base64(value)
    return False


def is_base64(text):
    try:
        base64.b64decode(text.replace("-", "+").replace("_", "/") + "=" * (-len(text) % 4), validate=True)
    except binascii.Error:
        return False
    return True


def records_below(hint, known):
    """Every record that a type leads to, with its fields in words."""
    hint = unwrapped(hint)
    if is_record(hint) and hint.__module__.startswith(PACKAGES):
        name = f"{hint.__module__}.{hint.__qualname__}"
        if name in known:
            return
        known[name] = {}
        for field, inner in fields_of(hint).items():
            known[name][field] = in_words(inner.hint) + (", required" if inner.is_required else "")
            records_below(inner.hint, known)
    for inner in typing_extensions.get_args(hint):
        if not isinstance(inner, str):
            records_below(inner, known)


def in_words(hint):
    """A type in words: records by their names alone, since each is described by itself."""
    hint = unwrapped(hint)
    origin, inner = typing_extensions.get_origin(hint), typing_extensions.get_args(hint)
    if origin in (typing.Literal, typing_extensions.Literal):
        return " | ".join(sorted(repr(word) for word in inner))
    if isinstance(hint, type) and issubclass(hint, enum.Enum):
        return " | ".join(sorted(repr(word.value) for word in hint))
    if origin in (typing.Union, types.UnionType):
        return " | ".join(sorted(in_words(member) for member in inner))
    name = getattr(origin or hint, "__name__", str(hint))
    return f"{name}[{', '.join(in_words(each) for each in inner)}]" if origin else name
