"""How far overwriting erases: said of every place as it is, and never more."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path
from unittest.mock import patch

import pytest

from ameles.engine.sealed.vault import tier

linux = pytest.mark.skipif(sys.platform != "linux", reason="asks Linux for a file system's type")


@pytest.mark.parametrize(
    ("number", "words"),
    [
        (0x01021994, "memory: the slot is in RAM (tmpfs)"),
        (0x858458F6, "memory: the slot is in RAM (ramfs)"),
        (0x9123683E, "best effort: btrfs may write a sector elsewhere"),
        (0x2FC12FC1, "best effort: ZFS may"),
        (0x794C7630, "best effort: overlay may"),
        (0x58465342, "best effort: XFS may"),
        (0xF2F52010, "best effort: F2FS may"),
        (0x6969, "unknown: "),
        (0, "unknown: "),
    ],
)
def test_the_tier_says_what_the_place_is(tmp_path: Path, number: int, words: str) -> None:
    (tmp_path / "file").touch()
    with patch.object(tier, "magic", lambda _: number), (tmp_path / "file").open() as file:
        assert tier.tier(file.fileno()).startswith(words)


@pytest.mark.parametrize(
    ("files", "words"),
    [
        ({"rotational": ["1"]}, "in place: ext4"),
        ({"rotational": ["0"]}, "best effort: the disk is flash"),
        ({}, "best effort: the disk is flash, or does not say"),
    ],
)
def test_the_tier_looks_at_the_disk(
    tmp_path: Path, files: dict[str, list[str]], words: str
) -> None:
    (tmp_path / "file").touch()
    with (
        patch.object(tier, "magic", lambda _: 0xEF53),
        patch.object(tier, "_lines", lambda path: files.get(path.name, [])),
        (tmp_path / "file").open() as file,
    ):
        assert tier.tier(file.fileno()).startswith(words)


@pytest.mark.parametrize(
    ("swaps", "told"),
    [
        (["Filename Type"], False),
        (["Filename Type", "/dev/zram0 partition"], False),
        (["Filename Type", "/dev/zram0 partition", "/swap.img file"], True),
    ],
)
def test_swap_is_told(tmp_path: Path, swaps: list[str], told: bool) -> None:
    (tmp_path / "file").touch()
    with (
        patch.object(tier, "magic", lambda _: 0x01021994),
        patch.object(tier, "_lines", lambda path: swaps if path.name == "swaps" else []),
        (tmp_path / "file").open() as file,
    ):
        assert ("swap is on" in tier.tier(file.fileno())) is told


@linux
def test_real_file_systems_are_known_by_their_numbers(tmp_path: Path, memory: Path) -> None:
    with (memory / "file").open("w") as file:
        assert tier.magic(file.fileno()) == 0x01021994
    asked = subprocess.run(
        ["stat", "-f", "-c", "%t", str(tmp_path)], capture_output=True, text=True, check=True
    )
    (tmp_path / "file").touch()
    with (tmp_path / "file").open() as file:
        assert tier.magic(file.fileno()) == int(asked.stdout, 16)
        assert tier.magic(10_000) == 0, "a handle that is none"


@linux
def test_an_overlay_is_known(tmp_path: Path) -> None:
    names = ("lower", "upper", "work", "seen")
    for name in names:
        (tmp_path / name).mkdir()
    lower, upper, work, seen = (str(tmp_path / name) for name in names)
    options = f"lowerdir={lower},upperdir={upper},workdir={work}"
    mount = shutil.which("mount")
    if not mount or os.geteuid() != 0:
        pytest.skip("needs root, and the program of the Debian package mount")
    command = [mount, "-t", "overlay", "overlay", "-o", options, seen]
    if subprocess.run(command, check=False, capture_output=True).returncode != 0:
        pytest.skip("needs a kernel with overlay")
    try:
        with (tmp_path / "seen" / "file").open("w") as file:
            assert tier.tier(file.fileno()).startswith("best effort: overlay")
    finally:
        subprocess.run(["umount", seen], check=True)


@pytest.mark.parametrize(
    ("swaps", "swapped"), [([], False), (["/dev/zram0"], False), (["/dev/sda2"], True)]
)
def test_memory_that_is_swapped_to_a_disk(swaps: list[str], swapped: bool) -> None:
    with patch.object(tier, "_lines", lambda path: ["Filename Type Size", *swaps]):
        assert tier._swaps() is swapped
