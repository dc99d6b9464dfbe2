"""Files that grow: whatever a crash leaves, they end the same, and foreign ones are not touched."""

from __future__ import annotations

import contextlib
import csv
import json
import os
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from ameles.connectors.own_folder import OwnFolder
from ameles.connectors.records import FORMATS
from ameles.connectors.sink import Row, Sink
from ameles.connectors.sinks import open_sink
from ameles.core.exceptions import AmelesError, StoreRefused
from ameles.core.release import COLUMNS
from tests.connectors.records import records

KINDS = ("csv", "jsonl")


def sink(folder: Path, kind: str = "csv", identity: str = "one") -> Sink:
    return open_sink(kind, f"r.{kind}", folder, stream="flu", identity=identity)


def bring(folder: Path, through: int, kind: str = "csv") -> None:
    """What the engine does."""
    here = sink(folder, kind)
    here.write(records(here.first_needed(0), through), through)
    assert here.last() == through


def content(folder: Path, kind: str = "csv") -> bytes:
    return (folder / f"r.{kind}").read_bytes()


def test_csv_is_rfc_4180_with_a_header(tmp_path: Path) -> None:
    bring(tmp_path, 3)
    with (tmp_path / "r.csv").open(encoding="utf-8", newline="") as file:
        header, *rows = csv.reader(file, strict=True)
    assert tuple(header) == COLUMNS
    wanted = [["" if x is None else str(x) for x in record] for record in records(1, 3)]
    assert rows == wanted
    assert b"\r" not in content(tmp_path)


def test_json_lines_have_the_same_fields(tmp_path: Path) -> None:
    bring(tmp_path, 3, "jsonl")
    lines = content(tmp_path, "jsonl").decode().splitlines()
    assert [json.loads(line) for line in lines] == [
        dict(zip(COLUMNS, record, strict=True)) for record in records(1, 3)
    ]


@pytest.mark.parametrize("kind", KINDS)
def test_steps_are_appended_once(kind: str, tmp_path: Path) -> None:
    at_once, in_parts = tmp_path / "a", tmp_path / "b"
    at_once.mkdir()
    in_parts.mkdir()
    bring(at_once, 5, kind)
    for through in (1, 1, 4, 5):
        bring(in_parts, through, kind)
    assert content(in_parts, kind) == content(at_once, kind)
    assert sink(in_parts, kind).first_needed(0) == 6


@pytest.mark.parametrize("kind", KINDS)
def test_a_crash_at_any_byte_of_a_write_leaves_no_trace(kind: str, tmp_path: Path) -> None:
    bring(tmp_path, 2, kind)
    file, beside = tmp_path / f"r.{kind}", tmp_path / f"r.{kind}.ameles"
    before, note = file.read_bytes(), beside.read_bytes()
    bring(tmp_path, 4, kind)
    after, last_note = file.read_bytes(), beside.read_bytes()
    for size in range(len(before), len(after) + 1, 7):
        file.write_bytes(after[:size])  # torn: the bytes came, the note did not
        beside.write_bytes(note)
        shown = sink(tmp_path, kind).last()  # what is there was published
        assert (2 < shown <= 4) if size > len(before) else (shown == 2)
        bring(tmp_path, 4, kind)
        assert (file.read_bytes(), beside.read_bytes()) == (after, last_note)


