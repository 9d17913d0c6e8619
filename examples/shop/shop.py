"""An outdoor shop: what its homepage may show on top, and the rules that its people argue about.

This is what you write yourself: actions and candidates, in a module of their own.
`policysieve serve --policies shop:policies` takes them from here.
"""

from collections.abc import Callable
from typing import Any

import policysieve as ps

__all__ = ["policies"]

Visitor = dict[str, Any]
"""What the shop knows of who comes: weather, last_order, device, basket, hour and newsletter."""

DEPARTMENTS = [
    "tents",
    "sleeping bags",
    "camping stoves",
    "rain jackets",
    "hiking boots",
    "sunglasses",
    "water bottles",
    "snowshoes",
    "bikes",
    "kayaks",
    "climbing ropes",
    "gift cards",
]
BESTSELLERS = "hiking boots"
GOES_WITH = {
    "tents": "sleeping bags",
    "sleeping bags": "camping stoves",
    "hiking boots": "water bottles",
    "climbing ropes": "hiking boots",
    "bikes": "rain jackets",
    "kayaks": "sunglasses",
}
FITS_WEATHER = {"rain": "rain jackets", "sun": "sunglasses", "snow": "snowshoes"}


def by_weather(visitor: Visitor) -> str:
    """What one needs out there today."""
    return FITS_WEATHER.get(visitor["weather"], BESTSELLERS)


def by_last_order(visitor: Visitor) -> str:
    """What goes with what they have."""
    return GOES_WITH.get(visitor["last_order"], BESTSELLERS)


def last_order_else_weather(visitor: Visitor) -> str:
    """What goes with what they have, and for new customers the weather."""
    return GOES_WITH.get(visitor["last_order"]) or by_weather(visitor)


def weather_else_last_order(visitor: Visitor) -> str:
    """The weather, and on grey days what goes with what they have."""
    return FITS_WEATHER.get(visitor["weather"]) or by_last_order(visitor)


def big_basket_big_things(visitor: Visitor) -> str:
    """Who spends much may spend more."""
    return "bikes" if visitor["basket"] > 150 else "kayaks" if visitor["basket"] > 50 else "tents"


def small_screen_small_things(visitor: Visitor) -> str:
    """Nobody buys a kayak on a phone."""
    return "water bottles" if visitor["device"] == "phone" else "kayaks"


def by_the_clock(visitor: Visitor) -> str:
    """Bikes before work, tents before sleep."""
    return "bikes" if visitor["hour"] < 12 else "tents"


def newsletter_offer(visitor: Visitor) -> str:
    """The offer of the week, for those who read about it."""
    return "camping stoves" if visitor["newsletter"] else BESTSELLERS


CANDIDATES: dict[str, Callable[[Visitor], str]] = {
    "gift cards for everyone": lambda visitor: "gift cards",  # runs today
    "bestsellers for everyone": lambda visitor: BESTSELLERS,
    "follow the weather": by_weather,
    "complete the last order": by_last_order,
    "last order, else weather": last_order_else_weather,
    "weather, else last order": weather_else_last_order,
    "the same again": lambda visitor: visitor["last_order"] or BESTSELLERS,
    "big basket, big things": big_basket_big_things,
    "small screen, small things": small_screen_small_things,
    "bikes at dawn, tents at dusk": by_the_clock,
    "newsletter offer": newsletter_offer,
    "a kayak for everyone": lambda visitor: "kayaks",
}

policies = ps.FunctionPolicies(CANDIDATES, actions=DEPARTMENTS, vectorized=False)
