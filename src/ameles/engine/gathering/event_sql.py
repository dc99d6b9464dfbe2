"""The SQL of an event: its step, its cells, its amounts, and its user.

The expressions are row-wise and total: they depend only on that event, the plan and the public
clock.  For an event that cannot be read, or belongs to no open step, they are NULL, and the event
counts nowhere.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property

from ameles.connectors.typed_columns import HEAVIEST
from ameles.engine.gathering.moment import Moment
from ameles.measures.fields import identifier
from ameles.measures.measure import Measure
from ameles.plan.condition import check_condition
from ameles.plan.plan import Plan

# The amount of an event in a plain count.
ONE = "one"
KEY_BYTES = 16  # bytes of a user's keyed hash in the store


@dataclass(frozen=True)
class EventSql:
    """The columns of an event that a plan's releases need; equal cells share a column."""

    plan: Plan

    @cached_property
    def cells(self) -> dict[str, str]:
        """For each release, the name of its column of cells."""
        columns: dict[str, str] = {}
        names: dict[str, str] = {}
        for release in self.plan.releases:
            text = self._cell(release)
            names[release.name] = columns.setdefault(text, f"cell_{len(columns)}")
        return names

    @cached_property
    def amounts(self) -> dict[str, tuple[str, ...]]:
        """For each release, the names of its columns of amounts; ONE stands for no column."""
        columns: dict[str, str] = {"1": ONE}
        return {
            release.name: tuple(
                columns.setdefault(text, f"amount_{len(columns)}")
                for text in release.question.amounts
            )
            for release in self.plan.releases
        }

    @cached_property
    def words(self) -> dict[str, str]:
        """For each release whose keys are discovered, the name of its column of keys."""
        columns: dict[str, str] = {}
        return {
            release.name: columns.setdefault(release.question.word, f"word_{len(columns)}")
            for release in self.plan.releases
            if release.question.word is not None
        }

    @cached_property
    def columns(self) -> tuple[str, ...]:
        """All columns of cells, amounts and keys, each once."""
        cells = dict.fromkeys(self.cells.values())
        amounts = dict.fromkeys(name for names in self.amounts.values() for name in names)
        words = dict.fromkeys(self.words.values())
        return (*cells, *(name for name in amounts if name != ONE), *words)

    def select(
        self,
        relation: str,
        moment: Moment,
        secret: bytes,
        *,
        share: int = 0,
        shares: int = 1,
        number: Callable[[int], str] = str,
    ) -> str:
        """SELECT step, answers and, for users, the user; counted rows only.

        Events of released steps are late; events after the last step count nowhere.  ``secret`` is
        the stream's salt.  The query selects one of several shares of the users.  ``number`` writes
        a number that depends on the moment.
        """
        stream, privacy, salt = self.plan.stream, self.plan.privacy, secret.hex()
        if shares > 1:  # filter first: other rows need no answers
            part = f"hash('{salt}', CAST({identifier(privacy.user or '')} AS VARCHAR))"
            relation = f"(SELECT * FROM {relation} WHERE {part} % {shares} = {share})"
        step, kept = self.counted(moment, number)
        answers = [f"{step} AS step", *self._answers]
        if privacy.user is not None:
            who = f"CAST({identifier(privacy.user)} AS VARCHAR)"
            answers += [
                f"{who} AS who",
                f"hash('{salt}', {who}) AS part",
            ]
        if stream.weight is not None:
            answers.append(f"{identifier(stream.weight)} AS weight")
        return f"SELECT {', '.join(answers)} FROM {relation} WHERE {kept}"

    def counted(self, moment: Moment, number: Callable[[int], str] = str) -> tuple[str, str]:
        """SQL: an event's step, and whether it counts at all, before the bounds of users."""
        privacy = self.plan.privacy
        step, kept = self._step(moment, number)
        if privacy.user is not None:
            kept += f" AND {identifier(privacy.user)} IS NOT NULL"
        if self.plan.stream.weight is not None:
            kept += f" AND {self._weighs}"
        return step, kept

    @property
    def _weighs(self) -> str:
        """SQL: whether an event has a weight, if it needs one."""
        weight = self.plan.stream.weight
        if weight is None:
            return "true"
        # Under the first rules a larger weight counts nowhere; today weights are clamped.
        return f"{identifier(weight)} BETWEEN -{HEAVIEST} AND {HEAVIEST}"

    def select_few(self, relation: str) -> str:
        """SELECT time in microseconds, weight and all columns of each event, whatever its step.

        It is the same text in all steps; ``steps`` tells which of the events count.
        """
        stream = self.plan.stream
        us = "NULL" if stream.time is None else f"epoch_us({identifier(stream.time)})"
        weight = "1" if stream.weight is None else f"CAST({identifier(stream.weight)} AS HUGEINT)"
        answers = ", ".join([f"{us} AS us", f"{weight} AS weight", *self._answers])
        return f"SELECT {answers} FROM {relation} WHERE {self._weighs}"

    def steps(self, moment: Moment, times: Sequence[int | None]) -> list[int | None]:
        """The steps of events, by their times; None for an event that counts nowhere.

        ``counted`` is the same in SQL.
        """
        released, last, arrived = moment.released, moment.last, moment.arrived
        stream, clock, opening = self.plan.stream, self.plan.clock, released + 1
        joins = stream.late == "next"
        if released >= last:
            return [None] * len(times)
        if stream.time is None:
            counts = arrived is not None and arrived <= last and (arrived > released or joins)
            return [max(arrived or 0, opening) if counts else None] * len(times)
        opened, end = clock.start_of(opening), clock.end_of(last)
        earliest = clock.first if joins else opened
        return [
            None
            if us is None or not earliest <= us < end
            else opening
            if us < opened
            else clock.ended(us) + 1
            for us in times
        ]

    def _step(self, moment: Moment, number: Callable[[int], str]) -> tuple[str, str]:
        """SQL: an event's step, and whether it has one."""
        released, last, arrived = moment.released, moment.last, moment.arrived
        stream, clock, opening = self.plan.stream, self.plan.clock, released + 1
        if released >= last:
            return "NULL", "false"
        joins = stream.late == "next"  # late events join the open step
        if stream.time is None:
            if arrived is None or arrived > last or (arrived <= released and not joins):
                return "NULL", "false"
            return number(max(arrived, opening)), "true"
        us = f"epoch_us({identifier(stream.time)})"
        earliest = clock.first if joins else clock.start_of(opening)
        step = clock.step_sql(us, opening, last, number)
        if joins and released:
            edge = number(clock.start_of(opening))
            step = f"CASE WHEN {us} < {edge} THEN {number(opening)} ELSE {step} END"
        # A filter on the time: DuckDB would compute the step several times.
        return step, f"{us} >= {number(earliest)} AND {us} < {number(clock.end_of(last))}"

    @cached_property
    def _answers(self) -> list[str]:
        cells, amounts, words = self.cells, self.amounts, self.words
        texts: dict[str, str] = {}
        for release in self.plan.releases:
            texts[cells[release.name]] = self._cell(release)
            if release.question.word is not None:
                texts[words[release.name]] = release.question.word
            for name, text in zip(amounts[release.name], release.question.amounts, strict=True):
                texts[name] = f"CAST({text} AS BIGINT)"
        return [f"{texts[name]} AS {name}" for name in self.columns]

    def matches(self, release: Measure) -> str:
        """SQL: whether an event meets a release's condition."""
        if release.where is None:
            return "true"
        condition = check_condition(release.where, self.plan.stream.columns)
        return f"TRY({condition}) IS TRUE"

    def _cell(self, release: Measure) -> str:
        cell = f"CAST({release.question.cell} AS BIGINT)"
        if release.where is None:
            return cell
        return f"CASE WHEN {self.matches(release)} THEN {cell} END"


