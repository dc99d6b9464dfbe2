"""The first line of a file, from which ``ameles init`` takes names and shows no event."""

from __future__ import annotations

import bz2
import gzip
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from ameles.connectors.files.named_files import find_files
from ameles.plan.plan import read_plan
from tests.cli.conftest import Program
from tests.cli.init.guests import HEADER, answer, options, written

if TYPE_CHECKING or sys.version_info < (3, 14):
    from backports import zstd
else:
    from compression import zstd


def packed(ending: str, text: str, encoding: str = "utf-8") -> bytes:
    whole = text.encode(encoding)
    if ending == ".gz":
        return gzip.compress(whole)
    return bz2.compress(whole) if ending == ".bz2" else zstd.compress(whole)


@pytest.mark.parametrize("ending", [".gz", ".bz2", ".zst"])
class TestCompressed:
    def test_the_names_are_of_what_is_inside(
        self, ameles: Program, folder: Path, ending: str
    ) -> None:
        (folder / f"old.csv{ending}").write_bytes(packed(ending, HEADER))
        ended = ameles("init", f"old.csv{ending}", *options())
        assert ended.code == 0, ended.err
        assert ended.err.startswith("Columns: when, who, where it was, ")
        assert written()["stream"]["source"] == f"old.csv{ending}"
        assert "would refuse" not in ameles("plan").err

    def test_an_event_is_not_shown(self, ameles: Program, folder: Path, ending: str) -> None:
        bare = packed(ending, "2026-01-01,canary,north\n")
        (folder / f"bare.csv{ending}").write_bytes(bare)
        ended = ameles("init", f"bare.csv{ending}", *options())
        assert ended.code == 2
        assert "canary" not in ended.err
        assert "looks like an event" in ended.err

    def test_a_name_without_its_ending(self, ameles: Program, folder: Path, ending: str) -> None:
        (folder / "old.csv").write_bytes(packed(ending, HEADER))
        assert f"try: mv 'old.csv' 'old.csv{ending}'" in ameles("init", "old.csv", *options()).err

    def test_a_folder_of_them(self, ameles: Program, folder: Path, ending: str) -> None:
        (folder / "logs").mkdir()
        (folder / "logs" / f"1.csv{ending}").write_bytes(packed(ending, HEADER))
        assert f"try: ameles init 'logs/*.csv{ending}'" in ameles("init", "logs", *options()).err

    def test_utf_16_inside(self, ameles: Program, folder: Path, ending: str) -> None:
        (folder / f"w.csv{ending}").write_bytes(packed(ending, HEADER, "utf-16"))
        assert "is in UTF-16" in ameles("init", f"w.csv{ending}", *options()).err


CANARY = "canary"


