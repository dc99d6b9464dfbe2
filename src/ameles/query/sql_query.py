"""A whole SELECT with everything that was declared about it: its questions, and their answers.

All questions share epsilon and delta equally.  Columns of GROUP BY whose keys are chosen privately
come first, and what is asked afterwards is asked of the keys that were chosen.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from ameles.core.parameters import Exact
from ameles.query.account import Account
from ameles.query.answer import Answer
from ameles.query.query import Query, chosen_keys
from ameles.query.sql import Parsed
from ameles.query.sql_questions import (
    ColumnBounds,
    SqlQuestion,
    key_question,
    questions,
    shares,
)


@dataclass(frozen=True, kw_only=True)
class SqlQuery:
    """A SELECT, its tables, and the bounds and keys that it needs."""

    parsed: Parsed
    tables: Mapping[str, Query]
    bounds: Mapping[str, ColumnBounds]
    keys: Mapping[str, Sequence[str]]
    private_keys: Sequence[str]
    epsilon: Exact
    delta: Exact

    @property
    def choices(self) -> list[SqlQuestion]:
        """The questions that choose keys."""
        chosen = dict.fromkeys(self.private_keys)
        return [key_question(self.parsed, self.tables, column) for column in chosen]

    @property
    def asked(self) -> list[SqlQuestion]:
        """The question of each aggregate; keys that are not chosen yet cost the same."""
        return self._asked({column: ["?"] for column in self.private_keys})

    def explain(self) -> str:
        """What each question would cost; nothing is read or paid."""
        each = self._shares
        return "\n".join(
            f"{one.label}: {one.explain(*each)}" for one in [*self.choices, *self.asked]
        )

    def check_fits(self, account: Account) -> None:
        """Raises if anything is missing, or if all questions together cost too much."""
        self._check(account, [*self.choices, *self.asked])

    def ask(self, account: Account) -> list[Answer]:
        """Asks all questions and pays, after a check that all of them can be paid.

        Answers that are stored already cost nothing.
        """
        each, choices = self._shares, self.choices
        if not all(account.stored(one.paid(*each)) for one in choices):
            self.check_fits(account)  # as long as keys are not chosen, no answer is stored
        chosen = {one.label: chosen_keys(one.label, one.ask(*each)) for one in choices}
        asked = self._asked(chosen)
        self._check(account, asked)
        return [one.ask(*each) for one in asked]

    def _check(self, account: Account, asked: Sequence[SqlQuestion]) -> None:
        questions = [one.paid(*self._shares) for one in asked]
        unpaid = [one.recipe for one in questions if not account.stored(one)]
        if unpaid:
            account.check_fits(unpaid, on="the query")

    @property
    def _shares(self) -> tuple[Exact, Exact]:
        count = len(self.parsed.aggregates) + len(dict.fromkeys(self.private_keys))
        return shares(self.epsilon, count), shares(self.delta, count)

    def _asked(self, chosen: Mapping[str, Sequence[str]]) -> list[SqlQuestion]:
        keys = {**self.keys, **chosen}
        return questions(self.parsed, self.tables, bounds=self.bounds, keys=keys)
