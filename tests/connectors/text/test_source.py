"""Positions of text files: growth is read on, anything else that changed is refused."""

from __future__ import annotations

import gzip
import re
import subprocess
import sys
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ameles.connectors.duck import connect
from ameles.connectors.files.identity import ChangedMeanwhile
from ameles.connectors.format import Format
from ameles.connectors.source import SeekableSource
from ameles.connectors.sources import open_source
from ameles.connectors.text import lines
from ameles.core.exceptions import AmelesError, PlanError, SourceUnreadable, StoreRefused
from tests.connectors.following import locked
from tests.connectors.opening import open_files
from tests.connectors.reading import rows, rows_of

COLUMNS = {"name": "text", "n": "integer"}
HEADER = b"name,n\n"
CANARY = b"canary-4711"


def source(folder: Path, pattern: str = "a.csv") -> SeekableSource[Any]:
    return open_files(pattern, COLUMNS, folder)


def test_a_file_that_grew_is_read_on(tmp_path: Path) -> None:
    file = tmp_path / "a.csv"
    file.write_bytes(HEADER + b"x,1\n")
    first = source(tmp_path).reading(None)
    assert first.size == 4
    with file.open("ab") as more:
        more.write(b"y,2\nz,3\n")
    assert rows_of(first, COLUMNS) == [("x", 1)], "its end was fixed before"
    second = source(tmp_path).reading(first.position)
    assert second.size == 8
    assert rows_of(second, COLUMNS) == [("y", 2), ("z", 3)]
    third = source(tmp_path).reading(second.position)
    assert (third.size, third.position) == (0, second.position)
    assert rows_of(third, COLUMNS) == []


