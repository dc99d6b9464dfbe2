"""Engines that break locality, each in its way: the checks see every one of them."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path
from typing import Any

import duckdb
import pytest

from ameles.connectors import typed_columns as typed
from ameles.connectors.text import lines as connector_lines
from ameles.connectors.text import piece as text_piece
from ameles.engine.gathering.bounded_reading import Bounded
from ameles.engine.gathering.bounding import Bounding
from ameles.engine.gathering.event_sql import EventSql
from ameles.engine.gathering.pending import Totals
from ameles.engine.gathering.temporary_tables import TemporaryTables
from ameles.noise.arrays import IntArray
from ameles.plan.clock import Clock
from tests.engine.crowds import ANYWHERE, FIRST, LINES, NORTH, SECOND, line, with_eve, with_line
from tests.engine.neighbours import Line, Pretender, Site, check, violations


class TestBrokenEngines:
    """Each breaks a rule, and the checks above see it."""

    def seen(self, folder: Path, unit: str, name: str, part: int = 1) -> list[str]:
        site, more = Site(folder, unit), LINES[name]
        base = site.view("base", FIRST, SECOND)
        return check(site, base, site.view("other", *with_line(more.text, part)), more, part)

    def test_a_quote_that_reaches_over_lines(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        def read_as_usual(read: Any, **given: Any) -> Iterator[bytes]:
            for block in connector_lines.blocks(read, **given):
                rows = csv.reader(io.StringIO(block.decode(errors="replace").replace("\0", "")))
                fields = [[f.replace("\n", " ").replace(",", " ") for f in row] for row in rows]
                yield "".join(",".join(row) + "\n" for row in fields).encode()

        monkeypatch.setattr(text_piece, "blocks", read_as_usual)
        assert any("changed" in seen for seen in self.seen(tmp_path, "event", "an open quote"))

    def test_a_row_that_stops_the_run(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        cast = typed._cast
        monkeypatch.setattr(typed, "_cast", lambda *given: cast(*given).replace("TRY_CAST", "CAST"))
        assert "exits differ" in self.seen(tmp_path, "event", "an age that is none")

    def test_a_date_that_moves_the_close(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """The classic watermark: what has been seen decides what has ended."""
        ended, folder = Clock.ended, tmp_path

        def watermark(self: Clock, us: int) -> int:
            dates = [
                text.partition(b",")[0].decode()
                for file in folder.glob("*/events.csv")
                for text in file.read_bytes().splitlines()[1:]
            ]
            ((last,),) = duckdb.execute(
                "SELECT epoch_us(max(TRY_CAST(d AS TIMESTAMPTZ))) FROM (SELECT unnest(?) AS d)",
                [dates],
            ).fetchall()
            return ended(self, max(us, min(last, us + 86_400_000_000)))

        monkeypatch.setattr(Clock, "ended", watermark)
        first = [some for some in FIRST if some.startswith(b"2026-03-2")][:20]
        site = Site(tmp_path, "event")
        base = site.view("base", [some for some in first if b"03-30" not in some], [])
        other = site.view("other", [*first, line(7)], [])
        assert violations(site, base, other, keys=NORTH, step=7) != []

    def test_a_date_that_takes_others_with_it(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """Late is what lies behind the newest event, as a stream processor's watermark has it."""
        events, steps = EventSql.select, EventSql.steps

        def behind(self: EventSql, *given: Any, **named: Any) -> str:
            return (
                f"SELECT * FROM ({events(self, *given, **named)}) "
                "QUALIFY step >= max(step) OVER () - 4"
            )

        def few_behind(self: EventSql, *given: Any) -> list[int | None]:
            found = steps(self, *given)
            newest = max(filter(None, found), default=0)
            return [step if step and step >= newest - 4 else None for step in found]

        monkeypatch.setattr(EventSql, "select", behind)
        monkeypatch.setattr(EventSql, "steps", few_behind)
        site = Site(tmp_path, "event")
        first = [some for some in FIRST if some < b"2026-04-02"]
        base = site.view("base", first, [])
        other = site.view("other", [*first, line(7)], [])
        assert any(
            "changed" in seen for seen in check(site, base, other, Line(line(7), NORTH, 7), 1)
        )

    def test_first_come_first_served(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        """A bound over all users: one more pushes another out."""
        events = EventSql.select

        def limited(self: EventSql, *given: Any, **named: Any) -> str:
            return (
                f"SELECT * FROM ({events(self, *given, **named)}) "
                "QUALIFY row_number() OVER (PARTITION BY step ORDER BY who DESC) <= 5"
            )

        monkeypatch.setattr(EventSql, "select", limited)
        assert any("changed" in seen for seen in self.seen(tmp_path, "user", "early"))

    def test_bounds_that_start_again_with_every_run(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(Bounding, "_remembered", _nobody)
        assert any("moved by more" in seen for seen in self.eve(tmp_path, "user"))

    def test_bounds_in_each_cell(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        """As where every key has its own bound, or each of several batches."""
        run = TemporaryTables.run
        monkeypatch.setattr(
            TemporaryTables,
            "run",
            lambda self, query: run(
                self,
                query.replace("PARTITION BY who, step ", "PARTITION BY who, step, cell_0 ").replace(
                    "PARTITION BY key, step ", "PARTITION BY key, step, cell_0 "
                ),
            ),
        )
        assert any("moved by more" in seen for seen in self.eve(tmp_path, "user"))

    def test_users_that_count_again(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        once = Bounded.once
        monkeypatch.setattr(
            Bounded, "once", lambda self, cell, release, span: once(self, cell, release, "step")
        )
        assert any("people moved by more" in seen for seen in self.eve(tmp_path, "user"))

    def test_noise_that_depends_on_the_data(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """Some for every cell that has events, more than where there are none."""
        matrix = Totals.matrix

        def eager(self: Totals, *given: int) -> IntArray:
            Pretender.now.laplace(Fraction(1), len(self.step))
            return matrix(self, *given)

        monkeypatch.setattr(Totals, "matrix", eager)
        assert "laws differ" in self.seen(tmp_path, "event", "an undeclared key")

    def eve(self, folder: Path, unit: str) -> list[str]:
        site = Site(folder, unit)
        base = site.view("base", FIRST, SECOND)
        return violations(site, base, site.view("eve", *with_eve()), keys=ANYWHERE, step=1)


def _nobody(bounding: Bounding, tables: TemporaryTables, held: str, *, hashed: bool) -> str:
    columns = "key BLOB, span BIGINT, steps BIGINT, marks BIGINT"
    return tables.create_empty("remembered", columns)