@pytest.mark.parametrize("where", ["replace", "sync"])
def test_a_crash_of_the_first_write_leaves_no_trace(
    where: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Killed(BaseException):
        pass

    calls = 0
    true = getattr(OwnFolder, where)

    def dies(*arguments: object) -> None:
        nonlocal calls
        calls += 1
        if calls == wanted:
            raise Killed
        true(*arguments)

    other = tmp_path / "other"
    other.mkdir()
    bring(other, 2)
    for wanted in (1, 2, 3):
        folder = tmp_path / str(wanted)
        folder.mkdir()
        calls = 0
        with monkeypatch.context() as patch:
            patch.setattr(OwnFolder, where, dies)
            with contextlib.suppress(Killed):
                bring(folder, 2)
        bring(folder, 2)
        assert content(folder) == content(other)


def test_a_write_that_fails_is_done_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    bring(tmp_path, 1)
    here = sink(tmp_path)
    full = OSError(28, "No space left on device")

    def fails(_: int) -> None:
        raise full

    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", fails)
        with pytest.raises(AmelesError, match="No space left on device") as caught:
            here.write(records(2, 3), 3)
    assert caught.value.exit_code == 1
    assert here.last() == 1
    here.write(records(2, 3), 3)
    other = tmp_path / "other"
    other.mkdir()
    bring(other, 3)
    assert content(tmp_path) == content(other)


def test_the_bytes_are_durable_before_the_note(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    synced: list[str] = []
    true = os.fsync

    def recorded(handle: int) -> None:
        synced.append(Path(os.readlink(f"/proc/self/fd/{handle}")).name)
        true(handle)

    def noted(handle: int, content: bytes, offset: int) -> int:
        synced.append(f"note of step {json.loads(content)['last']}")
        return write(handle, content, offset)

    write = os.pwrite
    monkeypatch.setattr(os, "fsync", recorded)
    monkeypatch.setattr(os, "pwrite", noted)
    here, folder = sink(tmp_path), tmp_path.name
    here.write(records(1, 1), 1)
    assert synced == ["r.csv.ameles.new", folder, "r.csv", folder, "note of step 1"]
    synced.clear()
    here.write(records(2, 2), 2)
    here.write(records(3, 3), 3)
    assert synced == ["r.csv", "note of step 2", "r.csv", "note of step 3"]
    synced.clear()
    bring(tmp_path, 4)
    assert synced == ["r.csv", folder, "note of step 4"]


def test_what_was_published_is_at_no_time_not_there(tmp_path: Path) -> None:
    bring(tmp_path, 2)
    note = (tmp_path / "r.csv.ameles").read_bytes()
    bring(tmp_path, 9)
    whole = content(tmp_path)
    (tmp_path / "r.csv.ameles").write_bytes(note)  # a power cut took the later notes back

    def dies() -> Iterator[Row]:
        yield from records(3, 4)
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        sink(tmp_path).write(dies(), 9)
    assert content(tmp_path) == whole
    assert sink(tmp_path).last() == 9
    bring(tmp_path, 9)
    assert content(tmp_path) == whole


def test_a_file_that_is_cut_between_two_writes_is_refused(tmp_path: Path) -> None:
    here = sink(tmp_path)
    here.write(records(1, 2), 2)
    os.truncate(tmp_path / "r.csv", 10)
    with pytest.raises(StoreRefused, match="was cut or edited"):
        here.write(records(3, 3), 3)
    assert content(tmp_path)[10:] == b""


@pytest.mark.parametrize("kind", KINDS)
def test_a_file_that_is_removed_comes_back(kind: str, tmp_path: Path) -> None:
    bring(tmp_path, 2, kind)
    following = sink(tmp_path, kind)
    for through in (2, 3, 4):
        before = content(tmp_path, kind)
        (tmp_path / f"r.{kind}").unlink()
        assert sink(tmp_path, kind).last() == max(2, through - 1), "the note is the fence"
        following.write(records(following.first_needed(0), through), through)
        assert content(tmp_path, kind).startswith(before)
    other = tmp_path / "other"
    other.mkdir()
    bring(other, 4, kind)
    assert content(tmp_path, kind) == content(other, kind)


def test_what_comes_back_must_be_what_was_published(tmp_path: Path) -> None:
    bring(tmp_path, 2)
    (tmp_path / "r.csv").unlink()
    other = [(*row[:6], 999, *row[7:]) for row in records(1, 3)]
    with pytest.raises(StoreRefused, match="not what was published"):
        sink(tmp_path).write(other, 3)
    assert [file.name for file in tmp_path.iterdir()] == ["r.csv.ameles"]
    bring(tmp_path, 3)


def test_a_leftover_that_is_longer_than_what_comes_is_cut(tmp_path: Path) -> None:
    bring(tmp_path, 2)
    with (tmp_path / "r.csv").open("ab") as file:
        file.write(bytes(100_000))  # the power failed, and the file has its length alone
    bring(tmp_path, 3)
    other = tmp_path / "other"
    other.mkdir()
    bring(other, 3)
    assert content(tmp_path) == content(other)


def test_opening_writes_nothing(tmp_path: Path) -> None:
    assert sink(tmp_path).last() == 0
    assert not [*tmp_path.iterdir()], "a launch that is refused leaves no trace"


def test_an_empty_file_is_taken(tmp_path: Path) -> None:
    (tmp_path / "r.csv").touch()
    bring(tmp_path, 1)
    assert content(tmp_path).startswith(b"stream,")


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda folder: (folder / "r.csv.ameles").unlink(), "not written by Ameles"),
        (lambda folder: (folder / "r.csv.ameles").write_text("{"), "not a sink that"),
        (
            lambda folder: (folder / "r.csv.ameles").write_text(
                (folder / "r.csv.ameles").read_text().replace('"version":3', '"version":4')
            ),
            "version 4",
        ),
    ],
)
def test_a_file_that_someone_changed_is_refused_and_not_touched(
    change: object, said: str, tmp_path: Path
) -> None:
    bring(tmp_path, 2)
    assert callable(change)
    change(tmp_path)
    before = {file.name: file.read_bytes() for file in tmp_path.iterdir()}
    with pytest.raises(StoreRefused, match=said) as caught:
        sink(tmp_path)
    assert caught.value.tip
    assert {file.name: file.read_bytes() for file in tmp_path.iterdir()} == before


