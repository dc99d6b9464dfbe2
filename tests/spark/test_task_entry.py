"""The first lines of a task run where Ameles is another version, or missing."""

from __future__ import annotations

from importlib import metadata
from importlib.util import find_spec

import pytest

from tests.spark.session import MISSING

VERSION = metadata.version("ameles")


class Doubled:
    """A program."""

    def __call__(self, partition: int, rows: object) -> object:
        return (partition, rows)


@pytest.mark.skipif(find_spec("pyspark") is None, reason=MISSING)
def test_a_program_runs_only_under_its_version(monkeypatch: pytest.MonkeyPatch) -> None:
    from ameles.spark.task_entry import NONE, OTHER, entry

    assert entry(Doubled(), VERSION)(3, iter(())) is not None
    [(mark, machine, found)] = entry(Doubled(), "9.9")(3, iter(()))
    assert (mark, found) == (OTHER, VERSION)
    assert machine
    every = [(reducer, (OTHER, machine, VERSION)) for reducer in range(4)]
    assert list(entry(Doubled(), "9.9", 4)(3, iter(()))) == every

    def missing(name: str) -> str:
        raise metadata.PackageNotFoundError(name)

    program = entry(Doubled(), VERSION)
    monkeypatch.setattr(metadata, "version", missing)
    assert list(program(3, iter(()))) == [(OTHER, machine, NONE)]
