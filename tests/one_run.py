"""The checks that a payment is one run: no copies, no forks, and none beside a resumed one.

``recipe_checks`` has them for every recipe of the catalogue.  A run is found by what it can do, not
by its base class, and so are the runs that it holds, however deep.
"""

from __future__ import annotations

import copy
import inspect
import os
import pickle
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any

from ameles.core.exceptions import NoCopy, RunSpent
from ameles.ledger import Ledger

# What a run says of itself to anyone, and what makes it spent.
_HARMLESS = {"check_live", "check_process", "check_room", "spend"}
WAYS: tuple[Callable[[Any], Any], ...] = (copy.copy, copy.deepcopy, pickle.dumps)


def runs_of(thing: Any, seen: set[int] | None = None) -> Iterator[Any]:
    """A run and every run that can be reached from it through attributes and containers."""
    seen = set() if seen is None else seen
    if id(thing) in seen:
        return
    seen.add(id(thing))
    if callable(getattr(thing, "snapshot", None)):
        yield thing
    held = list(thing.values()) if isinstance(thing, dict) else []
    held += list(thing) if isinstance(thing, list | tuple | set) else []
    held += list(getattr(thing, "__dict__", {}).values()) if not isinstance(thing, type) else []
    for one in held:
        if not isinstance(one, int | float | str | bytes | type):
            yield from runs_of(one, seen)


def error_of(call: Callable[[], Any]) -> Exception | None:
    """What a call raises."""
    try:
        call()
    except Exception as problem:
        return problem
    return None


def still_answers(run: Any, x: Any) -> list[str]:
    """The public methods of a run that do something other than to refuse as spent."""
    answering = []
    for name, method in inspect.getmembers(run, inspect.ismethod):
        if name.startswith("_") or name in _HARMLESS:
            continue
        parameters = inspect.signature(method).parameters.values()
        needed = [each for each in parameters if each.default is each.empty]
        # Another error is no refusal: it has tried, and stumbled over what it was given.
        if not isinstance(error_of(partial(method, *([x] * len(needed)))), RunSpent):
            answering.append(f"{type(run).__name__}.{name}")
    return answering


def copies_of(run: Any) -> list[str]:
    """The runs here that can be copied or pickled, and how."""
    copies = []
    for one in runs_of(run):
        for way in WAYS:
            # Another error is chance: with another noise inside it could be copied.
            if not isinstance(error_of(partial(way, one)), NoCopy):
                copies.append(f"{type(one).__name__} by {way.__name__}")
    return copies


def answers_after_a_fork(run: Any, x: Any) -> bool:
    """Whether a forked child gets anything from a run of its parent, or from one inside it."""
    return bool(answering_after_a_fork([(run, x)]))


def answering_after_a_fork(runs: Sequence[tuple[Any, Any]]) -> list[int]:
    """The places of the runs, each with its input, from which a forked child gets anything.

    All of them, if the child fails.
    """
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        code = 2
        try:
            for place, (run, x) in enumerate(runs):
                if any(still_answers(one, x) for one in list(runs_of(run))):
                    os.write(writing, place.to_bytes(4, "big"))
            code = 0
        finally:
            os._exit(code)
    os.close(writing)
    with os.fdopen(reading, "rb") as told:
        places = told.read()
    if os.waitpid(child, 0)[1]:
        return list(range(len(runs)))
    return [int.from_bytes(places[i : i + 4], "big") for i in range(0, len(places), 4)]


def answers_beside_a_resumed_one(ledger: Ledger, recipe: Any, run: Any, x: Any) -> list[str]:
    """What a run, and the runs inside it, still do after the ledger has resumed it."""
    old = list(runs_of(run))
    resumed = ledger.resume(recipe, run.snapshot())
    beside = [one for one in old if any(one is new for new in runs_of(resumed))]
    return [name for one in old for name in still_answers(one, x)] + [repr(one) for one in beside]
