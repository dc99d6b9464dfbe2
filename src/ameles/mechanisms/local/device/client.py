"""What runs on a user's device: it randomises, keeps the user's own budget, and writes reports.

This folder needs the standard library alone and imports nothing else of Ameles, so that it can be
copied to a device.  The client trusts nobody: it computes the loss of a question from the
question's own numbers, and draws its own randomness.

Theorem      Dwork-Roth 2014, Def 12.3 (catalogue 30): answers to questions that lose e_1, e_2, ...
             lose their sum, also if each question depends on earlier answers; a question that
             would exceed the cap is refused.  The refusal depends on the budget and the question,
             never on the value
Budget       a file of lines that is only ever appended to: one line for each answer, written to
             the disk before the answer is handed out.  The same question is answered with the
             same report, for free: a second draw could be averaged with the first

A copy of the file would be another budget for the same value.  The file names its own device and
inode, so a copy is refused.  A file that is written back in place of itself is noticed only by a
client that is running.

>>> import tempfile, pathlib
>>> folder = tempfile.TemporaryDirectory()
>>> client = Client.create(pathlib.Path(folder.name) / "budget", cap="2")
>>> question = '{"ameles":"question","version":1,"id":"flu","randomizer":' + (
...     '{"recipe":"RandomizedResponse","version":1,"categories":2,"epsilon":"1","odds":null}}')
>>> client.answer(question, value=1) == client.answer(question, value=1), str(client.spent)
(True, '1')
>>> client.answer(question.replace("flu", "tax").replace('"1"', '"1.5"'), value=1)
'{"ameles":"refusal","version":1,"question":"tax","why":"budget"}'
>>> folder.cleanup()
"""

from __future__ import annotations

import fcntl
import json
import operator
import os
import secrets
from collections.abc import Callable
from contextlib import suppress
from fractions import Fraction
from pathlib import Path
from typing import Any

from .questions import Question, Unfit, amount

LONGEST_FILE = 1 << 24


class BudgetRefused(Exception):
    """A budget file that must not be used."""


class Client:
    """A user's side: one value at a time, one budget for life.

    >>> import tempfile, pathlib
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     client = Client.create(pathlib.Path(folder) / "budget", cap="1.5")
    ...     print(client.cap, client.spent)
    3/2 0
    """

    def __init__(self, path: str | Path, *, draw: Callable[[int], int] = secrets.randbelow) -> None:
        self._path = Path(path)
        self._draw = draw
        self._known = 0  # bytes of the file that this client has seen
        self._look()

    @classmethod
    def create(
        cls,
        path: str | Path,
        *,
        cap: str | int | Fraction,
        draw: Callable[[int], int] = secrets.randbelow,
    ) -> Client:
        """A new budget; a file that is there already is refused (``FileExistsError``)."""
        try:
            most = amount(str(cap))
        except Unfit:
            raise BudgetRefused("A cap must be written like 2, '0.5' or '1/3'.") from None
        handle = os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600)
        with os.fdopen(handle, "wb") as file:
            here = os.fstat(file.fileno())
            head = {"ameles": "budget", "version": 1, "cap": str(most), "file": _identity(here)}
            file.write(_line(head))
            file.flush()
            os.fsync(file.fileno())
        _sync_folder(Path(path))
        return cls(path, draw=draw)

    @property
    def cap(self) -> Fraction:
        """The most that all answers together may reveal."""
        return self._look()[0]

    @property
    def spent(self) -> Fraction:
        """What the answers so far reveal together."""
        return _spent(self._look()[1])

    def answer(self, question: str, value: object) -> str:
        """The report to a question about the user's value, or a public refusal; as JSON.

        A value is a whole number; True is 1.  Anything else is randomised too, as a value that is
        not listed.
        """
        try:
            asked = Question.read(question)
        except Unfit:
            return _refusal("", "question")
        listed = _whole(value)
        try:
            with self._path.open("r+b") as file:
                fcntl.flock(file, fcntl.LOCK_EX)
                cap, answers, end = self._read(file)
                if asked.id in answers:
                    given = answers[asked.id]
                    same = given["randomizer"] == asked.fingerprint
                    return _report(asked, given) if same else _refusal(asked.id, "question")
                if _spent(answers) + asked.loss > cap:
                    return _refusal(asked.id, "budget")
                given = {
                    "question": asked.id,
                    "randomizer": asked.fingerprint,
                    "epsilon": str(asked.loss),
                    "nonce": secrets.token_hex(16),
                    "report": asked.randomized(listed, self._draw),
                }
                file.truncate(end)  # what a crash left of a line was never handed out
                file.seek(end)
                file.write(_line(given))
                file.flush()
                os.fsync(file.fileno())
                self._known = file.tell()
        except (OSError, BudgetRefused):
            return _refusal(asked.id, "budget")
        return _report(asked, given)

    def _look(self) -> tuple[Fraction, dict[str, dict[str, Any]], int]:
        """What the file has, while nobody appends."""
        with self._path.open("r+b") as file:
            fcntl.flock(file, fcntl.LOCK_SH)
            return self._read(file)

    def _read(self, file: Any) -> tuple[Fraction, dict[str, dict[str, Any]], int]:
        """The cap, the answers, and where the last whole line ends; a foreign file is refused."""
        text = file.read(LONGEST_FILE + 1)
        end = text.rfind(b"\n") + 1
        if end < self._known or len(text) > LONGEST_FILE:
            raise BudgetRefused("The budget file has lost answers, or is too long.")
        try:
            head, *lines = [json.loads(line) for line in text[:end].splitlines()]
            right = (head["ameles"], head["version"]) == ("budget", 1)
            cap = amount(head["cap"])
            answers = {line["question"]: line for line in lines}
            _spent(answers)
        except (ValueError, TypeError, LookupError, RecursionError, Unfit):
            raise BudgetRefused("This is no budget file, or it is damaged.") from None
        if not right or head["file"] != _identity(os.fstat(file.fileno())):
            raise BudgetRefused("This budget file is a copy, or was moved to another disk.")
        self._known = end
        return cap, answers, end


def _whole(value: Any) -> int | None:
    try:
        return int(operator.index(value))
    except Exception:  # whatever it is, a refusal would tell
        return None


def _spent(answers: dict[str, dict[str, Any]]) -> Fraction:
    return sum((amount(answer["epsilon"]) for answer in answers.values()), Fraction(0))


def _identity(there: os.stat_result) -> list[int]:
    return [there.st_dev, there.st_ino]


def _line(document: dict[str, Any]) -> bytes:
    return json.dumps(document, separators=(",", ":")).encode() + b"\n"


def _report(asked: Question, given: dict[str, Any]) -> str:
    report = {"ameles": "report", "version": 1, "question": asked.id}
    report |= {name: given[name] for name in ("randomizer", "nonce", "report")}
    return json.dumps(report, separators=(",", ":"))


def _refusal(question: str, why: str) -> str:
    refusal = {"ameles": "refusal", "version": 1, "question": question, "why": why}
    return json.dumps(refusal, separators=(",", ":"))


def _sync_folder(path: Path) -> None:
    with suppress(OSError):
        folder = os.open(path.parent, os.O_RDONLY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)
