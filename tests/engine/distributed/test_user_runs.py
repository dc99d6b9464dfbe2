"""Files of users: what was written is found, and what was changed is noticed."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from ameles.core.exceptions import StoreRefused
from ameles.engine.distributed import user_runs
from ameles.engine.distributed.bucket_folder import BucketFolder
from ameles.engine.distributed.user_runs import (
    MAGIC,
    PAGE,
    RECORD,
    find_users,
    merged,
    read_run,
    records_of,
    write_run,
)
from ameles.engine.gathering.contribution_bounds import SeenUsers


@pytest.fixture
def folder(tmp_path: Path) -> BucketFolder:
    made = BucketFolder(tmp_path / "state")
    made.create()
    return made


def key(number: int) -> bytes:
    return hashlib.sha256(str(number).encode()).digest()[:16]


def seen(numbers: range, steps: int = 1) -> SeenUsers:
    count = np.arange(len(numbers), dtype=np.int64)
    return SeenUsers(0, [key(n) for n in numbers], count + steps, -count)


def found(known: SeenUsers) -> dict[bytes, tuple[int, int]]:
    values = zip(known.steps.tolist(), known.marks.tolist(), strict=True)
    return dict(zip(known.users, values, strict=True))


@pytest.mark.parametrize("size", [1, PAGE - 1, PAGE, PAGE + 1, 5 * PAGE + 3])
def test_who_was_seen_is_found_and_nobody_else(folder: BucketFolder, size: int) -> None:
    run = write_run(folder, 1, 0, records_of(seen(range(size))), 0)
    asked = [key(n) for n in range(-7, size + 7)]
    assert found(find_users(folder, [run], 0, asked)) == found(seen(range(size)))
    assert found(find_users(folder, [run], 1, asked)) == {}  # another window
    some = [key(n) for n in range(0, size + 9, 3)]
    expected = {k: v for k, v in found(seen(range(size))).items() if k in some}
    assert found(find_users(folder, [run], 0, some)) == expected
    assert len(read_run(folder, run)) == run.users == size


def test_the_newest_run_is_right_also_after_a_merge(folder: BucketFolder) -> None:
    parts = [seen(range(400)), seen(range(300, 700), 1000), seen(range(350, 360), 5000)]
    runs = [write_run(folder, n, 0, records_of(part), 0) for n, part in enumerate(parts)]
    newest = found(parts[0]) | found(parts[1]) | found(parts[2])
    asked = [key(n) for n in range(800)]
    assert found(find_users(folder, runs, 0, asked)) == newest
    both = merged([read_run(folder, run) for run in runs])
    assert len(both) == 700
    one = write_run(folder, 3, 0, both, 0)
    assert found(find_users(folder, [one], 0, asked)) == newest


def test_users_whose_first_halves_are_equal_are_told_apart(folder: BucketFolder) -> None:
    """Also where they fill more than a page."""
    half = b"\x80" + bytes(7)
    users = [half + n.to_bytes(8, "big") for n in range(3 * PAGE)]
    count = np.arange(len(users), dtype=np.int64)
    around = [bytes(16), b"\xff" * 16]
    ends = np.array([7, 8], dtype=np.int64)
    seen_before = SeenUsers(
        0, users + around, np.concatenate([count, ends]), np.zeros(len(users) + 2, np.int64)
    )
    run = write_run(folder, 1, 0, records_of(seen_before), 0)
    asked = [users[5], users[-1], around[1], half + b"\xff" * 8, around[0]]
    known = find_users(folder, [run], 0, asked)
    everyone = {user: (n, 0) for n, user in enumerate(users)}
    everyone |= {around[0]: (7, 0), around[1]: (8, 0)}
    assert found(known) == {user: everyone[user] for user in asked if user in everyone}
    assert len(known.users) == 4


def _cut(content: bytes) -> bytes:
    return content[:-1]


def _flip(place: int) -> Callable[[bytes], bytes]:
    def change(content: bytes) -> bytes:
        changed = bytearray(content)
        changed[place] ^= 1
        return bytes(changed)

    return change


FIRST = len(MAGIC)
LISTS = FIRST + 10 * PAGE * RECORD.itemsize  # 300 users are on ten pages


@pytest.mark.parametrize(
    "change",
    [
        _cut,
        _flip(0),
        _flip(FIRST),
        _flip(FIRST + 250 * RECORD.itemsize),
        _flip(LISTS),
        _flip(-1),
        lambda content: b"",
    ],
)
def test_a_file_that_was_changed_is_refused(
    folder: BucketFolder, change: Callable[[bytes], bytes]
) -> None:
    run = write_run(folder, 1, 0, records_of(seen(range(300))), 0)
    file = folder.path / run.name
    file.write_bytes(change(file.read_bytes()))
    with pytest.raises(StoreRefused, match="is damaged"):
        find_users(folder, [run], 0, [key(n) for n in range(300)])
    with pytest.raises(StoreRefused, match="is damaged"):
        read_run(folder, run)
    file.unlink()
    with pytest.raises(StoreRefused, match="cannot be read"):
        read_run(folder, run)


def test_a_search_reads_what_it_needs(
    folder: BucketFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A page for each user who is looked for, however many are known."""
    read, checksums = list[int](), user_runs._checksums

    def counted(pages: user_runs.Words) -> user_runs.Words:
        read.append(len(pages))
        return checksums(pages)

    for size in (20 * PAGE, 200 * PAGE):
        run = write_run(folder, 1, 0, records_of(seen(range(size))), 0)
        with monkeypatch.context() as patched:
            patched.setattr(user_runs, "_checksums", counted)
            read.clear()
            find_users(folder, [run], 0, [key(1), key(2), key(-1)])
        assert sum(read) <= 3


def test_a_page_whose_user_nobody_asks_for_may_be_damaged(folder: BucketFolder) -> None:
    """It is not read; it is noticed when somebody asks, or when runs are merged."""
    run = write_run(folder, 1, 0, records_of(seen(range(300))), 0)
    file = folder.path / run.name
    file.write_bytes(_flip(FIRST)(file.read_bytes()))
    last = max(key(n) for n in range(300))
    assert find_users(folder, [run], 0, [last]).users == [last]