def line(step: int) -> str:
    return FORMATS["csv"].lines(records(step, step)[:1])


@pytest.mark.parametrize(
    "edit",
    [
        lambda whole: whole[:-1],
        lambda whole: whole[:-5] + b"7" + whole[-4:],
        lambda whole: whole + b"\n",
        lambda whole: whole + b"a remark",
        lambda whole: whole + b"a remark\n",
        lambda whole: whole + line(2).encode(),
        lambda whole: whole + line(99).encode(),
        lambda whole: whole + line(3).encode() + line(9).encode(),
    ],
)
def test_an_edited_file_says_so_and_is_no_sign_of_an_old_store(
    edit: Callable[[bytes], bytes], tmp_path: Path
) -> None:
    bring(tmp_path, 2)
    whole = content(tmp_path)
    (tmp_path / "r.csv").write_bytes(edit(whole))
    here = sink(tmp_path)
    assert "was cut or edited" in str(here.problem())
    assert "move it away and keep 'r.csv.ameles'" in str(here.problem())
    assert here.last() == 2
    with pytest.raises(StoreRefused, match="was cut or edited"):
        here.write(records(3, 3), 3)
    assert content(tmp_path) == edit(whole)
    (tmp_path / "r.csv").write_bytes(whole)
    here.write(records(3, 3), 3)  # put back while it is followed
    assert content(tmp_path).startswith(whole)
    assert here.problem() is None


@pytest.mark.parametrize(
    ("kind", "line"),
    [
        ("jsonl", "[" * 3000),  # too deep for Python
        ("jsonl", '{"step":"%s"}' % ("9" * 5000)),  # too long for it
        ("csv", ",".join(["9" * 5000] * len(COLUMNS))),
    ],
)
def test_an_edited_file_says_so_whatever_its_lines_are(
    kind: str, line: str, tmp_path: Path
) -> None:
    bring(tmp_path, 2, kind)
    with (tmp_path / f"r.{kind}").open("a") as file:
        file.write(line + "\n")
    assert "was cut or edited" in str(sink(tmp_path, kind).problem())


