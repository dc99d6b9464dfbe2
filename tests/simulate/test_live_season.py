"""A season that happens now: the log has what happened before the time, and nothing else."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path

from ameles.plan.clock import microseconds
from ameles.simulate import season, write_csv
from ameles.simulate.live_season import LiveSeason

START = microseconds(datetime.fromisoformat("2025-10-01T00:00:00Z"))
DAY = 86_400_000_000


def test_the_log_grows_with_the_clock(tmp_path: Path) -> None:
    visits, passed = season(days=7, events=700, visitors=500), [0.0]
    write_csv(tmp_path / "whole.csv", visits)
    whole = (tmp_path / "whole.csv").read_text(encoding="utf-8").splitlines()
    log = tmp_path / "log.csv"
    live = LiveSeason(log, visits, start=START, seconds=2.0, elapsed=lambda: passed[-1])
    passed.append(60.0)
    assert live.now() == START, "it begins with the first look at the clock"
    assert log.read_text(encoding="utf-8").splitlines() == whole[:1], "nobody has come yet"

    def happened() -> list[str]:
        lines = log.read_text(encoding="utf-8").splitlines()[1:]
        assert lines == whole[1 : 1 + len(lines)], "in the order of the site"
        return lines

    for days in (0.5, 1.0, 1.0, 3.25):
        passed.append(60 + 2 * days)
        at = live.now()
        assert at == START + int(days * DAY)
        times = [microseconds(datetime.fromisoformat(line.split(",")[0])) for line in whole[1:]]
        assert len(happened()) == sum(time < at for time in times) > 0
    passed.append(60 + 2 * 7.5)
    live.now()
    assert happened() == whole[1:]
    live.now()
    assert happened() == whole[1:], "each visit once"
