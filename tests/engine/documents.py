"""Plans as documents: a good one with every measure, and what can be done to it."""

from __future__ import annotations

import copy
import tomllib
from datetime import date, datetime, time
from decimal import Decimal
from typing import Any

from hypothesis import strategies as st

GOOD = """
[stream]
name = "s"
source = "events.csv"
time = "at"
columns = { at = "timestamp", who = "text", region = "text", age = "integer", amount = "number", \
fever = "boolean" }
start = "2026-01-01"
every = "1d"
horizon = 8
late = "next"
zone = "UTC"
[privacy]
population = "people"
unit = "user"
user = "who"
max_per_step = 2
max_steps = 3
epsilon = 1
delta = 0
[[release]]
name = "visits"
measure = "count"
by = { region = ["north", "south"], fever = [true, false] }
where = "fever AND age >= 18"
share = 0.1
[[release]]
name = "spent"
measure = "sum"
column = "amount"
lower = -5
upper = 20
granularity = 0.5
[[release]]
name = "average"
measure = "mean"
over = "step"
column = "amount"
lower = -5
upper = 20
granularity = 0.5
[[release]]
name = "ages"
measure = "histogram"
column = "age"
edges = [0, 18, 65]
[[release]]
name = "kinds"
measure = "histogram"
column = "region"
categories = ["a", "b"]
[[release]]
name = "median"
measure = "quantile"
column = "age"
edges = [0, 18, 65]
q = 0.5
[[release]]
name = "most"
measure = "top"
k = 2
by = { region = ["north", "south"] }
[[release]]
name = "alarm"
measure = "alert"
over = "3d"
threshold = 4
times = 2
[[release]]
name = "people"
measure = "distinct"
[store]
url = "s.db"
[[sink]]
csv = "out.csv"
"""


def good() -> dict[str, Any]:
    return tomllib.loads(GOOD, parse_float=Decimal)


def changed(**values: Any) -> dict[str, Any]:
    """The good plan with some keys set: privacy__epsilon=1, release_0__over="step".

    A value of None takes the key away.
    """
    document = good()
    for place, value in values.items():
        table, _, key = place.partition("__")
        name, _, number = table.partition("_")
        where = document[name][int(number)] if number else document[name]
        if value is None:
            del where[key]
        else:
            where[key] = value
    return document


ODD = [
    *(True, 0, 1, -1, 2**40, 2**63, 2**200, Decimal("0.5"), Decimal("-0"), Decimal("NaN")),
    *(Decimal("Infinity"), Decimal("1e999"), Decimal("1e-300"), float("nan"), float("-inf"), 1e308),
    *("", "a", "1d", "0d", "999999999w", "52w", "7d", "total", "step", "user", "event", "count"),
    *("user-window", "sum", "mean", "top", "alert", "distinct", "quantile", "\0", "a\nb", "é", "-"),
    *("x" * 300, "random() < 1", "Europe/Rome", "../up", "postgres://a:b@c/d", "fever", "who"),
    *([], ["a"], [1, 2, 3], [3, 2, 1], [[]], {}, {"a": 1}, {"region": ["a", "a/b"]}, {"x": []}),
    *(date(2026, 1, 1), datetime(9999, 12, 31), time(1, 2)),
]
KEYS = ["name", "over", "share", "edges", "column", "weight", "cap", "delta", "k", "q", "window"]
PLAIN = st.recursive(
    st.sampled_from(ODD) | st.text(max_size=8) | st.integers() | st.floats(),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3)
    ),
    max_leaves=6,
)
DOCUMENTS = st.dictionaries(
    st.sampled_from(["stream", "privacy", "release", "store", "sink"]) | st.text(max_size=8),
    PLAIN | st.lists(st.dictionaries(st.sampled_from(KEYS), PLAIN, max_size=4), max_size=3),
    max_size=6,
)


@st.composite
def mutants(draw: st.DrawFn) -> dict[str, Any]:
    """The good plan with some of its values replaced, removed or joined by others."""
    document = good()
    for _ in range(draw(st.integers(1, 4))):
        tables: list[Any] = [document, *_inside(document)]
        table = draw(st.sampled_from(tables))
        value = copy.deepcopy(draw(PLAIN))
        if isinstance(table, list):
            table.append(value)
        elif table and draw(st.booleans()):
            table[draw(st.sampled_from(sorted(table)))] = value
        elif table and draw(st.booleans()):
            del table[draw(st.sampled_from(sorted(table)))]
        else:
            table[draw(st.sampled_from(KEYS))] = value
    return document


def _inside(value: Any) -> list[Any]:
    inner = value.values() if isinstance(value, dict) else value
    parts = [one for one in inner if isinstance(one, dict | list)]
    return [*parts, *(more for one in parts for more in _inside(one))]
