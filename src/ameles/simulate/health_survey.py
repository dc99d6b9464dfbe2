"""A health survey of a made-up town, and the public table that an attacker uses with it.

Three tables: what people answered, without their names; the town's public register, with names; and
a diary of visits to doctors, in which one person has several rows.  The same seed gives the same
town on every machine.

>>> town = health_survey(people=3, seed=7)
>>> list(town.answers[0])
['born', 'sex', 'district', 'age', 'smoker', 'illness', 'sick_days']
>>> len(town.register), town.register[0]["name"]
(3, 'Ada Abbott')
"""

from __future__ import annotations

import csv
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from pathlib import Path
from typing import Any

import numpy as np

from ameles.core.exceptions import BadInput
from ameles.core.parameters import whole
from ameles.simulate.draws import Floats, high, low, words

DISTRICTS = ("north", "south", "east", "west")
ILLNESSES = ("none", "asthma", "diabetes", "depression")
TODAY = date(2026, 1, 1)

_FIRST = "Ada Ben Cleo Dan Eva Finn Gus Hana Ida Jon Kim Lea Max Nia Otto Pia Quinn Rosa Sam Tom"
_LAST = (
    "Abbott Berg Castro Dubois Eriksen Ferrari Garcia Haas Ivanova Jansen Kaya Lopez Meyer Novak "
    "Okafor Petrov Quist Rossi Silva Tanaka Ueda Virtanen Weber Xu Young Zeman"
)
_SHARES = np.cumsum([0.30, 0.35, 0.20, 0.15])  # of the people, by district
_SMOKERS = (0.18, 0.24, 0.30, 0.20)  # by district
_OLDEST = 90 * 365
_YOUNGEST = 18 * 366

Row = dict[str, Any]


@dataclass(frozen=True, slots=True)
class HealthSurvey:
    """The tables of a town: rows as dictionaries."""

    answers: Sequence[Row]
    register: Sequence[Row]
    diary: Sequence[Row]

    def write(self, folder: str | Path) -> None:
        """Writes ``survey.csv``, ``register.csv`` and ``diary.csv``; none may be there yet."""
        tables = {"survey": self.answers, "register": self.register, "diary": self.diary}
        files = {Path(folder, f"{name}.csv"): rows for name, rows in tables.items()}
        for path in files:
            if path.exists():
                raise BadInput(
                    f"The file '{path.name}' exists already.",
                    why="it may hold answers of real people",
                    tip="another folder, or remove it first",
                )
        for path, rows in files.items():
            with path.open("w", encoding="utf-8", newline="") as file:
                writer = csv.DictWriter(file, list(rows[0]), lineterminator="\n")
                writer.writeheader()
                writer.writerows({k: _written(v) for k, v in row.items()} for row in rows)


def health_survey(*, people: int = 2000, seed: int = 7) -> HealthSurvey:
    """A town with this many people, all of whom answered."""
    count = whole(people, "people", low=1, high=1 << 20)
    drawn = words(whole(seed, "seed", low=0, high=1 << 62), "health survey", 0, rows=count, each=6)
    place = np.searchsorted(_SHARES, high(drawn[0]), side="right").clip(0, 3)
    days = (_YOUNGEST + low(drawn[0]) * (_OLDEST - _YOUNGEST)).astype(int)
    ill = _illnesses(days, high(drawn[1]))
    smokes = low(drawn[1]) < np.asarray(_SMOKERS)[place]
    absent = (low(drawn[2]) * high(drawn[2]) * (6 + 18 * (ill > 0) + 4 * smokes)).astype(int)
    register, answers, diary = [], [], []
    for i in range(count):
        about = {
            "born": TODAY - timedelta(days=int(days[i])),
            "sex": "f" if low(drawn[3])[i] < 0.51 else "m",
            "district": DISTRICTS[place[i]],
        }
        register.append({"name": _name(i), **about})
        answers.append(
            {
                **about,
                "age": int(days[i]) * 4 // 1461,
                "smoker": bool(smokes[i]),
                "illness": ILLNESSES[ill[i]],
                "sick_days": int(absent[i]),
            }
        )
        diary += _visits(i, about["district"], bool(ill[i]), int(drawn[4][i]))
    order = np.argsort(drawn[5], kind="stable")  # the place of a row must not reveal whose it is
    return HealthSurvey([answers[i] for i in order], register, diary)


def _illnesses(days: Any, chance: Floats) -> Any:
    older = days / _OLDEST
    edges = np.stack([1 - 0.10 - 0.25 * older, 1 - 0.05 - 0.20 * older, 1 - 0.06 + 0 * older])
    return (chance >= edges).sum(axis=0)


def _visits(person: int, district: Any, ill: bool, drawn: int) -> list[Row]:
    """The person's months with a doctor: up to three, or twelve of the ill."""
    months = 1 + drawn % (12 if ill else 3)
    return [
        {
            "person": f"p{person:05}",
            "district": district,
            "month": 1 + (drawn // 13 + 5 * m) % 12,
            "cost": 20 + (drawn >> (5 * m)) % 181,
        }
        for m in range(months)
    ]


def _name(i: int) -> str:
    first, last = _FIRST.split(), _LAST.split()
    round_, place = divmod(i, len(first) * len(last))
    middle = f" {chr(65 + (round_ - 1) % 26)}." if round_ else ""
    return f"{first[place % len(first)]}{middle} {last[place // len(first)]}"


def _written(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
