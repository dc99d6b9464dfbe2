"""The server spares its process the search for garbage, and leaves the process as it was."""

from __future__ import annotations

import pytest

from ameles.service import server


class Collector:
    """Stands in for Python's collector, with this many frozen objects; notes what it is told."""

    def __init__(self, frozen: int) -> None:
        self.frozen = frozen
        self.told: list[str] = []

    def get_freeze_count(self) -> int:
        return self.frozen

    def collect(self) -> None:
        self.told.append("collect")

    def freeze(self) -> None:
        self.told.append("freeze")

    def unfreeze(self) -> None:
        self.told.append("unfreeze")

    def set_threshold(self, count: int) -> None:
        self.told.append(f"after {count}")


def test_what_is_loaded_is_frozen_while_it_serves(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is frozen at the end of a process is not freed, and DuckDB reports that."""
    collector = Collector(0)
    monkeypatch.setattr(server, "gc", collector)
    with server.spared_garbage_collection():
        assert collector.told == ["collect", "freeze", f"after {server.GARBAGE}"]
    assert collector.told[3:] == ["unfreeze"]


def test_it_is_also_unfrozen_after_a_failure(monkeypatch: pytest.MonkeyPatch) -> None:
    collector = Collector(0)
    monkeypatch.setattr(server, "gc", collector)
    with pytest.raises(KeyError), server.spared_garbage_collection():
        raise KeyError
    assert collector.told[-1] == "unfreeze"


def test_what_a_program_has_frozen_stays_frozen(monkeypatch: pytest.MonkeyPatch) -> None:
    """To look at all that the tests have loaded takes a second, after each service again."""
    collector = Collector(1)
    monkeypatch.setattr(server, "gc", collector)
    with server.spared_garbage_collection():
        pass
    assert collector.told == []
