"""The true numbers of the demo, by plain queries; harmless, because the visitors are made up."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import duckdb

from ameles.core.release import Release
from ameles.plan.plan import Plan

Name = tuple[str, str]  # a release and a key


@dataclass(frozen=True, slots=True)
class Point:
    """One published number beside its truth."""

    true: int
    released: Release

    @property
    def name(self) -> Name:
        """The release and key that it belongs to."""
        return self.released.release, self.released.key

    @property
    def half(self) -> float | None:
        """The half-width of its interval."""
        if self.released.low is None or self.released.high is None:
            return None
        return (self.released.high - self.released.low) / 2


@dataclass(frozen=True)
class Truth:
    """Exact counts of every day, and the span that each release of the demo's plan covers."""

    daily: dict[Name, dict[int, int]]
    windows: dict[str, int | None]
    left_out: float  # the share of visits that the plan's bounds leave out

    @classmethod
    def of(cls, plan: Plan) -> Self:
        """Asks the source of the demo's plan."""
        source = str(plan.base / plan.stream.source).replace("'", "''")
        day = f"(epoch_us(reported_at) - {plan.clock.first}) // 86400000000 + 1"
        first = "row_number() OVER (PARTITION BY device ORDER BY reported_at) = 1"
        with duckdb.connect() as duck:
            duck.execute(
                f"CREATE TABLE visits AS SELECT *, {day} AS day, {first} AS first "
                f"FROM read_csv('{source}', types = {{'reported_at': 'TIMESTAMPTZ'}})"
            )
            daily = {
                ("visits", region): _counts(duck, f"region = '{region}'")
                for region in plan.releases[0].keys
            }
            daily["fever-today", ""] = _counts(duck, "fever AND age >= 18")
            daily["visitors", ""] = _counts(duck, "first")
            kept = f"least(count(DISTINCT day), {plan.privacy.max_steps})"
            ((left_out,),) = duck.execute(
                f"SELECT 1 - sum(kept) / sum(n) FROM (SELECT {kept} AS kept, count(*) AS n "
                "FROM visits GROUP BY device)"
            ).fetchall()
        windows = {release.name: plan.window(release) for release in plan.releases}
        return cls(daily, windows, float(left_out))

    def knows(self, release: Release) -> bool:
        """Whether the true number of this release is known."""
        return (release.release, release.key) in self.daily

    def beside(self, release: Release) -> Point:
        """A published number with its true value, without noise and bounds."""
        daily = self.daily[release.release, release.key]
        window = self.windows[release.release]
        first = 1 if window is None else max(1, release.step - window + 1)
        return Point(sum(daily.get(day, 0) for day in range(first, release.step + 1)), release)


def _counts(duck: duckdb.DuckDBPyConnection, condition: str) -> dict[int, int]:
    query = f"SELECT day, count(*) FROM visits WHERE {condition} GROUP BY day"
    return {int(day): int(count) for day, count in duck.execute(query).fetchall()}
