"""Branches on data in Python code: the real run, with inputs that refuse to be looked at.

The recipe's own checks of its inputs let secrets through.  Everything after them is the real code,
step by step and many steps at once.  The arrays of the run are secret from the start, since data
are added to them.  A mechanism that looks at its data need not be wrong, but what was found on the
inputs of the audit then says nothing about others.

>>> from ameles.mechanisms.counters.binary import BinaryCounter
>>> trace_branches(BinaryCounter(epsilon=1, horizon=4), 4)
Trace(looks=[], lost=[])
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ameles.audit.observation import Decoding
from ameles.audit.secret_numbers import Looked, Secret, SecretArray, Trace, plain, secret_array
from ameles.core.exceptions import AmelesError
from ameles.mechanisms.counters.recipe import CounterRecipe
from ameles.noise import Tape, Zero


def trace_branches(recipe: CounterRecipe, steps: int) -> Trace:
    """What the code of a counter does with its data besides adding them up."""
    trace = Trace()
    passing = _let_through(recipe, trace)
    inputs = [(5 * s + 2) % 7 - 3 for s in range(steps * recipe.columns)]
    shape = (steps,) if recipe.width is None else (steps, recipe.width)
    rows = secret_array(np.reshape(inputs, shape), trace)
    decodes = isinstance(passing.start(Zero()), Decoding)
    for calls in (_encodings,) if decodes else (_steps, _feeds, _lists):
        run = passing.start(Tape(range(7, 7 + steps)))
        for name, value in vars(run).items():
            if isinstance(value, np.ndarray) and value.dtype == np.int64:
                setattr(run, name, secret_array(value, trace))
        try:
            calls(run, rows)
        except Looked:
            pass  # it is in the trace
        except AmelesError:
            raise
        except Exception as problem:
            trace.lost.append(f"{type(problem).__name__} in {type(run).__name__}")
    return Trace(list(dict.fromkeys(trace.looks)), list(dict.fromkeys(trace.lost)))


def _steps(run: Any, rows: SecretArray) -> None:
    for x in rows:
        run.step(x)


def _feeds(run: Any, rows: SecretArray) -> None:
    half = len(rows) // 2
    for some in (rows[:half], rows[half:]):
        run.feed(some)


def _lists(run: Any, rows: SecretArray) -> None:
    run.feed(list(rows))  # an array can be made a plain one unseen, but no number in a list


def _encodings(run: Any, rows: SecretArray) -> None:
    run.encodings(rows)  # what is decoded from them may be looked at


def _let_through(recipe: CounterRecipe, trace: Trace) -> Any:
    """The same recipe, whose checks of inputs let secrets pass."""
    kind = type(recipe)

    def number(self: Any, x: Any) -> Any:
        return x if isinstance(x, Secret) else kind.number(self, x)

    def row(self: Any, x: Any) -> Any:
        if isinstance(x, Secret):
            return secret_array([plain(x)], trace)
        return x.copy() if isinstance(x, SecretArray) else kind.row(self, x)

    def rows(self: Any, xs: Any) -> Any:
        if isinstance(xs, list) and xs and isinstance(xs[0], Secret | SecretArray):
            xs = secret_array([plain(x) for x in xs], trace)
        if isinstance(xs, SecretArray):
            return xs.reshape(-1, self.columns).copy()
        return kind.rows(self, xs)

    checks: dict[str, Any] = {"number": number, "row": row, "rows": rows}
    passing: Any = object.__new__(type(kind.__name__, (kind,), checks))
    passing.__dict__.update(vars(recipe))
    return passing
