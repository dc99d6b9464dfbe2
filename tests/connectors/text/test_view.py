"""The view of lines: what it shows, for how long, and to queries that were prepared before."""

from __future__ import annotations

import duckdb
import numpy as np
import pytest

from ameles.connectors.text import line_blocks
from ameles.connectors.text.csv_lines import CsvLines
from ameles.connectors.text.view import SLOTS, SteadyRelation, shown

VIEW = "some_text"
COUNT = f"SELECT chunk, count(*) FROM {VIEW} WHERE chunk <> '' GROUP BY chunk ORDER BY chunk"


def test_chunks_are_shown_for_a_while() -> None:
    duck = duckdb.connect().cursor()
    for chunks in (["a"], ["b", "b", "c"], []):
        with shown(duck, VIEW, chunks):
            seen = duck.execute(COUNT).fetchall()
        assert [chunk for chunk, n in seen for _ in range(n)] == chunks
        assert duck.execute(COUNT).fetchall() == []


def test_a_prepared_query_sees_what_is_shown_now() -> None:
    duck = duckdb.connect().cursor()
    with shown(duck, VIEW, ["first"]):
        duck.execute(f"PREPARE asked AS {COUNT}")
    for chunk in ("second", "third"):
        with shown(duck, VIEW, [chunk]):
            assert duck.execute("EXECUTE asked").fetchall() == [(chunk, 1)]
    # Why the array is never registered anew: DuckDB would go on with the old one.
    stale = duckdb.connect().cursor()
    stale.register(VIEW, {"chunk": np.array(["first"], dtype=object)})
    stale.execute(f"PREPARE asked AS {COUNT}")
    stale.register(VIEW, {"chunk": np.array(["second"], dtype=object)})
    assert stale.execute("EXECUTE asked").fetchall() == [("first", 1)]


def test_an_abandoned_reading_takes_nothing_from_the_next() -> None:
    duck = duckdb.connect().cursor()
    abandoned = shown(duck, VIEW, ["old", "older"])
    abandoned.__enter__()
    with shown(duck, VIEW, ["new"]):
        abandoned.__exit__(None, None, None)
        assert duck.execute(COUNT).fetchall() == [("new", 1)]


def test_a_large_block_is_shown_in_several_turns(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(line_blocks, "SLOTS", 2)
    monkeypatch.setattr("ameles.connectors.text.lines.CHUNK", 4)
    duck, dialect = duckdb.connect().cursor(), CsvLines({"n": "integer"})
    block = b"".join(b"%d\n" % n for n in range(10, 17))
    seen = []
    for relation in line_blocks.handed_over(duck, dialect, ("n",), [block, b"99\n"]):
        assert isinstance(relation, SteadyRelation)
        seen.append([n for (n,) in duck.execute(f"SELECT n FROM {relation} ORDER BY n").fetchall()])
    assert seen == [[10, 11], [12, 13], [14, 15], [16], [99]]
    assert SLOTS > 2
