"""Questions that were paid for, and their answers: each is stored once, under its ledger entry.

A question is stored in the transaction that pays for it, with the run that was bought, before its
first step.  The answer is computed outside of any transaction and stored afterwards; only a stored
answer may be shown.  If the process dies in between, another that asks the same question resumes
the run.  Of two answers to one payment the first that was stored stays, and both processes show it.
"""

from __future__ import annotations

from datetime import UTC, datetime

from ameles.core.exceptions import StoreRefused
from ameles.mechanisms.snapshot import run_id
from ameles.store.records import QuestionRecord, microseconds, moment
from ameles.store.session import Row, TransactionPart

_ANSWER = "entry, question, label, snapshot, answer, asked, answered"


class Answers(TransactionPart):
    """Paid questions of populations, and their answers."""

    def add_question(
        self,
        population: str,
        *,
        entry: int,
        question: str,
        label: str | None,
        snapshot: bytes,
        asked: datetime | None = None,
    ) -> QuestionRecord:
        """Stores a question that was paid for by a ledger entry.

        ``question`` is its canonical text, ``label`` the owner's public version of the data.
        ``snapshot`` is the bought run before its first step.
        """
        number = self._population(population)
        run = self._bought(population, number, entry)
        if run_id(snapshot) != (run, 0):
            raise StoreRefused(
                f"This snapshot is not of the run that entry {entry} bought, before its first "
                "step.",
                why="after a crash the question is computed again from it",
                tip="run.snapshot() when the run is bought",
            )
        at = datetime.now(UTC) if asked is None else asked
        self._session.write(
            "INSERT INTO answer (population, entry, question, label, snapshot, asked) "
            "VALUES (?, ?, ?, ?, ?, ?)",
            (number, entry, question, label, snapshot, microseconds(at)),
            double=f"Entry {entry} of population '{population}' paid for another question before.",
        )
        return QuestionRecord(
            population=population,
            entry=entry,
            question=question,
            label=label,
            snapshot=snapshot,
            asked=at,
        )

    def questions(
        self, population: str, question: str | None = None, *, label: str | None = None
    ) -> tuple[QuestionRecord, ...]:
        """The paid questions of a population in the order of their entries.

        With ``question``, those with this text about data of this ``label``; None: about data
        without a label.
        """
        number = self._population(population)
        chosen, values = (
            ("", (number,)) if question is None else (" AND question = ?", (number, question))
        )
        rows = self._session.rows(
            f"SELECT {_ANSWER} FROM answer WHERE population = ?{chosen} ORDER BY entry", values
        )
        stored = (_question(population, row) for row in rows)
        return tuple(one for one in stored if question is None or one.label == label)

    def set_answer(
        self, population: str, entry: int, text: str, *, answered: datetime | None = None
    ) -> str:
        """Stores the answer of a question and erases its snapshot; returns the stored answer.

        That is another one if the question was answered before: the first answer stays.
        """
        number = self._population(population)
        row = self._session.row(
            "SELECT answer FROM answer WHERE population = ? AND entry = ?", (number, entry)
        )
        if row is None:
            raise StoreRefused(
                f"Entry {entry} of population '{population}' paid for no question.",
                tip="transaction.add_question(...) in the transaction that pays",
            )
        if row[0] is not None:
            return str(row[0])
        at = datetime.now(UTC) if answered is None else answered
        self._session.write(
            "UPDATE answer SET answer = ?, answered = ?, snapshot = ? "
            "WHERE population = ? AND entry = ?",
            (text, microseconds(at), b"", number, entry),
        )
        return text

    def _population(self, name: str) -> int:
        row = self._session.row("SELECT number FROM population WHERE name = ?", (name,))
        if row is None:
            raise StoreRefused(
                f"The store has no population '{name}'.",
                tip="transaction.open_population(...)",
            )
        return int(row[0])

    def _bought(self, population: str, number: int, entry: int) -> str:
        """The run that an entry bought, if it is not the run of a stream."""
        row = self._session.row(
            "SELECT run FROM entry WHERE population = ? AND number = ? AND NOT EXISTS "
            "(SELECT 1 FROM state JOIN stream ON stream.number = state.stream "
            "WHERE stream.population = entry.population AND state.entry = entry.number)",
            (number, entry),
        )
        if row is None:
            raise StoreRefused(
                f"Nothing was paid for this: the ledger of population '{population}' has no entry "
                f"{entry} for a question.",
                why="every question names the entry that paid for it, and a stream's entries are "
                "for its releases",
                tip="ledger.start(...) in the same transaction",
            )
        return str(row[0])


def _question(population: str, row: Row) -> QuestionRecord:
    entry, question, label, snapshot, answer, asked, answered = row
    return QuestionRecord(
        population=population,
        entry=entry,
        question=question,
        label=label,
        snapshot=bytes(snapshot),
        answer=answer,
        asked=moment(asked),
        answered=None if answered is None else moment(answered),
    )
