"""Lines whose times are all in the usual form: a shorter query on them reads the same."""

from __future__ import annotations

import re
from itertools import product
from typing import Any

import duckdb
import numpy as np
import pytest

from ameles.connectors.duck import connect
from ameles.connectors.format import Format
from ameles.connectors.text.csv_lines import CsvLines
from ameles.connectors.text.iso_times import iso_time
from ameles.connectors.text.line_blocks import handed_over
from ameles.connectors.text.usual_times import _TIME

COLUMNS = {"at": "timestamp", "name": "text", "end": "timestamp"}
NAMES = ("at", "name", "end")

DAYS = (
    *("0000-01-01", "0001-01-01", "1582-10-10", "1900-02-29", "2000-02-29", "2011-12-30"),
    *("2020-00-10", "2020-13-01", "2020-02-30", "2020-03-29", "2020-10-25", "9999-12-31"),
)
TIMES = ("00:00:00", "02:30:00", "23:59:59.999999", "12:00:00.5", "01:00:00.000001")
OFFSETS = ("", "Z", *(f"{sign}{h:02}:{m:02}" for sign in "+-" for h in range(24) for m in (0, 59)))


def rows_of(duck: duckdb.DuckDBPyConnection, dialect: CsvLines, lines: bytes) -> list[Any]:
    names = tuple(dialect.columns)
    return [
        row
        for relation in handed_over(duck, dialect, names, [lines])
        for row in duck.execute(
            f'SELECT epoch_us("at"), name, epoch_us("end") FROM {relation}'
        ).fetchall()
    ]


def relations(dialect: CsvLines, *blocks: bytes) -> list[str]:
    with duckdb.cursor() as duck:
        return list(handed_over(duck, dialect, NAMES, blocks))


@pytest.mark.parametrize("zone", ["UTC", "Europe/Berlin", "Pacific/Apia"])
def test_a_time_in_the_usual_form_that_the_cast_refuses_is_none_in_another_form(zone: str) -> None:
    texts = ["".join(parts) for parts in product(DAYS, "T ", TIMES, OFFSETS)]
    assert all(re.fullmatch(_TIME, text) for text in texts)
    with connect(zone=zone, memory=1 << 28) as duck:
        duck.register("given", {"x": np.array(texts, dtype=object)})
        both = f"SELECT TRY_CAST(x AS TIMESTAMPTZ) AS cast_, {iso_time('x')} AS iso FROM given"
        ((refused, other),) = duck.execute(
            "SELECT count(*) FILTER (cast_ IS NULL), "
            f"count(*) FILTER (cast_ IS NULL AND iso IS NOT NULL) FROM ({both})"
        ).fetchall()
    assert refused  # 30 February, for example
    assert other == 0


USUAL = b"2026-01-22T10:15:00Z,a,2026-01-22 10:15:00.25+01:00\n\n,b,2026-02-30T00:00:00\n"


@pytest.mark.parametrize(
    ("lines", "usual"),
    [
        (USUAL, True),
        (USUAL + b"20260122T101500Z,c,\n", False),
        (USUAL + b"2026-01-22,c,\n", False),
        (USUAL + b"2026-01-22T24:00:00Z,c,\n", False),
        (USUAL + b"2026-01-22T10:00:00.1234567Z,c,\n", False),
        (USUAL + b"2026-01-22T10:00:00+0100,c,\n", False),
        (USUAL + b" 2026-01-22T10:00:00Z,c,\n", False),
        (USUAL + b"2026-01-22T10:00:00Z,c\n", False),
        (USUAL + b'2026-01-22T10:00:00Z,"c",\n', False),
        (USUAL + b"2026-W04-4T10:00:00Z,c,2026-022\n", False),
        (USUAL * 1000, False),  # several chunks: planning takes a small part of the time
    ],
)
def test_only_lines_with_other_times_need_the_longer_query(lines: bytes, usual: bool) -> None:
    (relation,) = relations(CsvLines(COLUMNS), lines)
    assert ("regexp_extract" not in relation) == usual


def test_both_queries_read_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    lines = b"".join(
        b"%s,x,%s\n" % (one.encode(), other.encode())
        for one, other in zip(
            ["".join(parts) for parts in product(DAYS, "T", TIMES[:2], OFFSETS[:4])],
            ["".join(parts) for parts in product(DAYS, " ", TIMES[3:], OFFSETS[-4:])],
            strict=True,
        )
    )
    assert "regexp_extract" not in relations(CsvLines(COLUMNS), lines)[0]
    with connect(zone="Europe/Berlin", memory=1 << 28) as duck:
        short = rows_of(duck, CsvLines(COLUMNS), lines)
        monkeypatch.setattr(CsvLines, "_has_usual_times", lambda *given: False)
        assert "regexp_extract" in relations(CsvLines(COLUMNS), lines)[0]
        assert rows_of(duck, CsvLines(COLUMNS), lines) == short
    assert sum(at is not None for at, *_ in short) > 40
    assert sum(at is None for at, *_ in short) > 10


def test_other_ways_to_write_a_file_have_their_own_query() -> None:
    for form in (Format(time_format=("%Y-%m-%d %H:%M:%S",)), Format(strip=True)):
        usual = CsvLines(COLUMNS, form)
        assert relations(usual, USUAL) == [usual.relation(NAMES, slower=False)]
    semicolons = CsvLines(COLUMNS, Format(delimiter=";"))
    assert "regexp_extract" not in relations(semicolons, USUAL.replace(b",", b";"))[0]
    assert "regexp_extract" in relations(semicolons, USUAL)[0]
    without = CsvLines({"name": "text"})
    assert relations(without, USUAL) == [without.relation(NAMES, slower=False)]


def test_each_file_has_its_times_at_its_own_places() -> None:
    """Files of one source may have their columns in another order."""
    dialect, odd = CsvLines(COLUMNS), b"2026-01-22T10:15:00Z,2026-W04-4,\n"
    with duckdb.cursor() as duck:
        for names, usual in ((NAMES, True), (("name", "at", "end"), False), (NAMES, True)):
            (relation,) = handed_over(duck, dialect, names, [odd])
            assert ("regexp_extract" not in relation) == usual


def test_a_relation_is_written_once_for_each_kind_of_lines(monkeypatch: pytest.MonkeyPatch) -> None:
    written, relation = list[bool](), CsvLines.relation

    def counted(dialect: CsvLines, names: tuple[str, ...], *, slower: bool) -> str:
        written.append(dialect.usual)
        return relation(dialect, names, slower=slower)

    monkeypatch.setattr(CsvLines, "relation", counted)
    dialect, other = CsvLines(COLUMNS), USUAL + b"2026-01-22,c,\n"
    relations(dialect, USUAL, other, USUAL, other, USUAL)
    assert written == [True, False]
