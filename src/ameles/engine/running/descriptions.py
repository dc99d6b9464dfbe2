"""Texts, explanations and forecasts about a stream, stored for those who read its releases.

They are computed here, where mechanisms are known, and stored as JSON; what shows them only reads.
All of it follows from the plan, the ledger and the steps, and nothing from the data.

    plan                 the plan in words, its guarantee, and a forecast of each release
    release/NAME         where the numbers of a release come from
    noise/NAME/NUMBER    the noise at each of ``PART`` steps, where its size changes with the step
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from typing import Any

from ameles.core.loss import Pure, loss_to_dict
from ameles.engine.running.explanation import Explanation
from ameles.plan.forecast import forecasts, in_words
from ameles.plan.plan import Plan
from ameles.store import Store, Transaction

PART = 256  # steps in one stored text about noise


class Descriptions:
    """The texts of one stream; a launched plan does not change, so most are computed once."""

    def __init__(self, plan: Plan, store: Store) -> None:
        self._plan = plan
        self._store = store
        self._explained: dict[str, Explanation] = {}
        self._released = 0

    def begin(self) -> None:
        """Stores the texts that are the same at every step."""
        with self._store.reading() as transaction:
            self._look(transaction)
        texts = {"plan": _of_plan(self._plan)}
        for name, told in self._explained.items():
            texts[f"release/{name}"] = self._of_release(told)
        self._write(texts)

    def catch_up(self, stopped: Callable[[], bool] = lambda: False) -> None:
        """Stores the texts about noise that are missing, those of the last steps first."""
        with self._store.reading() as transaction:
            stream = transaction.stream(self._plan.stream.name)
            self._released = 0 if stream is None else stream.released
            known = {} if stream is None else transaction.descriptions(stream)
        for part in range(self._last_part, -1, -1):
            for name, told in self._explained.items():
                topic = f"noise/{name}/{part}"
                if stopped():
                    return
                if self._by_step(told) and not self._current(known.get(topic), told, part):
                    self._write({topic: self._of_noise(told, part)})

    @property
    def _last_part(self) -> int:
        """The part of the next step, or of the last one."""
        horizon = self._plan.stream.horizon
        following = self._released + 1 if horizon is None else min(self._released + 1, horizon)
        return (following - 1) // PART

    def _look(self, transaction: Transaction) -> None:
        stream = transaction.stream(self._plan.stream.name)
        ledger = None if stream is None else transaction.ledger(stream.population)
        if stream is None or ledger is None:
            return
        entries = {entry.number: entry for entry in ledger.entries}
        paid = {name: entries[n] for name, n in transaction.entries_of(stream).items()}
        epochs, seen = transaction.epochs(stream), bool(transaction.intrusions(stream))
        self._explained = {
            measure.name: Explanation(self._plan, measure, paid[measure.name], epochs, seen)
            for measure in self._plan.releases
        }

    def _of_release(self, told: Explanation) -> dict[str, Any]:
        measure = told.measure
        return {
            "measure": measure.measure,
            "over": measure.over,
            "window": self._plan.window(measure),
            **told.texts(),
            "noise": told.noise(None),
            "by_step": self._by_step(told),
            "restarts": told.restarts(),
        }

    def _by_step(self, told: Explanation) -> bool:
        """Whether the words about noise depend on the step."""
        return told.noise(1) != told.noise(None)

    def _of_noise(self, told: Explanation, part: int) -> dict[str, Any]:
        """The words of each step of a part; most of them are the same few."""
        texts: dict[str, int] = {}
        first, horizon = part * PART + 1, self._plan.stream.horizon
        last = first + PART - 1 if horizon is None else min(first + PART - 1, horizon)
        of = [texts.setdefault(told.noise(t), len(texts)) for t in range(first, last + 1)]
        return {"epochs": self._epochs(told, part), "texts": list(texts), "of": of}

    def _epochs(self, told: Explanation, part: int) -> list[int]:
        """The restarts that the words of a part depend on."""
        return [one.released for one in told.epochs if one.released < (part + 1) * PART]

    def _current(self, text: str | None, told: Explanation, part: int) -> bool:
        return text is not None and bool(json.loads(text)["epochs"] == self._epochs(told, part))

    def _write(self, texts: dict[str, Any]) -> None:
        """Stores those texts that have changed, if any."""
        content = {topic: json.dumps(text, separators=(",", ":")) for topic, text in texts.items()}
        with self._store.reading() as transaction:
            stream = transaction.stream(self._plan.stream.name)
            known = {} if stream is None else transaction.descriptions(stream)
        changed = {topic: text for topic, text in content.items() if known.get(topic) != text}
        if stream is None or not changed:
            return
        with self._store.writing() as transaction:
            for topic, text in changed.items():
                transaction.set_description(stream, topic, text)


def _of_plan(plan: Plan) -> dict[str, Any]:
    return {
        "words": in_words(plan),
        "guarantee": _guarantee(plan),
        "population": plan.privacy.population,
        "unit": plan.unit.tag,
        "every": str(plan.stream.every),
        "zone": plan.stream.zone,
        "loss": loss_to_dict(plan.loss),
        "posterior": _posteriors(plan),
        "releases": [
            {
                "name": one.release,
                "measure": one.measure,
                "over": one.over,
                "mechanism": one.mechanism,
                "why": one.why,
                "discovered": one.discovered,
                "users_needed": one.users_needed,
                "loss": loss_to_dict(one.loss),
                "half_width_of": one.of,
                "steps": one.steps,
                "half_widths": [x if math.isfinite(x) else None for x in one.half_widths],
            }
            for one in forecasts(plan)
        ],
    }


def _guarantee(plan: Plan) -> str:
    seized = {
        "none": "",
        "one": ", even if the state is seized once",
        "announced": ", even if the state is seized and that is announced",
        "every": ", even if the state is seized at every step",
    }
    return f"{plan.loss} for {plan.unit}{seized[plan.privacy.intrusions]}"


def _posteriors(plan: Plan) -> list[float] | None:
    """What an attacker can believe at most, for each prior from 0% to 100%; for pure losses."""
    if not isinstance(plan.loss, Pure):
        return None
    shrunk = math.exp(-float(plan.loss.epsilon))  # cannot overflow
    priors = (percent / 100 for percent in range(101))
    return [p / (p + (1 - p) * shrunk) if p else 0.0 for p in priors]
