"""How far a release may be from the truth, as numbers that code can use."""

from __future__ import annotations

import operator
from collections.abc import Callable
from functools import wraps
from numbers import Real
from typing import TYPE_CHECKING, Any, Protocol, TypeVar, cast

from ameles.core.parameters import refuse

if TYPE_CHECKING:
    from ameles.core.noise import FloatArray, IntArray


class Error(Protocol):
    """A bound on the noise of one key's releases; steps count from 1."""

    def bound(self, t: int, beta: float) -> float:
        """The error at step ``t`` is at most this with probability at least 1 - beta."""
        ...

    def bound_all(self, steps: int, beta: float) -> float:
        """All of the first ``steps`` errors are at most this, with probability 1 - beta."""
        ...


class AdditiveError(Error, Protocol):
    """The error of a mechanism that adds noise with mean zero to the truth."""

    def std(self, t: int) -> float:
        """The standard deviation of the noise at step ``t``."""
        ...

    def bounds(self, steps: IntArray, beta: float) -> FloatArray:
        """``bound`` at each of these steps, all at once."""
        ...

    def between_bounds(self, before: IntArray, after: IntArray, beta: float) -> FloatArray:
        """For each total over steps before + 1, ..., after: its error is at most this with
        probability at least 1 - beta."""
        ...


Method = TypeVar("Method", bound=Callable[..., float])


def checks_step(method: Method) -> Method:
    """Makes ``bound``, ``bound_all`` or ``std`` refuse an invalid step or ``beta``."""
    name = method.__code__.co_varnames[1]  # "t" or "steps"

    @wraps(method)
    def checked(self: Any, *given: Any, **named: Any) -> float:
        if given or name in named:
            _check_step(name, given[0] if given else named[name])
        if len(given) > 1 or "beta" in named:
            check_beta(given[1] if len(given) > 1 else named["beta"])
        return method(self, *given, **named)

    return cast("Method", checked)


def _check_step(name: str, step: object) -> None:
    try:
        fits = operator.index(cast("int", step)) >= 1
    except TypeError:
        fits = False
    if not fits:
        raise refuse(name, "an integer from 1 on", step)


def check_beta(beta: object) -> None:
    """Refuses what is no probability between 0 and 1."""
    if not isinstance(beta, Real) or not 0 < float(beta) < 1:
        raise refuse("beta", "a probability above 0 and below 1", beta)
