"""Asks the person at the terminal for what was not given as an option.

An invalid option is refused; after an invalid answer the question is asked again.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import date

from ameles.cli.plans import say
from ameles.core.exceptions import BadInput
from ameles.core.parameters import exact
from ameles.measures.key_words import REVEALING
from ameles.measures.keys import DISCOVERED
from ameles.plan.durations import Duration

Check = Callable[[str], object]


class Questions:
    """Answers about a file with the columns ``names``; if it is empty, any column may be named.

    ``hidden`` is the refusal of an unknown column if the names must not be shown.
    """

    def __init__(self, names: Sequence[str], hidden: BadInput | None = None) -> None:
        self.names = names
        self._hidden = hidden

    def text(
        self,
        question: str,
        given: str | None,
        default: str | None = None,
        check: Check = lambda answer: None,
    ) -> str:
        """The option if it was given, otherwise the answer; an empty answer means the default."""
        if given is not None:
            check(given.strip())
            return given.strip()
        while True:
            answer = _answer(question, default)
            try:
                check(answer)
            except BadInput as refusal:
                say(str(refusal), err=True)
            else:
                return answer

    def column(self, question: str, given: str | None, default: str | None = None) -> str:
        """The name of a column; empty only if that is the default."""

        def check(answer: str) -> None:
            if not answer and default is None:
                raise BadInput("A column must be named.", tip=self._some())
            if answer and self.names and answer not in self.names:
                if self._hidden is not None:
                    raise self._hidden
                raise BadInput(f"The file has no column {answer[:64]!r}.", tip=self._some())

        return self.text(question, given, default, check)

    def count(self, question: str, given: str | None, default: str) -> str:
        """A whole number of at least 1; empty only if that is the default."""

        def check(answer: str) -> None:
            if answer == default == "":
                return
            if not (answer.isascii() and answer.isdigit() and int(answer[:20])):
                raise BadInput(
                    f"It must be a whole number of at least 1. Got {answer[:40]!r}.", tip="10"
                )

        return self.text(question, given, default, check)

    def date(self, question: str, given: str | None) -> str:
        """A day, as 2026-01-01."""

        def check(answer: str) -> None:
            try:
                date.fromisoformat(answer)
            except ValueError:
                raise BadInput(
                    f"The first day must be a date. Got {answer[:40]!r} instead.",
                    why="a day is written as year-month-day",
                    tip="2026-01-01",
                ) from None

        return self.text(question, given, None, check)

    def duration(self, question: str, given: str | None, default: str) -> str:
        """A duration, such as 1d."""
        return self.text(question, given, default, Duration.read)

    def number(self, question: str, given: str | None, default: str) -> str:
        """An exact number."""
        return self.text(question, given, default, lambda answer: exact(answer, "epsilon"))

    def keys(self, question: str, given: str | None, *, asked: str) -> list[str]:
        """A list of keys, separated by commas; empty if ``asked``, the column, is empty."""

        def listed(answer: str) -> list[str]:
            return [key.strip() for key in answer.split(",") if key.strip()]

        def check(answer: str) -> None:
            if not listed(answer):
                raise BadInput(
                    f"The keys of '{asked}' must be listed.",
                    why=REVEALING,
                    tip=f"north,south; or {DISCOVERED}, for users and with a number of steps",
                )

        if not asked:
            if given:
                raise BadInput("--keys needs a column that has them.", tip="--by COLUMN")
            return []
        return listed(self.text(f"{question} (with commas)", given, None, check))

    def _some(self) -> str:
        shown = self.names and self._hidden is None
        return f"one of {', '.join(self.names)}" if shown else "a name from the first line"


def _answer(question: str, default: str | None) -> str:
    shown = f"[{default}] " if default else ""
    say(f"{question} {shown}", nl=False, err=True)
    try:
        return input().strip() or default or ""
    except EOFError:
        say("", err=True)
        raise BadInput(
            f"There is no answer to this question: {question}",
            why="it must be answered, and standard input has ended",
            tip="give all options on the command line; ameles init --help lists them",
        ) from None
