"""All problems of a plan at once, each with its key, the reason, and what to write instead."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Any

from pydantic import ValidationError
from pydantic_core import ErrorDetails

from ameles.core.exceptions import PlanError
from ameles.core.words import printable

LONGEST_KEY = 200  # of what a message shows


@dataclass(frozen=True, slots=True)
class Problem:
    """One thing that is wrong, and where."""

    key: str
    what: str
    why: str = ""
    tip: str = ""

    def __str__(self) -> str:
        key = self.key if len(self.key) <= LONGEST_KEY else f"{self.key[:LONGEST_KEY]}..."
        place = f"{key}: " if key else ""
        lines = [f"error[plan]: {printable(place + self.what)}"]
        lines += [f"  why: {printable(self.why)}"] if self.why else []
        lines += [f"  try: {printable(self.tip)}"] if self.tip else []
        return "\n".join(lines)


class BadPlan(PlanError):
    """The refusal of a plan, with all of its problems."""

    def __init__(self, problems: Sequence[Problem]) -> None:
        first = problems[0]
        super().__init__(f"{first.key}: {first.what}", why=first.why, tip=first.tip)
        self.problems = tuple(problems)

    def __str__(self) -> str:
        return "\n".join(str(problem) for problem in self.problems)

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.problems,)


def problems_of(failure: ValidationError, place: str, known: Iterable[str]) -> list[Problem]:
    """The problems that the validation of a section found, in the words of a plan."""
    names = list(known)
    return [_problem(error, place, names) for error in failure.errors(include_url=False)]


def _problem(error: ErrorDetails, place: str, known: list[str]) -> Problem:
    parts = [str(part) for part in error["loc"] if not str(part).endswith("[key]")]
    key = ".".join([place, *parts]) if place else ".".join(parts)
    context = error.get("ctx", {})
    name = parts[-1] if parts else place
    match error["type"]:
        case "ameles":
            return Problem(key, context["what"], context["why"], context["tip"])
        case "missing":
            return Problem(key, "It is missing.", tip=f"{name} = ...")
        case "extra_forbidden":
            near = get_close_matches(name, known, n=1)
            tip = f"{near[0]}" if near else f"one of {', '.join(sorted(known))}"
            return Problem(key, "There is no such key.", tip=tip)
        case "literal_error":
            expected = str(context["expected"])
            return Problem(key, f"It must be {expected}.", tip=f"{name} = {_first(expected)}")
        case "greater_than_equal" | "less_than_equal":
            limit = context.get("ge", context.get("le"))
            side = "at least" if "ge" in context else "at most"
            return Problem(key, f"It must be {side} {limit}.", tip=f"{name} = {limit}")
        case kind if kind in _KINDS:
            what, example = _KINDS[kind]
            return Problem(key, f"It must be {what}.", tip=f"{name} = {example}")
        case "model_type" | "model_attributes_type":
            return Problem(key, "It must be a table.", tip=f"[{key}]")
        case "string_too_short" | "too_short":
            return Problem(key, "It must not be empty.", tip=f"{name} = ...")
    said = str(error["msg"])
    return Problem(key, f"{said[:1].upper()}{said[1:]}.")


_KINDS = {
    "string_type": ("a text in quotes", '"..."'),
    "int_type": ("a whole number", "1"),
    "bool_type": ("true or false", "true"),
    "dict_type": ("a table", "{ ... }"),
    "list_type": ("a list", "[...]"),
    "tuple_type": ("a list", "[...]"),
}


def _first(expected: str) -> str:
    """The first of the texts that pydantic lists, as it is written in a plan.

    >>> _first("'next' or 'drop'")
    '"next"'
    """
    return '"' + expected.split("'")[1] + '"'
