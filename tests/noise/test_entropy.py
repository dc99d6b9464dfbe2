"""Random bytes: fresh keys, nothing kept, nothing twice, in forks and threads too."""

from __future__ import annotations

import copy
import math
import os
import pickle
import subprocess
import sys
import textwrap
import threading
from collections.abc import Callable
from contextlib import nullcontext
from fractions import Fraction
from typing import Any, SupportsIndex

import numpy as np
import pytest
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes

from ameles.core.exceptions import BadInput
from ameles.noise import System
from ameles.noise.entropy import BLOCK, Entropy, Keystream, OperatingSystem
from tests.core.transport import sent

MIB = 1 << 20
SIZES = [0, 1, 7, BLOCK // 2 - 1, BLOCK // 2, BLOCK // 2 + 1, BLOCK - 1, BLOCK, BLOCK + 1, MIB + 17]


@pytest.mark.parametrize("source", [Keystream(), OperatingSystem()])
@pytest.mark.parametrize("count", SIZES)
def test_as_many_bytes_as_asked_for(source: Entropy, count: int) -> None:
    taken = source.read(count)
    assert type(taken) is bytearray
    assert len(taken) == count
    # 64 bytes or more have none of their halves zero but once in 2**256.
    assert count < 64 or (any(taken[: count // 2]) and any(taken[count // 2 :]))


@pytest.mark.parametrize("source", [Keystream(), OperatingSystem()])
def test_bytes_belong_to_the_caller(source: Entropy) -> None:
    first = source.read(100)
    kept = bytes(first)
    second = source.read(100)
    second[:] = bytes(100)
    assert first == kept


@pytest.mark.parametrize("count", [-1, -8, -BLOCK])
def test_a_negative_count_is_refused_and_changes_nothing(count: int) -> None:
    # A slice would accept it: the block grew by zeros, and all later noise was zero.
    stream = Keystream()
    stream.read(1000)
    with pytest.raises(BadInput, match=r"'count' parameter must be zero or more"):
        stream.read(count)
    words = np.frombuffer(stream.read(BLOCK // 2), dtype=np.uint64)
    assert np.unique(words).size == words.size
    with pytest.raises(ValueError, match="negative"):
        OperatingSystem().read(count)


@pytest.fixture
def keys(monkeypatch: pytest.MonkeyPatch) -> list[bytes]:
    """The keys that were asked of the kernel, which here are known: 1, 2, 3, ..."""
    given: list[bytes] = []

    def urandom(count: int) -> bytes:
        given.append((len(given) + 1).to_bytes(count, "big"))
        return given[-1]

    monkeypatch.setattr(os, "urandom", urandom)
    return given


def counter_mode(key: bytes, places: range) -> bytes:
    """Blocks of AES-256-CTR from the bare cipher, which is one block of CBC after zeros."""
    return b"".join(
        Cipher(algorithms.AES(key), modes.CBC(bytes(16)))
        .encryptor()
        .update(place.to_bytes(16, "big"))
        for place in places
    )


def test_small_reads_are_aes_256_in_counter_mode_under_one_key_a_block(keys: list[bytes]) -> None:
    stream = Keystream()
    assert keys == []  # no key before it is needed
    taken = b"".join(stream.read(size) for size in (1, 15, 100, 0, 3000))
    assert [len(key) for key in keys] == [32]
    expected = counter_mode(keys[0], range(200))
    assert taken == expected[: len(taken)]
    stream.read(BLOCK // 2)
    assert len(keys) == 1
    # The rest of the block is too small for another half, which is a new block's.
    second = stream.read(BLOCK // 2)
    assert len(keys) == 2
    assert second == counter_mode(keys[1], range(BLOCK // 32))


@pytest.mark.parametrize("count", [BLOCK // 2 + 1, BLOCK, 2 * MIB + 5])
def test_large_reads_have_a_key_of_their_own(keys: list[bytes], count: int) -> None:
    stream = Keystream()
    small = stream.read(16)
    large = stream.read(count)
    assert len(keys) == 2
    assert small == counter_mode(keys[0], range(1))
    for start in {0, (min(count, MIB) // 16) - 20, count // 16 - 40}:
        part = large[16 * start : 16 * (start + 40)]
        assert part == counter_mode(keys[1], range(start, start + 40))[: len(part)]
    # and the block goes on where it was
    assert stream.read(16) == counter_mode(keys[0], range(1, 2))


def test_every_block_has_a_fresh_key(keys: list[bytes]) -> None:
    stream = Keystream()
    for _ in range(4 * BLOCK // 1000 + 1):
        stream.read(1000)
    assert len(keys) == len(set(keys)) == 5


def test_bytes_are_wiped_as_they_are_handed_out_and_no_key_is_kept(keys: list[bytes]) -> None:
    stream = Keystream()
    taken = stream.read(1000)
    assert any(taken)
    memory = vars(stream)
    assert memory["_block"][:1000] == bytes(1000)
    assert any(memory["_block"][1000:1064])
    assert set(memory) == {"_block", "_lock", "_used"}
    assert keys[0] not in bytes(memory["_block"])
    assert bytes(taken) not in bytes(memory["_block"])


def test_the_operating_system_keeps_nothing() -> None:
    source = OperatingSystem()
    source.read(100)
    assert vars(source) == {}
    assert source.forgetful
    assert not Keystream().forgetful
    assert source.genuine
    assert Keystream().genuine


@pytest.mark.parametrize("duplicate", [copy.copy, copy.deepcopy, pickle.dumps])
def test_a_keystream_cannot_be_copied(duplicate: Callable[[Any], Any]) -> None:
    # A copy shares the block but not its place in it: it once handed out wiped bytes.
    stream = Keystream()
    stream.read(8)
    with pytest.raises(TypeError, match="cannot be copied"):
        duplicate(stream)
    with pytest.raises(TypeError, match="cannot be copied"):
        copy.deepcopy(System(entropy=stream))


def repeats(*parts: bytes | bytearray) -> int:
    """How many 64-bit words come more than once.

    Of 2**17 random words two are equal once in 2**31 runs: the false alarm is below 1e-9.
    """
    words = np.frombuffer(b"".join(parts), dtype=np.uint64)
    return words.size - np.unique(words).size


def test_a_noise_that_can_be_copied_never_repeats_a_draw() -> None:
    # System() shares its one keystream with a shallow copy; System.direct() has nothing to share.
    mine, direct = System(), System.direct()
    twins = [mine, copy.copy(mine), direct, copy.copy(direct), copy.deepcopy(direct)]
    twins.append(sent(direct))
    drawn = [twin.uniform(1 << 63, 1 << 12).tobytes() for twin in twins]
    assert repeats(*drawn) == 0


def test_two_keystreams_have_nothing_in_common() -> None:
    assert repeats(Keystream().read(1 << 15), Keystream().read(1 << 15)) == 0
    same = Keystream().read(1 << 15)
    assert repeats(same, same) == 1 << 12


FORK = """
    import os, sys, threading
    from ameles.noise import entropy

    stream = entropy.Keystream()
    stream.read(8)
    {plant}
    if {busy}:  # another thread is in the middle of a read, and is not in the child
        threading.Thread(target=stream._lock.acquire).start()
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        assert {planted} or not any(stream._block)
        os.write(write, stream.read(4096))
        os._exit(0)
    os.waitpid(child, 0)
    theirs = os.read(read, 4096)
    ours = b"" if {busy} else stream.read(4096)
    words = lambda b: {{bytes(b[i : i + 8]) for i in range(0, len(b), 8)}}
    print(len(words(theirs)), len(words(ours) & words(theirs)))
"""


def after_fork(*, planted: bool = False, busy: bool = False) -> tuple[int, int]:
    """How many different words a child read in 512, and how many its parent read too.

    In a process of its own, since a fork of one that has threads is deprecated.
    """
    plant = "entropy._streams.discard(stream)" if planted else ""
    script = textwrap.dedent(FORK).format(plant=plant, planted=planted, busy=busy)
    command = [sys.executable, "-W", "ignore", "-c", script]
    ran = subprocess.run(command, capture_output=True, text=True, check=True, timeout=600)
    count, shared = ran.stdout.split()
    return int(count), int(shared)


def test_a_fork_shares_no_words_and_forgets_its_parents() -> None:
    assert after_fork() == (512, 0)


def test_a_fork_during_a_read_is_not_locked_for_ever() -> None:
    assert after_fork(busy=True) == (512, 0)


def test_a_keystream_that_does_not_notice_a_fork_is_seen() -> None:
    assert after_fork(planted=True) == (512, 512)


def test_threads_share_no_words() -> None:
    stream = Keystream()
    together = threading.Barrier(8)
    parts: list[bytes] = []

    def read() -> None:
        together.wait()
        parts.extend(bytes(stream.read(8)) for _ in range(2000))

    threads = [threading.Thread(target=read) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(parts) == 16_000
    assert repeats(*parts) == 0


class Meeting(bytearray):
    """A block in which two threads that are both reading wait for each other.

    If a lock keeps one of them out, the other waits in vain for a moment and goes on.
    """

    def __init__(self, patience: float) -> None:
        super().__init__(BLOCK)
        self.met = threading.Barrier(2, timeout=patience)

    def __getitem__(self, place: SupportsIndex | slice[Any, Any, Any]) -> Any:
        taken = super().__getitem__(place)
        try:
            self.met.wait()
        except threading.BrokenBarrierError:
            self.met.reset()
        return taken


@pytest.mark.parametrize(("locked", "shared"), [(True, 0), (False, 1)])
def test_two_threads_in_one_read_need_the_lock(
    monkeypatch: pytest.MonkeyPatch, locked: bool, shared: int
) -> None:
    stream = Keystream()
    stream.read(8)
    block = Meeting(0.2 if locked else 600)  # without the lock they meet, however late
    block[:] = os.urandom(BLOCK)
    monkeypatch.setattr(stream, "_block", block)
    if not locked:
        monkeypatch.setattr(stream, "_lock", nullcontext())
    parts: list[bytes] = []
    threads = [
        threading.Thread(target=lambda: parts.append(bytes(stream.read(8)))) for _ in range(2)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert repeats(*parts) == shared


class Stutter(Keystream):
    """Planted: every two bytes come twice."""

    def read(self, count: int) -> bytearray:
        once = np.frombuffer(super().read(count + count % 2), dtype=np.uint16)
        return bytearray(np.repeat(once, 2).tobytes()[:count])


@pytest.mark.parametrize("source", [Keystream(), OperatingSystem()])
def test_adjacent_draws_are_not_correlated(source: Entropy) -> None:
    # 2**20 draws: 5 standard errors, false alarm 6e-7
    assert abs(correlation(source)) < 5
    assert abs(correlation(Stutter())) > 5


def correlation(source: Entropy) -> float:
    """The correlation of each draw with the next, in standard errors."""
    drawn = System(entropy=source).laplace(Fraction(20), 1 << 20).astype(np.float64)
    return float(np.corrcoef(drawn[:-1], drawn[1:])[0, 1]) * math.sqrt(drawn.size - 1)