def test_lines_that_follow_were_published(tmp_path: Path) -> None:
    """By a crash or by hand: nobody can tell, and the fence stands."""
    bring(tmp_path, 2)
    with (tmp_path / "r.csv").open("a", encoding="utf-8") as file:
        file.write(line(3) + line(4) + "flu,fev")
    here = sink(tmp_path)
    assert (here.last(), here.problem()) == (4, None)


def test_steps_without_rows_are_possible_where_keys_are_discovered(tmp_path: Path) -> None:
    bring(tmp_path, 2)
    with (tmp_path / "r.csv").open("ab") as file:  # as a crash leaves it
        file.write(line(5).encode() + line(9).encode()[:-4])
    assert "was cut or edited" in str(sink(tmp_path).problem())
    sparse = open_sink("csv", "r.csv", tmp_path, stream="flu", identity="one", sparse=True)
    assert sparse.problem() is None
    assert sparse.last() == 5


def test_keys_with_newlines_may_be_torn(tmp_path: Path) -> None:
    rows = [(*row[:2], "a\nb", *row[3:]) for row in records(1, 3)]
    sink(tmp_path).write(rows[:2], 1)
    note, size = (tmp_path / "r.csv.ameles").read_bytes(), len(content(tmp_path))
    sink(tmp_path).write(rows[2:], 3)
    whole = content(tmp_path)
    for end in range(size, len(whole)):
        (tmp_path / "r.csv").write_bytes(whole[:end])
        (tmp_path / "r.csv.ameles").write_bytes(note)
        assert sink(tmp_path).problem() is None, whole[size:end]


def test_texts_that_a_spreadsheet_would_compute_are_shielded(tmp_path: Path) -> None:
    keys = ["=1+1", "+south", "-north", "@x", "\tx", "\rx", "'east", "-1", "+2.5", "-", "west", ""]
    rows = [(*row[:2], key, *row[3:]) for key in keys for row in records(1, 1)[:1]]
    sink(tmp_path).write(rows, 1)
    with (tmp_path / "r.csv").open(encoding="utf-8", newline="") as file:
        written = list(csv.DictReader(file))
    assert [row["key"] for row in written] == [
        *("'=1+1", "'+south", "'-north", "'@x", "'\tx", "'\rx", "''east"),
        *("-1", "+2.5", "'-", "west", ""),
    ]
    assert [row["key"].removeprefix("'") for row in written] == keys, "one apostrophe to take away"
    sink(tmp_path, "jsonl").write(rows, 1)
    lines = content(tmp_path, "jsonl").decode().splitlines()
    assert [json.loads(each)["key"] for each in lines] == keys


def test_negative_values_stay_numbers(tmp_path: Path) -> None:
    rows = [(*row[:6], -3, -3.5, -2, *row[9:]) for row in records(1, 1)]
    sink(tmp_path).write(rows, 1)
    assert b",-3,-3.5,-2," in content(tmp_path)


def test_a_file_of_another_launch_is_refused(tmp_path: Path) -> None:
    bring(tmp_path, 2)
    with pytest.raises(StoreRefused, match="another launch of stream 'flu'") as refused:
        sink(tmp_path, identity="two")
    assert refused.value.tip.startswith("the store that made them, or its newest backup")
    with pytest.raises(StoreRefused, match="another launch of stream 'flu'") as refused:
        open_sink("csv", "r.csv", tmp_path, stream="colds", identity="two")
    assert refused.value.tip.startswith("another name for the sink, or move ")


def test_both_files_removed_means_everything_again(tmp_path: Path) -> None:
    bring(tmp_path, 2)
    before = content(tmp_path)
    for file in tmp_path.iterdir():
        file.unlink()
    bring(tmp_path, 2)
    assert content(tmp_path) == before


def test_sinks_are_public_files(tmp_path: Path) -> None:
    mask = os.umask(0o022)
    try:
        bring(tmp_path, 1)
    finally:
        os.umask(mask)
    assert {file.stat().st_mode & 0o777 for file in tmp_path.iterdir()} == {0o644}
