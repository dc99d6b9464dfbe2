"""A preview: a plan with its sliders, and for each position a season that might be published.

The noise is that of the real mechanisms, drawn for this picture and thrown away.  The season is
made up, or it is one that was published before; no true value exists here.  A run never uses draws
of a preview: noise has no seed, a launch draws its own, and nothing here is stored.
"""

from __future__ import annotations

import math
import threading
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any, TypeAlias

import numpy as np

from ameles.core.exceptions import AmelesError, BadInput
from ameles.core.loss import loss_to_dict
from ameles.core.noise import Noise
from ameles.measures.key_words import needed_words, published_once
from ameles.measures.linear import LinearMeasure
from ameles.measures.measure import Measure, Published
from ameles.mechanisms.mechanism import AnyMechanism
from ameles.noise import System, Zero
from ameles.noise.arrays import IntArray
from ameles.plan.forecast import Forecast, forecasts, in_words
from ameles.plan.plan import Plan, read_plan_text
from ameles.simulate.preview.plan_edits import edited
from ameles.simulate.preview.season import can_be_drawn, inputs
from ameles.simulate.preview.sliders import Slider, sliders

SIZES = (10, 100, 1_000, 10_000, 100_000)  # made-up events in a step
MIDDLE = 2
MOST_STEPS = 366  # of a picture
MOST_KEYS = 6
MADE_UP = "made-up"

# The released values of a season that was published before, by release and key.
Season: TypeAlias = Mapping[tuple[str, str], Sequence[float | None]]


class Preview:
    """One plan before its launch; ``around`` are published seasons, by the name of their stream."""

    def __init__(self, plan: Plan, text: str, around: Mapping[str, Season] | None = None) -> None:
        self._plan = plan
        self._text = text
        self._around = dict(around or {})
        self.sliders: tuple[Slider, ...] = sliders(plan, text)
        self._lock = threading.Lock()
        self._drawn = lru_cache(maxsize=1024)(self._draw)

    def about(self) -> dict[str, Any]:
        """What can be tried."""
        return {
            "stream": self._plan.stream.name,
            "sliders": [
                {"label": one.label, "values": _plain(one), "start": one.start}
                for one in self.sliders
            ],
            "sizes": list(SIZES),
            "size": MIDDLE,
            "seasons": [MADE_UP, *self._around],
            "steps": min(self._plan.stream.horizon or MOST_STEPS, MOST_STEPS),
        }

    def at(self, places: tuple[int, ...], season: str = MADE_UP, size: int = MIDDLE) -> Any:
        """The plan at a position of its sliders, and what it might publish; drawn once."""
        self.check(places, season, size)
        with self._lock:  # one at a time: whoever asks twice gets the same draws
            return self._drawn(places, season, size)

    def check(self, places: tuple[int, ...], season: str, size: int) -> None:
        """Refuses a position that the sliders do not have."""
        if (
            len(places) != len(self.sliders)
            or not all(
                0 <= place < len(one.values)
                for place, one in zip(places, self.sliders, strict=True)
            )
            or season not in (MADE_UP, *self._around)
            or not 0 <= size < len(SIZES)
        ):
            raise BadInput(
                "The sliders have no such position.", tip="numbers from 0 on, one for each slider"
            )

    def _draw(self, places: tuple[int, ...], season: str, size: int) -> dict[str, Any]:
        text = self._edited(places)
        try:
            plan = read_plan_text(text, self._plan.base)
            releases = [
                {**told, "drawn": self._picture(plan, place, season, SIZES[size])}
                for place, told in enumerate(_forecast(plan))
            ]
        except AmelesError as refusal:
            problem = {"what": refusal.what, "why": refusal.why, "tip": refusal.tip}
            return {"text": text, "words": [], "releases": [], "problem": problem}
        return {"text": text, "words": in_words(plan), "releases": releases, "problem": None}

    def _edited(self, places: tuple[int, ...]) -> str:
        text = self._text
        for slider, place in zip(self.sliders, places, strict=True):
            if place != slider.start:
                text = edited(text, slider.address, slider.values[place]) or text
        return text

    def _picture(self, plan: Plan, place: int, season: str, each: int) -> dict[str, Any] | None:
        """Draws of one release; None if its mechanism needs more than a made-up count."""
        measure, own = plan.releases[place], self._plan.releases[place]
        recipe = plan.recipes[measure.name]
        if not can_be_drawn(recipe):
            return None
        steps = min(plan.stream.horizon or MOST_STEPS, MOST_STEPS)
        if season == MADE_UP:
            made = inputs(measure, own, steps, each)
            around = _published(plan, measure, recipe, made, Zero()).value.astype(float)
            drawn = _published(plan, measure, recipe, made, System.direct())
            shift: Any = 0.0
        else:
            known = self._season(measure, season, steps)
            if known is None:
                return None
            nothing = np.zeros((steps, measure.question.width), dtype=np.int64)
            drawn = _published(plan, measure, recipe, nothing, System.direct())
            around = shift = known
        keys = measure.keys[:MOST_KEYS]
        return {
            "keys": [
                {
                    "key": key,
                    "around": _numbers(around[:, k]),
                    "value": _numbers(drawn.value[:, k] + _of(shift, k)),
                    "low": _numbers(drawn.low[:, k] + _of(shift, k)),
                    "high": _numbers(drawn.high[:, k] + _of(shift, k)),
                    "label": [] if drawn.label is None else drawn.label[:, k].tolist(),
                }
                for k, key in enumerate(keys)
            ],
            "left_out": len(measure.keys) - len(keys),
        }

    def _season(self, measure: Measure, season: str, steps: int) -> Any:
        """The published values of the same release, if its noise is simply added to them."""
        if not isinstance(measure, LinearMeasure) or not measure.adds_up:
            return None
        known = self._around[season]
        columns = [known.get((measure.name, key)) for key in measure.keys]
        if any(column is None for column in columns):
            return None
        rows = np.full((steps, len(columns)), np.nan)
        for k, column in enumerate(columns):
            values = [math.nan if value is None else value for value in (column or ())[:steps]]
            rows[: len(values), k] = values
        return rows


