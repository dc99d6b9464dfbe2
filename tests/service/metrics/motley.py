"""A stream with many measures and with keys and columns that are hard to write down."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

from ameles.service.published import Shown
from ameles.store import open_store
from tests.engine.worlds import World, row
from tests.service.small_service import Small, released, small, world

STEPS = 6
KEYS = ['"', "\\", "new\nline", "a\\nb", 'x"} 1', "ü\u202e😀", "tab\tstop", "{}", "# EOF"]
_COLUMNS = {"home town": "region", "home_town": "who", "le": "fever"}  # and what they are called
RELEASES = f"""
[[release]]
name = "visits"
measure = "count"
by = {{ "home town" = {json.dumps(KEYS, ensure_ascii=False)}, home_town = ["a", "job"] }}
[[release]]
name = "ages"
measure = "histogram"
column = "age"
edges = [0, 18, 65, 120]
by = {{ le = [true, false] }}
[[release]]
name = "median"
measure = "quantile"
column = "age"
q = 0.5
edges = [0, 18, 65, 120]
[[release]]
name = "first"
measure = "top"
by = {{ home_town = ["a", "job", "x"] }}
k = 2
[[release]]
name = "many"
measure = "alert"
threshold = 3
over = "step"
times = 1
"""


def motley(folder: Path, *, public: bool = False) -> World:
    rest = "[serve]\npublic = true\n" if public else ""
    made = World(folder, RELEASES, horizon=None, rest=rest, epsilon="900")
    made.text = made.text.replace('name = "s"', 'name = "motley"', 1)
    for name, old in _COLUMNS.items():
        made.text = made.text.replace(f" {old} = ", f" {json.dumps(name)} = ", 1)
    rows = [row(n, who="job", age=10 * n) for n in range(1, 6) for _ in range(2 * n)]
    header = "at,home_town,home town,age,amount,le"
    made.file.write_text("\n".join([header, *rows]) + "\n", encoding="utf-8")
    return made


@contextmanager
def motley_service(base: Path) -> Iterator[Small]:
    """The streams 'motley' and, in the same store, 'other', of which neither is public."""
    with (
        closing(open_store(str(base / "motley.db"))) as store,
        small(
            [
                released(motley(base / "m"), store, STEPS),
                released(world(base / "o", "other"), store),
            ]
        ) as made,
    ):
        yield made


def shown(service: Small) -> Shown:
    return service.shown["motley"]
