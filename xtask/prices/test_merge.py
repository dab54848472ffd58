"""What enters the table, and what does not."""

import datetime
import unittest
from decimal import Decimal

from genai_prices.types import ConditionalPrice, ModelPrice, StartDateConstraint, TimeOfDateConstraint
from merge import agreed, filled, rows
from sources import DATED, SEARCHES, Genai, Price, Unsaid, micro

USUAL = (2_000_000, 10_000_000, 200_000, None)
LONG = (200_000, 4_000_000, 15_000_000, 400_000, None)


class Fake:
    """A list with one model for each name."""

    def __init__(self, **models):
        self.models = models

    def names(self, service):
        return self.models if service == "openai" else []

    def model(self, _, name):
        return self.models.get(name)

    def window(self, _, name):
        return self.models[name][0]

    def price(self, _, name):
        price = self.models[name][1]
        if price is None:
            raise Unsaid("nothing")
        return price


class Agreement(unittest.TestCase):
    def test_a_price_is_taken_where_every_figure_is_the_same(self):
        price = Price(USUAL, LONG)
        self.assertEqual(agreed(price, Price(USUAL, LONG)), price)
        for other in [
            Price(USUAL),
            Price((2_000_000, 10_000_000, 200_001, None), LONG),
            Price((2_000_000, 10_000_000, None, None), LONG),
            Price((2_000_000, 10_000_000, 200_000, 1), LONG),
            Price(USUAL, (200_000, 4_000_000, 15_000_001, 400_000, None)),
            Price(USUAL, (272_000, *LONG[1:])),
        ]:
            self.assertIsNone(agreed(price, other), other)

    def test_from_a_number_on_is_above_the_one_before_it(self):
        lower = Price(USUAL, (199_999, *LONG[1:]))
        self.assertEqual(agreed(Price(USUAL, LONG), lower), lower)
        self.assertEqual(agreed(lower, Price(USUAL, LONG)), lower)

    def test_what_is_not_said_of_long_requests_is_as_for_others(self):
        price = filled(Price(USUAL, (200_000, 4_000_000, None, None, None)))
        self.assertEqual(price.above, (200_000, 4_000_000, 10_000_000, 200_000, None))

    def test_a_row_has_what_both_say_and_the_smaller_window(self):
        first = Fake(a=(400_000, Price(USUAL)), b=(9, None), c=(None, Price(USUAL)), only_here=(1, Price(USUAL)))
        second = Fake(a=(272_000, Price(USUAL)), b=(8, Price(USUAL)), c=(None, Price(USUAL, LONG)))
        none = ["-"] * 5
        self.assertEqual(
            list(rows(first, second)),
            [
                ["openai", "a", "272000", "2", "10", "0.2", "-", *none],
                ["openai", "b", "8", "-", "-", "-", "-", *none],
            ],
        )


class Conditions(unittest.TestCase):
    def rates(self, *constraints):
        prices = [ConditionalPrice(it, prices=ModelPrice(input_mtok=Decimal(n))) for n, it in enumerate(constraints)]
        return Genai(datetime.date(2026, 11, 16)).rates_today(prices).input_mtok

    def test_the_price_of_the_day_is_taken_unless_it_will_change_or_depends_on_the_hour(self):
        day = lambda *it: StartDateConstraint(datetime.date(*it))
        self.assertEqual(self.rates(None, day(2026, 1, 1), day(2026, 11, 16)), 2)
        with self.assertRaises(Unsaid):
            self.rates(None, day(2026, 11, 17))
        with self.assertRaises(Unsaid):
            self.rates(None, TimeOfDateConstraint(datetime.time(1), datetime.time(4)))


class Words(unittest.TestCase):
    def test_names_and_rates(self):
        self.assertEqual(DATED.sub("", "gpt-5-2025-08-07"), "gpt-5")
        self.assertEqual(DATED.sub("", "claude-opus-4-5-20251101"), "claude-opus-4-5")
        self.assertEqual(DATED.sub("", "grok-4-0709"), "grok-4-0709")
        for name, searches in [("o3-deep-research", True), ("gpt-5-search-api", True), ("gpt-rosalind-research", False)]:
            self.assertEqual(bool(SEARCHES.search(name)), searches, name)
        self.assertEqual(micro("0.0375"), 37_500)
        with self.assertRaises(Unsaid):
            micro("0.0000001")