def test_a_reading_can_be_gone_through_again(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_bytes(HEADER + b"x,1\ny,2\n")
    here = source(tmp_path)
    reading = here.reading(None)
    once = rows_of(reading, COLUMNS)
    assert once == [("x", 1), ("y", 2)]
    assert rows_of(reading, COLUMNS) == once


def test_a_last_line_waits_for_its_newline(tmp_path: Path) -> None:
    file = tmp_path / "a.csv"
    position = None
    for written, new in [(b"x,1\ny,2", [("x", 1)]), (b"7", []), (b"\nz", [("y", 27)])]:
        with file.open("ab") as more:
            more.write(written if position else HEADER + written)
        reading = source(tmp_path).reading(position)
        assert rows_of(reading, COLUMNS) == new
        position = reading.position


def test_a_line_that_is_taken_without_its_newline_is_one_event(tmp_path: Path) -> None:
    taking = open_files("a.csv", COLUMNS, tmp_path, waiting=True, take_last=True)
    file = tmp_path / "a.csv"
    file.write_bytes(HEADER + b"x,1\ny,2")
    reading = taking.reading(None)
    assert rows_of(reading, COLUMNS) == [("x", 1), ("y", 2)]
    followed = taking.reading(None, taking.ends())
    assert rows_of(followed, COLUMNS) == [("x", 1)], "followed, it waits"
    file.write_bytes(HEADER + b"x,1\ny,2\nz,3\n")
    assert rows(taking, COLUMNS, reading.position) == [("z", 3)]
    file.write_bytes(HEADER + b"x,1\ny,27,9\nz,3\n")
    assert rows(taking, COLUMNS, reading.position) == [("z", 3)], "not its rest as another event"


def test_a_header_alone_and_an_empty_file_have_no_events(tmp_path: Path) -> None:
    file = tmp_path / "a.csv"
    for content in (b"", b"name,n", HEADER):
        file.write_bytes(content)
        assert source(tmp_path).names() == (("name", "n") if content == HEADER else ())
        position = source(tmp_path).reading(None).position
        file.write_bytes(HEADER + b"x,1\n")
        assert rows(source(tmp_path), COLUMNS, position) == [("x", 1)]


UNNAMED = [b"", b"\xef\xbb\xbf", b"name,n", b"\n", b"\r\n\r\n", b"A report\n", b"\nname,n\nx,1\n"]


@pytest.mark.parametrize(
    ("pattern", "content"),
    # a compressed file gets no more of its first line, so it needs no newline
    [(name, text) for name in ("a.csv", "*.csv") for text in UNNAMED]
    + [("*.csv.gz", text) for text in UNNAMED if text != b"name,n"],
)
def test_a_launch_needs_the_line_that_names_the_columns(
    tmp_path: Path, pattern: str, content: bytes
) -> None:
    packed = pattern.endswith(".gz")
    file = tmp_path / ("a.csv.gz" if packed else "a.csv")
    pack = gzip.compress if packed else bytes
    file.write_bytes(pack(content))
    here = open_source(pattern, COLUMNS, tmp_path)
    refusal = here.refuses_launch()
    assert isinstance(refusal, PlanError)
    with pytest.raises(PlanError, match=re.escape(refusal.what)):
        here.at_launch()
    file.write_bytes(pack(HEADER))
    assert open_source(pattern, COLUMNS, tmp_path).refuses_launch() is None, "it needs no rows"


@pytest.mark.parametrize("content", [b"", b"\n", b"x,1\n"])
def test_files_without_such_a_line_need_none(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "a.csv").write_bytes(content)
    (tmp_path / "a.jsonl").write_bytes(content)
    form = Format(header=("name", "n"))
    assert open_source("a.csv", COLUMNS, tmp_path, form=form).refuses_launch() is None
    assert open_source("a.jsonl", COLUMNS, tmp_path).refuses_launch() is None


def test_one_file_of_several_may_be_empty_and_a_pattern_needs_none(tmp_path: Path) -> None:
    assert open_source("*.csv", COLUMNS, tmp_path, waiting=True).refuses_launch() is None
    (tmp_path / "a.csv").write_bytes(b"")
    assert source(tmp_path, "*.csv").refuses_launch() is not None
    (tmp_path / "b.csv").write_bytes(HEADER)
    assert source(tmp_path, "*.csv").refuses_launch() is None


@pytest.mark.parametrize(
    "content",
    [
        HEADER + b"x,1\n",
        HEADER + CANARY + b",1\ny,3\n",
        b"n,name\n1,x\n2,yyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyy\n",
        b"",
    ],
    ids=["cut", "another end", "another header", "empty"],
)
def test_a_file_that_was_cut_or_replaced_is_refused(content: bytes, tmp_path: Path) -> None:
    file = tmp_path / "a.csv"
    file.write_bytes(HEADER + CANARY + b",1\ny,2\n")
    position = source(tmp_path).reading(None).position
    file.write_bytes(content)
    with pytest.raises(StoreRefused, match="replaced or cut") as caught:
        source(tmp_path).reading(position)
    assert "try: put the file back" in str(caught.value)
    assert CANARY.decode() not in str(caught.value) + position


def test_a_file_that_is_cut_while_it_is_read_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "a.csv"
    file.write_bytes(HEADER + b"x,1\n" * 10)
    reading = source(tmp_path).reading(None)
    file.write_bytes(HEADER + b"x,1\n")
    with pytest.raises(ChangedMeanwhile, match="replaced or cut"):
        rows_of(reading, COLUMNS)


def test_a_pattern_reads_files_by_name_and_new_ones_later(tmp_path: Path) -> None:
    (tmp_path / "b.csv").write_bytes(b"n,name\n2,y\n")
    (tmp_path / "a.csv").write_bytes(HEADER + b"x,1\n")
    (tmp_path / "d.csv").mkdir()
    here = source(tmp_path, "*.csv")
    first = here.reading(None)
    assert rows_of(first, COLUMNS) == [("x", 1), ("y", 2)]
    (tmp_path / "c.csv").write_bytes(HEADER + b"z,3\n")
    (tmp_path / "a.csv").unlink()
    second = here.reading(first.position)
    assert rows_of(second, COLUMNS) == [("z", 3)]


def test_a_file_that_got_another_name_is_not_read_again(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_bytes(HEADER + b"x,1\n")
    here = source(tmp_path, "*.csv")
    position = here.reading(None).position
    (tmp_path / "a.csv").rename(tmp_path / "a.1.csv")
    assert rows(here, COLUMNS, position) == []
    with (tmp_path / "a.1.csv").open("ab") as more:
        more.write(b"y,2\n")
    later = here.reading(position)
    assert rows_of(later, COLUMNS) == [("y", 2)]
    assert rows(here, COLUMNS, later.position) == []


def test_every_file_must_have_the_columns(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_bytes(HEADER)
    (tmp_path / "b.csv").write_bytes(b"name,m\nx,1\n")
    with pytest.raises(PlanError, match=r"'b.csv' has no column 'n'"):
        source(tmp_path, "b.csv").names()
    assert source(tmp_path, "*.csv").names() == ("name", "n")
    (problem,) = source(tmp_path, "*.csv").reading(None).problems
    assert "'b.csv' has no column 'n'" in str(problem)


def test_a_position_of_something_else_is_refused(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_bytes(HEADER + b"x,1\n")
    position = source(tmp_path).reading(None).position
    for other in (
        position.replace('"text"', '"parquet"'),
        position.replace('"version":3', '"version":4'),
        position.replace('"version":3', '"version":2'),
        position.replace('"version":3', '"version":1'),
        position.replace('"unread":false', '"unread":0'),
        position.replace('"offset":11', '"offset":"11"'),
        position.replace('"offset":11', '"offset":-11'),
        position.replace('"born":', '"born":0.'),
        position.replace('"declared":null', '"declared":"old"'),
        position.replace('"declared":null', '"decided":null'),
        position[:-2],
        "{}",
    ):
        assert other != position
        with pytest.raises(StoreRefused):
            source(tmp_path).reading(other)


def test_a_file_that_cannot_be_opened_is_refused(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_bytes(HEADER)
    here = source(tmp_path)
    with locked(tmp_path / "a.csv"):
        with pytest.raises(SourceUnreadable, match=r"'a.csv' cannot be read") as caught:
            here.names()
        (problem,) = here.reading(None).problems
    assert caught.value.exit_code == 1
    assert "'a.csv' cannot be read" in str(problem)


@settings(max_examples=40, deadline=None)
@given(
    data=st.data(),
    content=st.lists(
        st.sampled_from([b"x,1\n", b"y,2\r\n", b'"z,",3\n', b'"broken,4\n', b"\n", b"w\n"]),
        max_size=30,
    ).map(b"".join),
)
def test_however_a_file_grows_each_line_is_taken_once(
    data: st.DataObject, content: bytes, tmp_path_factory: pytest.TempPathFactory
) -> None:
    folder = tmp_path_factory.mktemp("grows")
    file = folder / "a.csv"
    file.write_bytes(HEADER + content)
    whole = rows(source(folder), COLUMNS)
    cuts = data.draw(st.lists(st.integers(0, len(content)), max_size=3))
    ends = [content.rfind(b"\n", 0, cut) + 1 for cut in sorted(cuts)]
    taken, position = [], None
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(lines, "BLOCK", data.draw(st.integers(1, 40)))
        for end in [*ends, len(content)]:
            file.write_bytes(HEADER + content[:end])
            reading = source(folder).reading(position)
            taken += rows_of(reading, COLUMNS)
            position = reading.position
    assert sorted(taken, key=repr) == whole


def test_no_value_is_in_an_error_of_a_reading(tmp_path: Path) -> None:
    file = tmp_path / "a.csv"
    file.write_bytes(HEADER + CANARY + b",1\n")
    here = source(tmp_path)
    with closing(connect(zone="UTC", memory=64 << 20)) as duck:
        scans = here.reading(None).scans(duck)
        next(scans)
        file.write_bytes(b"")
        with pytest.raises(AmelesError) as caught:
            next(scans)
    assert CANARY.decode() not in str(caught.value) + repr(vars(caught.value))
    del scans  # after its connection


PROGRAM = """
import resource, sys
from contextlib import closing
from pathlib import Path
from ameles.connectors.duck import connect
from ameles.connectors.sources import open_source

columns = {"name": "text", "n": "integer"}
source = open_source(sys.argv[1], columns, Path(sys.argv[2]))
total = 0
with closing(connect(zone="UTC", memory=256 << 20)) as duck:
    for relation in source.reading(None).scans(duck):
        total += duck.execute(f"SELECT count(n) FROM {relation}").fetchall()[0][0]
print(total, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)
"""


def test_memory_is_bounded_whatever_the_size_of_a_file_or_a_line(tmp_path: Path) -> None:
    def peak(content: bytes, times: int) -> tuple[int, int]:
        file = tmp_path / "a.csv"
        with file.open("wb") as out:
            out.write(HEADER)
            for _ in range(times):
                out.write(content)
            out.write(b"\nlast,1\n")
        ended = subprocess.run(
            [sys.executable, "-c", PROGRAM, "a.csv", str(tmp_path)],
            capture_output=True,
            text=True,
            check=True,
        )
        rows_seen, kilobytes = map(int, ended.stdout.split())
        return rows_seen, kilobytes << 10

    line = b"x" * 97 + b",1\n"
    few, small = peak(line * 10_000, 20)
    many, large = peak(line * 10_000, 80)
    one, long = peak(b"x" * 1_000_000, 80)  # a line of 80 MB
    assert (few, many, one) == (200_001, 800_001, 1)
    # Blocks of 8 MB, however many; the allocator's own slack is allowed for.
    assert large < small + (40 << 20)
    assert long < small + (40 << 20)


@pytest.mark.parametrize("pattern", ["a.csv", "*.csv"])
def test_rows_that_come_after_a_step_has_ended_are_left_for_the_next(
    pattern: str, tmp_path: Path
) -> None:
    """The ends are noted at the instant, and the reading may come much later."""
    file = tmp_path / "a.csv"
    file.write_bytes(HEADER + b"x,1\ny,2\n")
    here = source(tmp_path, pattern)
    ends = here.ends()
    with file.open("ab") as more:
        more.write(b"z,3\n")
    if pattern == "*.csv":
        (tmp_path / "b.csv").write_bytes(HEADER + b"new,4\n")
    reading = here.reading(None, ends)
    assert rows_of(reading, COLUMNS) == [("x", 1), ("y", 2)]
    later = here.reading(reading.position, here.ends())
    new = [("new", 4)] if pattern == "*.csv" else []
    assert rows_of(later, COLUMNS) == [*new, ("z", 3)]


@pytest.mark.parametrize("name", ["a.jsonl", "a.csv"])
@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-le", "utf-16-be"])
def test_no_event_may_decide_the_byte_order(tmp_path: Path, name: str, encoding: Any) -> None:
    (tmp_path / name).write_bytes('{"name": "x", "n": 1}\n'.encode("utf-16-le"))
    for header, first in ((("name", "n"), True), ((), name == "a.jsonl")):
        form = Format(encoding=encoding, header=header if name == "a.csv" else ())
        refusal = open_source(name, COLUMNS, tmp_path, form=form).refuses_launch()
        said = str(refusal)
        undecided = "whose first line is an event" in said
        assert undecided == (first and encoding == "utf-16")
        assert not undecided or '"utf-16-le"' in said


def test_the_first_event_decides_nothing_in_a_given_byte_order(tmp_path: Path) -> None:
    event = '{"name": "x", "n": 1}\n'.encode("utf-16-le")
    form = Format(encoding="utf-16-le")
    for first in (b"", b"\xfe\xff\n\0", b"\xff\xfe\n\0"):
        (tmp_path / "a.jsonl").write_bytes(first + 3 * event)
        given: Any = open_source("a.jsonl", COLUMNS, tmp_path, form=form)
        assert rows_of(given.reading(None), COLUMNS)[-3:] == 3 * [("x", 1)]
