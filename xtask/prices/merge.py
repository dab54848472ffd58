"""What two lists say alike."""

from decimal import Decimal

from sources import SERVICES, Unsaid

NONE = "-"


def rows(litellm, genai):
    for service in sorted(SERVICES):
        for name in sorted(set(litellm.names(service))):
            if genai.model(service, name) is None:
                continue
            window, price = merged(service, name, litellm, genai)
            if window or price:
                yield row(service, name, window, price)


def merged(service, name, litellm, genai):
    windows = litellm.window(service, name), genai.window(service, name)
    # One list counts the room for the reply, and the other does not: what a request may hold is the smaller.
    window = min(filter(None, windows), default=None)
    try:
        first, second = filled(litellm.price(service, name)), filled(genai.price(service, name))
    except Unsaid:
        return window, None
    return window, agreed(first, second)


def agreed(first, second):
    """What both say, or none. One list can only say above how many thousands, the other also from how many on: where
    they differ by one token, it is the lower."""
    if first.above and second.above and abs(first.above[0] - second.above[0]) == 1:
        lower = min(first.above[0], second.above[0])
        first, second = (type(it)(it.rates, (lower, *it.above[1:])) for it in (first, second))
    return first if first == second else None


def filled(price):
    """Above a threshold, what a list does not say again is as below it."""
    if price.above is None:
        return price
    start, *rates = price.above
    rates = [usual if rate is None else rate for usual, rate in zip(price.rates, rates)]
    return type(price)(price.rates, (start, *rates))


def row(service, name, window, price):
    if price is None or price.rates[0] is None or price.rates[1] is None:
        return [service, name, str(window or NONE)] + [NONE] * 9
    above = [NONE] * 5
    if price.above:
        start, *rates = price.above
        above = [str(start), *map(dollars, rates)]
    return [service, name, str(window or NONE), *map(dollars, price.rates), *above]


def dollars(rate):
    if rate is None:
        return NONE
    return f"{Decimal(rate) / 1_000_000:f}"
