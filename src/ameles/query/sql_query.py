"""A whole SELECT with everything that was declared about it: its questions, and their answers.

All questions share epsilon and delta equally.  Columns of GROUP BY whose keys are discovered come
first, and what is asked afterwards is asked of the keys that were published.  Where such a column
is the only one and rows are counted, the count discovers the keys itself, by the same noise.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from ameles.core.exceptions import BudgetExceeded
from ameles.core.parameters import Exact
from ameles.query.account import Account
from ameles.query.answer import Answer
from ameles.query.query import Query, chosen_keys
from ameles.query.sql import Aggregate, Parsed
from ameles.query.sql_questions import (
    ColumnBounds,
    SqlQuestion,
    key_count_question,
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
        """The questions that discover keys."""
        if self._counted is not None:
            return [key_count_question(self.parsed, self.tables, self._counted.label)]
        return [key_question(self.parsed, self.tables, column) for column in self._private]

    @property
    def asked(self) -> list[SqlQuestion]:
        """The questions of the other aggregates; keys that are not published yet cost the same."""
        return self._asked({column: ["?"] for column in self._private})

    def explain(self) -> str:
        """What each question would cost; nothing is read or paid."""
        each = self._shares
        return "\n".join(
            f"{one.label}: {one.explain(*each)}" for one in [*self.choices, *self.asked]
        )

    def check_fits(self, account: Account) -> None:
        """Raises if anything is missing, or if all questions together cost too much."""
        self._check(account, [*self.choices, *self.asked])

    def refusal(self, account: Account) -> BudgetExceeded | None:
        """Why the budget would refuse to pay; None if it would pay, or if keys that are stored
        already decide about it."""
        each, choices = self._shares, self.choices
        if choices and all(account.stored(one.paid(*each)) for one in choices):
            return None
        try:
            self.check_fits(account)
        except BudgetExceeded as refused:
            return refused
        return None

    def ask(self, account: Account) -> list[Answer]:
        """Asks all questions and pays, after checking that the budget suffices for all of them.

        Answers that are stored already cost nothing.
        """
        each, choices = self._shares, self.choices
        if not all(account.stored(one.paid(*each)) for one in choices):
            self.check_fits(account)  # before keys are published, no answer is stored
        chosen = [one.ask(*each) for one in choices]
        answers = {} if self._counted is None else {self._counted.label: chosen[0]}
        if len(answers) < len(self.parsed.aggregates):
            named = zip(self._private, chosen, strict=True)
            asked = self._asked({column: chosen_keys(column, keys) for column, keys in named})
            self._check(account, asked)
            answers |= {one.label: one.ask(*each) for one in asked}
        return [answers[one.label] for one in self.parsed.aggregates]

    @property
    def _private(self) -> list[str]:
        """The columns whose keys are discovered, each once."""
        return list(dict.fromkeys(self.private_keys))

    @property
    def _counted(self) -> Aggregate | None:
        """The aggregate that discovers the keys of the only column of GROUP BY and counts them."""
        if len(self._private) != 1 or [*self.parsed.keys] != self._private:
            return None
        counts = (one for one in self.parsed.aggregates if one.end == "noisy_count")
        return next(counts, None)

    def _check(self, account: Account, asked: Sequence[SqlQuestion]) -> None:
        questions = [one.paid(*self._shares) for one in asked]
        unpaid = [one.recipe for one in questions if not account.stored(one)]
        if unpaid:
            account.check_fits(unpaid, on="the query")

    @property
    def _shares(self) -> tuple[Exact, Exact]:
        count = len(self.parsed.aggregates)
        count += len(self._private) if self._counted is None else 0
        return shares(self.epsilon, count), shares(self.delta, count)

    def _asked(self, named: Mapping[str, Sequence[str]]) -> list[SqlQuestion]:
        others = tuple(one for one in self.parsed.aggregates if one != self._counted)
        return questions(
            replace(self.parsed, aggregates=others),
            self.tables,
            bounds=self.bounds,
            keys={**self.keys, **named},
        )
