"""A digest that goes on where it stopped is that of the whole, wherever it stopped."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from ameles.connectors.files import whole_digest as module
from ameles.connectors.files.whole_digest import Running, nothing_of, whole_digest

CONTENT = bytes(range(256)) * 2


@pytest.fixture
def handle(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> int:
    monkeypatch.setattr(module, "BLOCK", 64)
    (tmp_path / "file").write_bytes(CONTENT)
    return os.open(tmp_path / "file", os.O_RDONLY)


def running(content: bytes, size: int) -> str:
    digest = Running()
    for start in range(0, len(content), size):
        digest.update(content[start : start + size])
    return digest.digest()


def test_it_is_the_same_wherever_it_stopped(handle: int) -> None:
    places = [0, 1, 63, 64, 65, 127, 128, 200, len(CONTENT)]
    digests = {place: whole_digest(handle, place) for place in places}
    for first in places:
        assert digests[first] == running(CONTENT[:first], 7) == running(CONTENT[:first], 150)
        for then in places:
            if then >= first:
                assert whole_digest(handle, then, (first, digests[first])) == digests[then]
    assert len(set(digests.values())) == len(places)


def test_every_byte_matters(handle: int) -> None:
    whole = whole_digest(handle, len(CONTENT))
    for place in range(len(CONTENT)):
        changed = bytearray(CONTENT)
        changed[place] ^= 1
        assert running(bytes(changed), 100) != whole


def test_a_file_that_ends_too_early_ends_the_digest(handle: int) -> None:
    assert whole_digest(handle, 10**6) == whole_digest(handle, len(CONTENT))


def test_to_go_on_it_reads_the_last_block_alone(
    handle: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = 200, whole_digest(handle, 200)
    read, starts = os.pread, []

    def noted(handle: int, size: int, start: int) -> bytes:
        starts.append(start)
        return read(handle, size, start)

    monkeypatch.setattr(os, "pread", noted)
    whole_digest(handle, 300, before)
    assert min(starts) == 192


def test_that_of_nothing_tells_patterns_apart() -> None:
    assert nothing_of(["a*", "b"]) == nothing_of(["a*", "b"])
    assert len({nothing_of(some) for some in ([], ["a*"], ["b"], ["a*", "b"], ["a*b"])}) == 5
