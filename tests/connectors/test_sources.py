"""Which source a plan's text names, what is known of it, and its pieces as values."""

from __future__ import annotations

import ast
import gzip
import pickle
import subprocess
import sys
from pathlib import Path

import pytest

from ameles.connectors.files.compressed_source import CompressedSource
from ameles.connectors.frame_source import FrameSource
from ameles.connectors.parquet.source import ParquetSource
from ameles.connectors.reading import Reading
from ameles.connectors.sources import SOURCES, UnknownFiles, source_kind
from ameles.connectors.standard_input import StandardInput
from ameles.connectors.text.source import TextSource
from tests.connectors.opening import open_files
from tests.connectors.reading import rows_of
from tests.warm_processes import run

COLUMNS = {"name": "text", "n": "integer"}
LINES = b"name,n\nx,1\ny,2\n"


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("-", StandardInput),
        ("dataframe", FrameSource),
        ("a.csv", TextSource),
        ("a.csv*", TextSource),
        ("logs/*.ndjson", TextSource),
        ("a.csv.gz", CompressedSource),
        ("*.jsonl.zst", CompressedSource),
        ("a.parquet", ParquetSource),
        ("a.csv.gz*", UnknownFiles),
        ("a.parquet.gz", UnknownFiles),
        ("a.txt", UnknownFiles),
        ("-.csv", TextSource),
    ],
)
def test_the_text_of_a_plan_says_which_source_it_is(text: str, kind: type) -> None:
    assert source_kind(text) is kind


def test_every_text_is_of_one_kind_but_for_the_last_which_claims_all() -> None:
    for text in ("-", "a.csv", "a.csv.gz", "a.parquet"):
        assert sum(kind.claims(text) for kind in SOURCES[:-1]) == 1
    assert SOURCES[-1].claims("anything at all")


def test_what_passes_keeps_no_events_and_what_can_be_read_again_does() -> None:
    """A pan-private plan stands on this: where events can be read again, they are kept."""
    for kind in SOURCES:
        assert kind.keeps_events or not kind.seekable
        assert kind.live != kind.seekable
    assert not StandardInput.keeps_events


PROGRAM = """
import pickle, sys
from tests.connectors.reading import rows_of
reading = pickle.loads(sys.stdin.buffer.read())
print(rows_of(reading, {"name": "text", "n": "integer"}))
"""


def readings(folder: Path) -> dict[str, Reading]:
    (folder / "a.csv").write_bytes(LINES)
    (folder / "b.csv.gz").write_bytes(gzip.compress(LINES))
    query = "COPY (SELECT * FROM (VALUES ('x', 1), ('y', 2)) AS t(name, n))"
    program = f"import duckdb; duckdb.execute({query + ' TO $$c.parquet$$'!r})"
    assert run("-c", program, cwd=folder).returncode == 0
    names = ("a.csv", "b.csv.gz", "c.parquet")
    given = {name: open_files(name, COLUMNS, folder).reading(None) for name in names}
    return {**given, "-": StandardInput("csv", COLUMNS).reading([LINES])}


def elsewhere(reading: Reading) -> list[tuple[str, int]]:
    """The rows of a reading, as another process reads them."""
    # Python itself: DuckDB reads Parquet with threads that a fork does not have
    program = [sys.executable, "-c", PROGRAM]
    ran = subprocess.run(program, input=pickle.dumps(reading), capture_output=True, check=False)
    assert ran.returncode == 0, ran.stderr
    rows: list[tuple[str, int]] = ast.literal_eval(ran.stdout.decode())
    return rows


def test_a_reading_is_a_value_that_another_process_can_read(tmp_path: Path) -> None:
    for name, reading in readings(tmp_path).items():
        assert elsewhere(reading) == [("x", 1), ("y", 2)], name


def test_each_piece_of_a_reading_is_a_value_by_itself(tmp_path: Path) -> None:
    """Sent to others one by one, the pieces have what the reading has; the position stays here."""
    for name in ("a.csv", "b.csv"):
        (tmp_path / name).write_bytes(LINES)
    reading = open_files("*.csv", COLUMNS, tmp_path).reading(None)
    assert len(reading.pieces) == 2
    assert reading.size == sum(piece.size for piece in reading.pieces) > 0
    rows = [row for piece in reading.pieces for row in elsewhere(Reading((piece,), ""))]
    assert sorted(rows) == rows_of(reading, COLUMNS)


def test_nothing_of_a_piece_is_in_what_it_prints(tmp_path: Path) -> None:
    for reading in readings(tmp_path).values():
        assert repr(reading) == "<Reading>"
        assert all(repr(piece) == f"<{type(piece).__name__}>" for piece in reading.pieces)
