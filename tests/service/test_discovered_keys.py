"""A stream whose keys are discovered, as readers and Prometheus see it: before and after."""

from __future__ import annotations

import importlib
import io
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from urllib.parse import quote

from ameles.engine.engine import Engine
from ameles.service.published import Shown
from ameles.store import open_store
from tests.engine.tags import TAGS, Event, Tags
from tests.service.small_service import Small, described, small

# The series of both releases alternate: keys are found in several steps.
BOTH = (
    TAGS
    + TAGS.replace('"tags"', '"people"').replace('"count"', '"distinct"')
    + '[[release]]\nname = "first"\nmeasure = "top"\nk = 2\nby = { tag = "discovered" }\n'
)
PRIVACY = "epsilon = 300\ndelta = 0.01"
EVENTS = [
    Event(step, f"{tag}{step}{n}", tag)
    for step, tag in ((2, "b"), (3, '<i>"a"</i>'), (3, "=c"), (4, "d"))
    for n in range(20)
]


@contextmanager
def served(folder: Path, until: int) -> Iterator[Small]:
    tags = Tags(folder, BOTH, privacy=PRIVACY, rest="[serve]\npublic = true\n")
    tags.append(EVENTS)
    with closing(open_store(str(folder / "s.db"))) as store:
        for step in range(1, until + 1):
            Engine(tags.plan, store).run(Event(step + 1, "", "").at)
        with small([described(Shown(tags.plan, store))]) as service:
            yield service


def test_before_the_first_key_is_found(tmp_path: Path) -> None:
    with served(tmp_path, 1) as service:
        told = service.client.get("/v1/streams/s").json
        assert told["state"] == "running"  # nothing has halted
        assert [(one["name"], one["keys"]) for one in told["releases"]] == [
            ("tags", []),
            ("people", []),
            ("first", ["1", "2"]),
        ]
        first = told["releases"][0]
        assert (first["mechanism"], first["discovered"]) == ("KeyDiscovery", "tag")
        assert len(first["users_needed"]) == 3
        page = service.client.get("/v1/streams/s/releases?format=series").json
        assert [one["key"] for one in page["series"]] == ["1", "2"]
        explained = service.client.get("/v1/streams/s/explain?release=tags&step=1")
        assert explained.status == 200
        assert explained.json["values"] == []
        assert 'ameles_stream_step{stream="s"} 1' in service.client.get("/metrics").body.decode()
        assert service.client.get("/v1/streams/s/releases?release=tags").status == 200
        assert service.client.get("/v1/streams/s/releases?key=b").status == 404


def test_keys_that_are_found_later(tmp_path: Path) -> None:
    with served(tmp_path, 5) as service:
        with service.shown["s"].store.reading() as transaction:
            stream = transaction.stream("s")
            assert stream is not None
            series = [(one.release, one.key) for one in transaction.series(stream)]
            rows = list(transaction.releases(stream))
        found = ["b", '<i>"a"</i>', "=c", "d"]
        assert series[2:4] == [("tags", "b"), ("people", "b")]
        told = service.client.get("/v1/streams/s").json
        assert {one["name"]: one["keys"] for one in told["releases"]} == {
            "tags": found,
            "people": found,
            "first": ["1", "2"],
        }
        page = service.client.get("/v1/streams/s/releases?release=tags&format=series").json
        wanted = {
            key: [r.value for r in rows if (r.release, r.key) == ("tags", key)] for key in found
        }
        assert {one["key"]: one["value"] for one in page["series"]} == wanted
        shown = service.client.get("/metrics").body.decode()
        for release in ("tags", "people"):
            for row in (r for r in rows if (r.release, r.step) == (release, 5)):
                key = row.key.replace('"', '\\"')
                start = f'ameles_release_value{{stream="s",release="{release}",key="{key}"'
                (line,) = [one for one in shown.splitlines() if one.startswith(start)]
                assert float(line.rpartition(" ")[2]) == row.value
                assert f'by_tag="{key}"' in line
        ipc, parquet = (importlib.import_module(f"pyarrow.{name}") for name in ("ipc", "parquet"))
        everything = [(r.release, r.key, r.step, r.value) for r in rows]
        asked = "/v1/streams/s/releases?format="
        tables = [
            parquet.read_table(io.BytesIO(service.client.get(f"{asked}parquet").body)),
            ipc.open_stream(service.client.get(f"{asked}arrow").body).read_all(),
        ]
        for table in tables:
            read = table.select(["release", "key", "step", "value"]).to_pylist()
            assert sorted(tuple(one.values()) for one in read) == sorted(everything)
        query = quote('ameles_release_value{release="people"}')
        asked = f"/prometheus/api/v1/query_range?query={query}&step=86400"
        range_ = f"{asked}&start=1767312000&end=1767657600"  # from the end of step 1 on
        answer = service.client.get(range_).json
        assert answer["status"] == "success"
        lengths = {one["metric"]["key"]: len(one["values"]) for one in answer["data"]["result"]}
        assert lengths == {"b": 4, '<i>"a"</i>': 3, "=c": 3, "d": 2}
