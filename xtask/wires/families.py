"""Families of models, by their names as `refusals.toml` has them."""

import functools
import re

from services import table

VENDORS = re.compile(r"^((us|eu|apac|global)\.)?(anthropic\.)?")


@functools.cache
def patterns():
    return {name: re.compile(pattern) for name, pattern in table("refusals.toml")["families"].items()}


def plain(model):
    """A model's name without those of its router and its vendor; some routers write a version with a dot."""
    name = VENDORS.sub("", model.rpartition("/")[2].lower())
    return re.sub(r"(\d)\.(\d)", r"\1-\2", name) if name.startswith("claude") else name


def is_of(model, families):
    return any(patterns()[family].search(plain(model)) for family in families)