def _of(shift: Any, k: int) -> Any:
    return shift if isinstance(shift, float) else shift[:, k]


def _published(
    plan: Plan, measure: Measure, recipe: AnyMechanism, made: IntArray, noise: Noise
) -> Published:
    """What would be published: by the real run, from the first step on."""
    terms = plan.terms(measure)
    run: Any = recipe.start(noise)
    outputs = np.asarray(run.feed(made))
    earlier = np.zeros((terms.window or 0, *outputs.shape[1:]), dtype=np.int64)
    return measure.publish(recipe, terms, outputs, 1, earlier)


def _forecast(plan: Plan) -> list[dict[str, Any]]:
    return [
        {
            "name": one.release,
            "measure": one.measure,
            "over": one.over,
            "mechanism": one.mechanism,
            "why": one.why,
            "loss": loss_to_dict(one.loss),
            "half_width_of": one.of,
            "steps": one.steps,
            "half_widths": _numbers(np.array(one.half_widths)),
            "undrawn": _undrawn(one),
        }
        for one in forecasts(plan)
    ]


def _undrawn(one: Forecast) -> str:
    """Why a release is not drawn around any season; empty if it can be."""
    if one.discovered is None or one.users_needed is None or one.looked_for is None:
        return ""
    needed = needed_words(dict(zip(one.looked_for, one.users_needed, strict=True)))
    return (
        f"Keys of '{one.discovered}' are discovered from users, and a season of this page has "
        f"events alone, so none is drawn: {published_once(needed)}."
    )


def _numbers(column: Any) -> list[float | None]:
    return [float(x) if math.isfinite(x) else None for x in column.tolist()]


def _plain(slider: Slider) -> list[str]:
    return [value.strip('"') for value in slider.values]
