"""The SQL that asks every event its questions: which step, which cells, how much.

Row-wise and total: what an event answers depends on that event, the plan and the public clock.
An event that cannot be read, or is of no open step, answers NULL and counts nowhere.
"""

from __future__ import annotations

from dataclasses import dataclass

from ameles.engine.condition import check_condition
from ameles.engine.plan import Plan
from ameles.measures.fields import identifier
from ameles.measures.measure import Measure

# A row may stand for up to so many events; one that claims more counts nowhere.
HEAVIEST = 1 << 40


@dataclass(frozen=True)
class Asking:
    """The questions of a plan's releases; releases that ask for the same cell share a column."""

    plan: Plan

    @property
    def cells(self) -> dict[str, str]:
        """For each release the name of its column of cells."""
        found: dict[str, str] = {}
        names: dict[str, str] = {}
        for release in self.plan.releases:
            text = self._cell(release)
            names[release.name] = found.setdefault(text, f"cell_{len(found)}")
        return names

    @property
    def amounts(self) -> dict[str, tuple[str, ...]]:
        """For each release the names of its columns of amounts."""
        found: dict[str, str] = {}
        return {
            release.name: tuple(
                found.setdefault(text, f"amount_{len(found)}") for text in release.question.amounts
            )
            for release in self.plan.releases
        }

    @property
    def columns(self) -> tuple[str, ...]:
        """All columns of cells and amounts, each once."""
        cells = dict.fromkeys(self.cells.values())
        amounts = dict.fromkeys(name for names in self.amounts.values() for name in names)
        return (*cells, *amounts)

    def events(
        self,
        relation: str,
        *,
        released: int,
        last: int,
        salt: str,
        arrived: int | None = None,
        share: int = 0,
        shares: int = 1,
    ) -> str:
        """SELECT step, answers and, for users, who and the event's place; counted rows only.

        ``released`` is the last step that was released: events of it and of earlier ones are
        late.  Events of steps after ``last`` count nowhere.  ``arrived`` is the step of events
        without a time.  Of the users, one share of several is taken.
        """
        stream, privacy = self.plan.stream, self.plan.privacy
        if shares > 1:  # first of all: the other rows need no answers
            part = f"hash('{salt}', CAST({identifier(privacy.user or '')} AS VARCHAR))"
            relation = f"(SELECT * FROM {relation} WHERE {part} % {shares} = {share})"
        if stream.time is None:
            own = "NULL" if arrived is None or arrived > last else str(arrived)
        else:
            own = self.plan.clock.step_sql(f"epoch_us({identifier(stream.time)})", last)
        late = str(released + 1) if stream.late == "next" and released < last else "NULL"
        answers = [*self._answers()]
        if privacy.user is not None:
            columns = ", ".join(identifier(name) for name in stream.columns)
            # Equal places are equal events: which of them is kept makes no difference.
            who = f"CAST({identifier(privacy.user)} AS VARCHAR)"
            answers += [
                f"{who} AS who",
                f"hash('{salt}', {columns}) AS place",
                f"hash('{salt}', {who}) AS part",
            ]
        if stream.weight is not None:
            answers.append(f"{identifier(stream.weight)} AS weight")
        asked = f"SELECT {own} AS own, {', '.join(answers)} FROM {relation}"
        step = f"CASE WHEN own > {released} THEN own ELSE {late} END AS step"
        kept = "own IS NOT NULL AND step IS NOT NULL"
        if privacy.user is not None:
            kept += " AND who IS NOT NULL"
        if stream.weight is not None:
            kept += f" AND weight BETWEEN -{HEAVIEST} AND {HEAVIEST}"
        return f"SELECT {step}, * EXCLUDE (own) FROM ({asked}) WHERE {kept}"

    def _answers(self) -> list[str]:
        cells, amounts = self.cells, self.amounts
        texts: dict[str, str] = {}
        for release in self.plan.releases:
            texts[cells[release.name]] = self._cell(release)
            for name, text in zip(amounts[release.name], release.question.amounts, strict=True):
                texts[name] = f"CAST({text} AS BIGINT)"
        return [f"{texts[name]} AS {name}" for name in self.columns]

    def _cell(self, release: Measure) -> str:
        cell = release.question.cell
        if release.where is None:
            return f"CAST({cell} AS BIGINT)"
        condition = check_condition(release.where, self.plan.stream.columns)
        return f"CASE WHEN TRY({condition}) IS TRUE THEN CAST({cell} AS BIGINT) END"


def wrapped_sum(amount: str) -> str:
    """SQL: a sum modulo 2**64, as BIGINT: an overflow error would depend on the data."""
    half, full = (f"{number}::HUGEINT" for number in (1 << 63, 1 << 64))
    rest = f"(sum(CAST({amount} AS HUGEINT)) + {half}) % {full}"
    return f"CAST(({rest} + {full}) % {full} - {half} AS BIGINT)"
