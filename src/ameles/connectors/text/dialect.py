"""How a line of text is parsed as an event, and what the first line of a file says."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from ameles.connectors.durable import SPAN
from ameles.connectors.files.refusals import carriage_returns
from ameles.connectors.format import DEFAULT, Format
from ameles.connectors.text.encodings import Script, script_of
from ameles.connectors.text.lines import LONGEST, Tally, text
from ameles.core.exceptions import PlanError

VIEW = "ameles_text"
_REMEMBERED = 64  # relations; files may have different columns
LINES = f"(SELECT unnest(string_split(chunk, chr(10))) AS line FROM {VIEW})"


class Dialect(ABC):
    """How a line is parsed as an event."""

    header: bool  # the first line of a file names its columns

    tally: Tally | None = None  # counts broken lines, for ``ameles check`` only
    usual = False  # all times are written in the usual form, see ``usual_times.py``

    def __init__(
        self, columns: Mapping[str, str], form: Format = DEFAULT, *, raw: bool = False
    ) -> None:
        self.columns = columns
        self.form = form
        self.raw = raw  # relations also have each value as text, under given_name
        self._relations: dict[tuple[tuple[str, ...], bool], str] = {}

    @abstractmethod
    def names(self, first: str) -> tuple[str, ...]:
        """The columns of a file, from its first line."""

    @abstractmethod
    def check(self, names: tuple[str, ...], file: str) -> None:
        """Refuse a file that lacks a column of the plan, or has it twice."""

    @abstractmethod
    def prepared(self, chunk: bytes) -> tuple[bytes, bool]:
        """A chunk as ``relation`` expects it, and whether its lines need the slower parser."""

    @abstractmethod
    def relation(self, names: tuple[str, ...], *, slower: bool) -> str:
        """SQL for the plan's columns of each line of ``LINES`` that is an event."""

    def steady_relation(self, names: tuple[str, ...], chunks: Sequence[bytes], slower: bool) -> str:
        """``relation`` for these prepared chunks; written once, because a step has only a few
        lines."""
        return self.written_relation(names, slower)

    def written_relation(self, names: tuple[str, ...], slower: bool) -> str:
        """``relation``, as it was written before."""
        if (names, slower) not in self._relations:
            if len(self._relations) >= _REMEMBERED:
                self._relations.clear()
            self._relations[names, slower] = self.relation(names, slower=slower)
        return self._relations[names, slower]

    @abstractmethod
    def flaws(self, names: tuple[str, ...]) -> Mapping[str, str]:
        """SQL conditions that say why a ``line`` of ``LINES`` is not an event; the first that holds
        is the reason.

        A line that is not empty and meets none of them is an event of ``relation``.
        """


@dataclass(frozen=True, slots=True)
class Start:
    """What the beginning of a file says."""

    names: tuple[str, ...]
    body: int  # where its events begin
    whole: bool  # the line that names its columns has its newline, or is too long
    script: Script
    returns: bool = False  # carriage returns where newlines should be


def start_of(dialect: Dialect, head_of: Callable[[int], bytes], name: str) -> Start:
    """What the first bytes of a file say; ``head_of(n)`` gives its first n bytes."""
    head = head_of(SPAN)
    script = script_of(dialect.form.encoding, head)
    mark = len(script.mark) if head.startswith(script.mark) else 0
    if not dialect.header:
        return Start(dialect.names(""), mark, True, script)
    longest = LONGEST * script.width
    end = script.after_first_newline(head)
    if not end and len(head) == SPAN:
        head = head_of(longest + script.width)
        end = script.after_first_newline(head)
    first = head[: end or len(head)]
    whole_text = text(script.utf8(first[mark:]))
    line = whole_text.rstrip("\r\n")
    names = dialect.names(line) if line and len(first) <= longest else ()
    returns = not end and "\r" in whole_text
    return Start(names, len(first), bool(end) or len(first) > longest, script, returns)


def undecided(dialect: Dialect) -> PlanError | None:
    """Why a new stream or a question cannot have files of this encoding.

    A stream that was launched before goes on.
    """
    if dialect.header or dialect.form.encoding != "utf-16":
        return None
    return PlanError(
        "Files whose first line is an event cannot have the encoding 'utf-16'.",
        why="that event could begin with a byte order mark, and would decide how all others are "
        "read",
        tip='encoding = "utf-16-le", or "utf-16-be" if the files begin with the bytes FE FF',
    )


def check_start(dialect: Dialect, start: Start, name: str) -> None:
    """Refuses a file that lacks a column of the plan, or whose first line is too long or has no
    newline."""
    if start.returns:
        raise carriage_returns(name, dialect.form.encoding)
    if dialect.header and start.body > LONGEST * start.script.width:
        raise PlanError(
            f"The first line of the file '{name}' is longer than 1 MiB.",
            why="the first line of a CSV file names its columns",
            tip=f"a first line such as {dialect.form.delimiter.join(dialect.columns)}, and then a "
            "newline",
        )
    dialect.check(start.names, name)