def user_hash(salt: bytes, who: str) -> str:
    """SQL: the keyed hash of a user, as hexadecimal digits."""
    return f"left(sha256('{salt.hex()}' || {who}), {2 * KEY_BYTES})"


def user_key(salt: bytes, who: str) -> str:
    """SQL: the keyed hash that is stored instead of a user."""
    return f"unhex({user_hash(salt, who)})"


def user_number(salt: bytes, who: str) -> str:
    """SQL: a keyed hash of a user as a number, for tables of cells.

    It has 60 bits: no table has so many cells that some are hit noticeably more often than others.
    """
    return f"CAST('0x' || left(sha256('{salt.hex()}' || {who}), 15) AS BIGINT)"


def sum_of(amount: str, weight: str | None) -> str:
    """SQL: the sum of a group's events, a BIGINT."""
    if weight is None:
        return "count(*)" if amount == ONE else wrapped(f"sum(CAST({amount} AS HUGEINT))")
    times = "" if amount == ONE else f" * CAST({amount} AS HUGEINT)"
    return wrapped(f"sum(CAST({weight} AS HUGEINT){times})")


def wrapped(total: str) -> str:
    """SQL: a HUGEINT modulo 2**64, as BIGINT: an overflow error would depend on the data."""
    half, full = (f"{number}::HUGEINT" for number in (1 << 63, 1 << 64))
    rest = f"({total} + {half}) % {full}"
    return f"CAST(({rest} + {full}) % {full} - {half} AS BIGINT)"
