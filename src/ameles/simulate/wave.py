"""The wave: the expected visits in each hour of a season, by region, of the well and the ill.

Each region has an epidemic of its own, by the textbook's model (susceptible, infected, recovered),
which arrives on its own day.  Visits also depend on the hour, the day of the week and the day's
weather.  There are only sums and products, so every machine computes the same numbers.
"""

from __future__ import annotations

from datetime import date

import numpy as np

from ameles.simulate.draws import Floats, along, bell, words

REGIONS = ("north", "south", "east", "west")
OFFSET = 1  # hours that the site's clocks are ahead of UTC

_SHARES = (0.30, 0.35, 0.20, 0.15)  # of the visitors, by region
_ARRIVALS = (25, 38, 46, 60)  # days after the start of a half year, when the infection arrives

_MODEL_DAYS = 182  # a season has this shape, whatever its length
_ENCOUNTERS = 4  # the epidemic is computed so many times a day
_CASES_EACH = 1.7  # people whom one infected person infects at first
_DAYS_ILL = 4
_FIRST_CASES = 2e-5  # part of a region

_ILL_VISITS = 45.0  # a day, for each visit of the well, if everybody were ill
_WORRIED = 0.25  # additional visits of the well for each visit of the ill

# Local hours, midnight first: mornings and evenings, hardly anyone at four.
_HOURS = (5, 3, 2, 2, 1, 2, 5, 11, 19, 26, 28, 27, 24, 23, 23, 24, 25, 27, 30, 31, 28, 20, 12, 8)
_WEEK = (1.15, 1.05, 1.0, 1.0, 0.95, 0.80, 0.85)  # Monday first
_WEATHER = 0.07  # random differences from day to day


def shares() -> Floats:
    """The share of visitors who live in each region or in one before it."""
    return np.cumsum(_SHARES)


def expected(days: int, start: date, seed: int) -> Floats:
    """Expected visits, up to a factor: for each hour in UTC, a row; a column for each of
    north well, north ill, south well, ..."""
    ill = np.stack([_infected(arrival, days) for arrival in _ARRIVALS], axis=1) * _ILL_VISITS
    well = 1 + _WORRIED * ill
    daily = np.stack([well, ill], axis=2) * np.asarray(_SHARES)[:, None]
    weekday = (start.weekday() + np.arange(days)) % 7
    weather = 1 + _WEATHER * bell(words(seed, "weather", 0, rows=days * len(REGIONS), each=1)[0])
    daily *= np.asarray(_WEEK)[weekday][:, None, None]
    daily *= weather.reshape(days, len(REGIONS), 1)
    hours = np.roll(np.asarray(_HOURS, dtype=np.float64), -OFFSET)
    hourly: Floats = daily[:, None] * hours[:, None, None]
    return hourly.reshape(days * 24, 2 * len(REGIONS))


def _infected(arrival: int, days: int) -> Floats:
    """The infected part of a region on each day, the season stretched to ``days``."""
    susceptible, infected = 1.0, 0.0
    curve = np.empty(_MODEL_DAYS + 1)
    for day in range(_MODEL_DAYS + 1):
        curve[day] = infected
        if day == arrival:
            susceptible, infected = 1 - _FIRST_CASES, _FIRST_CASES
        for _ in range(_ENCOUNTERS):
            ended = infected / (_DAYS_ILL * _ENCOUNTERS)
            begun = _CASES_EACH * susceptible * ended
            susceptible, infected = susceptible - begun, infected + begun - ended
    middles: Floats = (np.arange(days, dtype=np.float64) + 0.5) * (_MODEL_DAYS / days)
    return along(middles, np.arange(_MODEL_DAYS + 1.0), curve)