class TestFirstLines:
    """No value of an event is shown, and no file is taken for what it is not."""

    @pytest.mark.parametrize(
        "first",
        [
            f"2026-01-01T10:00:00Z,{CANARY},north",
            f"1767261600,{CANARY},north",
            f"{CANARY},22.01.2020,north",
            f"{CANARY},1 Jan 2026,true",
            f"{CANARY},{CANARY},10:30",
            f'"{CANARY}",,"2026-01-01"',
            f"{CANARY}@example.org,yes",
            f"2026-01-01,{CANARY}\xa0\ufffd",
            "x" * 70 + f",{CANARY}",
        ],
    )
    def test_an_event_is_not_shown(
        self, ameles: Program, folder: Path, monkeypatch: pytest.MonkeyPatch, first: str
    ) -> None:
        (folder / "bare.csv").write_text(f"{first}\n{first}\n", encoding="utf-8")
        for arguments in (options(), options(time=None), options(time="wen")):
            answer(monkeypatch, "", "when", "who")
            ended = ameles("init", "bare.csv", *arguments)
            assert ended.code == 2
            assert ended.out == ""
            assert CANARY not in ended.err
            assert "2026" not in ended.err
            assert "looks like an event" in ended.err
            assert "--header reported_at,region" in ended.err
            assert not (folder / "ameles.toml").exists()

    def test_an_odd_name_is_no_obstacle(self, ameles: Program, folder: Path) -> None:
        (folder / "odd.csv").write_text("when,2020,canary\n", encoding="utf-8")
        given = options(user="", by="2020", max_per_step=None, max_steps=None)
        ended = ameles("init", "odd.csv", *given)
        assert ended.code == 0, ended.err
        assert CANARY not in ended.err + (folder / "ameles.toml").read_text(encoding="utf-8")

    @pytest.mark.parametrize(
        ("delimiter", "name"), [(";", "semicolons"), ("\t", "tabs"), ("|", "bars")]
    )
    def test_other_delimiters(
        self, ameles: Program, folder: Path, delimiter: str, name: str
    ) -> None:
        (folder / "other.csv").write_text(f"when{delimiter}{CANARY}\n", encoding="utf-8")
        ended = ameles("init", "other.csv", *options())
        assert ended.code == 2
        assert f"has {name} and no commas" in ended.err
        assert "try: --delimiter " in ended.err
        assert CANARY not in ended.err
        given = options(user="", by="", keys=None, max_per_step=None, max_steps=None)
        ended = ameles("init", "other.csv", "--delimiter", delimiter, *given)
        assert ended.code == 0, ended.err
        assert written()["stream"]["delimiter"] == delimiter
        assert "would refuse" not in ameles("plan").err
        assert ameles("init", "other.csv", "-o", "b.toml", "--delimiter", "", *given).code == 2

    def test_names_that_a_person_gives(self, ameles: Program, folder: Path) -> None:
        (folder / "bare.csv").write_text(f"2026-01-01,{CANARY},north\n", encoding="utf-8")
        names = "when,who,where it was"
        ended = ameles("init", "bare.csv", "--header", names, *options())
        assert ended.code == 0, ended.err
        assert written()["stream"]["header"] == ["when", "who", "where it was"]
        assert CANARY not in ended.err + (folder / "ameles.toml").read_text(encoding="utf-8")
        assert "would refuse" not in ameles("plan").err
        assert ameles("init", "bare.csv", "-o", "b.toml", "--header", "", *options()).code == 2

    def test_standard_input_is_no_file(self, ameles: Program, folder: Path) -> None:
        (folder / "-").write_text(HEADER, encoding="utf-8")
        ended = ameles("init", "-", *options())
        assert ended.code == 2
        assert "'-' is standard input" in ended.err

    def test_folders_and_patterns(self, ameles: Program, folder: Path) -> None:
        (folder / "logs").mkdir()
        for number in (1, 2):
            (folder / "logs" / f"{number}.csv").write_text(HEADER, encoding="utf-8")
        ended = ameles("init", "logs", *options())
        assert ended.code == 2
        assert "'logs' is a folder." in ended.err
        assert "try: ameles init 'logs/*.csv'" in ended.err
        (folder / "plans").mkdir()
        ended = ameles("init", "logs/*.csv", "--output", "plans/a.toml", *options())
        assert ended.code == 0, ended.err
        plan = read_plan(folder / "plans" / "a.toml")
        assert (plan.stream.source, plan.stream.name) == ("../logs/*.csv", "stream")
        assert len(find_files(plan.stream.source, plan.base)) == 2
        assert ameles("plan", "plans/a.toml").code == 0
        assert ameles("init", "logs/*.jsonl", "--output", "b.toml", *options()).code == 2

    @pytest.mark.parametrize(
        ("first", "what"),
        [
            (b"\x1f\x8b\x08", "compressed with gzip"),
            (b"(\xb5/\xfd", "compressed with zstd"),
            (b"BZh91AY", "compressed with bzip2"),
            (b"PK\x03\x04", "an archive"),
            (b"PAR1", "is Parquet"),
            ("\ufeffwhen,who".encode("utf-16-le"), "in UTF-16"),
        ],
    )
    def test_files_that_are_something_else(
        self, ameles: Program, folder: Path, first: bytes, what: str
    ) -> None:
        for name in ("guests.csv", "guests.jsonl"):
            (folder / name).write_bytes(first + b"canary\n")
            ended = ameles("init", name, *options())
            assert ended.code == 2
            assert what in ended.err
            assert CANARY not in ended.err
