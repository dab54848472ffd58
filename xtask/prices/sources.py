"""What each list says of a model, in one form: a window, and prices in millionths of a dollar a million tokens."""

import datetime
import json
import re
from dataclasses import dataclass
from decimal import Decimal
from importlib.util import find_spec
from pathlib import Path

from genai_prices.data import providers
from genai_prices.types import (
    ClauseEquals,
    ClauseOr,
    ModelPrice,
    StartDateConstraint,
    TieredPrices,
)

# Our name of a service: litellm's name of it, what stands before the models' names there, genai-prices' name of it.
SERVICES = {
    "anthropic": ("anthropic", "", "anthropic"),
    "deepseek": ("deepseek", "deepseek/", "deepseek"),
    "google": ("gemini", "gemini/", "google"),
    "groq": ("groq", "groq/", "groq"),
    "mistral": ("mistral", "mistral/", "mistral"),
    "openai": ("openai", "", "openai"),
    "xai": ("xai", "xai/", "x-ai"),
}
# Input, output, what comes from the cache, what is written to it.
FIELDS = ("input", "output", "cached", "written")
# Models that search without being asked to, and cost something for each search.
SEARCHES = re.compile(r"(^|-)(search|deep-research)(-|$)")
# The day of a snapshot at the end of a name.
DATED = re.compile(r"-20\d\d-?[01]\d-?[0-3]\d$")


class Unsaid(Exception):
    """The list has a price of a kind that the table cannot hold."""


@dataclass(frozen=True)
class Price:
    """The usual rates, and those above a number of tokens of input; a rate that the list does not have is none."""

    rates: tuple
    above: tuple | None = None


def micro(dollars_a_million):
    """Millionths of a dollar, which is the unit of prices here; finer ones would be rounded."""
    exact = Decimal(dollars_a_million) * 1_000_000
    if exact != exact.to_integral_value():
        raise Unsaid(f"a rate of {dollars_a_million}")
    return int(exact)


class Litellm:
    """Names are exact there, and each price is a field of its own."""

    RATES = (
        "input_cost_per_token",
        "output_cost_per_token",
        "cache_read_input_token_cost",
        "cache_creation_input_token_cost",
    )
    # A conversation's models; others are priced by the picture or the second.
    MODES = ("chat", "responses")
    ABOVE = re.compile(r"_above_(\d+)k_tokens$")
    # Prices that depend on more than tokens and their number, and replies that are not text.
    OTHER = re.compile(r"off_peak_pricing$|tiered_pricing$|input_cost_per_request$|output_cost_per_(audio|image|video)")

    def __init__(self):
        package = Path(find_spec("litellm").origin).parent
        text = (package / "model_prices_and_context_window_backup.json").read_text()
        self.models = json.loads(text, parse_float=Decimal)

    def names(self, service):
        provider, before, _ = SERVICES[service]
        for key, model in self.models.items():
            is_its = model.get("litellm_provider") == provider and key.startswith(before)
            name = key[len(before) :]
            # What stands before a slash there is a region or a speed with another price; groq's names have slashes.
            plain = service == "groq" or "/" not in name
            if is_its and plain and model.get("mode") in self.MODES and ":" not in name:
                yield name

    def model(self, service, name):
        return self.models[SERVICES[service][1] + name]

    def window(self, service, name):
        return self.model(service, name).get("max_input_tokens")

    def price(self, service, name):
        model = self.model(service, name)
        other = [field for field, value in model.items() if value and self.OTHER.match(field)]
        if other or SEARCHES.search(name):
            raise Unsaid("a price that is not of tokens alone")
        thoughts = model.get("output_cost_per_reasoning_token")
        if thoughts is not None and thoughts != model.get("output_cost_per_token"):
            raise Unsaid("thoughts at another price than replies")
        starts = {int(found[1]) for key in model if (found := self.ABOVE.search(key)) and key.startswith(self.RATES)}
        if len(starts) > 1:
            raise Unsaid("more than one threshold")
        above = None
        for start in starts:
            above = (start * 1000, *self.rates(model, f"_above_{start}k_tokens"))
        return Price(self.rates(model, ""), above)

    def rates(self, model, suffix):
        values = [model.get(rate + suffix) for rate in self.RATES]
        # A cache that costs nothing to write to is one without a price of its own for it.
        if values[3] == 0:
            values[3] = None
        return tuple(None if value is None else micro(value * 1_000_000) for value in values)


class Genai:
    """Names are matched by rules there: only those that it names whole count, and dated snapshots of them."""

    RATES = ("input_mtok", "output_mtok", "cache_read_mtok", "cache_write_mtok")

    def __init__(self, day):
        self.day = day
        self.providers = {provider.id: provider for provider in providers}

    def model(self, service, name):
        provider = self.providers[SERVICES[service][2]]
        found = provider.find_model(name)
        if found is None:
            return None
        named = {found.id, *names_in(found.match)}
        return found if name in named or DATED.sub("", name) in named else None

    def window(self, service, name):
        model = self.model(service, name)
        return model and model.context_window

    def price(self, service, name):
        model = self.model(service, name)
        prices = self.rates_today(model.prices)
        values = [getattr(prices, rate, None) for rate in self.RATES]
        if getattr(prices, "requests_kcount", None):
            raise Unsaid("a price for each request")
        starts = {tier.start for value in values if isinstance(value, TieredPrices) for tier in value.tiers}
        if len(starts) > 1:
            raise Unsaid("more than one threshold")
        usual = tuple(base(value) for value in values)
        # What does not change at the threshold is the same above it.
        return Price(usual, (*starts, *(last(value) for value in values)) if starts else None)

    def rates_today(self, prices):
        if isinstance(prices, ModelPrice):
            return prices
        today = prices[0].prices
        for conditional in prices:
            match conditional.constraint:
                case None:
                    continue
                case StartDateConstraint(start_date=day) if day <= self.day:
                    today = conditional.prices
                case StartDateConstraint():
                    raise Unsaid("a price that changes soon")
                case _:
                    raise Unsaid("a price that depends on the hour")
        return today


def names_in(match):
    if isinstance(match, ClauseEquals):
        return {match.equals}
    if isinstance(match, ClauseOr):
        return set().union(*(names_in(clause) for clause in match.or_))
    return set()


def base(value):
    value = value.base if isinstance(value, TieredPrices) else value
    return None if value is None else micro(value)


def last(value):
    value = value.tiers[-1].price if isinstance(value, TieredPrices) else value
    return None if value is None else micro(value)
