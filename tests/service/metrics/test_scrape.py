"""``/metrics``: the last releases of what a request may read, as Prometheus reads them."""

from __future__ import annotations

import re
from contextlib import closing
from pathlib import Path

import pytest

from ameles.core.release import COLUMNS
from ameles.engine.operating.retire import retire_stream
from ameles.service.metrics import series_labels
from ameles.service.metrics.exposition import OPEN, PLAIN, escaped
from ameles.service.published import Shown
from ameles.store import open_store
from tests.prometheus import MISSING, installed, promtool
from tests.service.small_service import Small, plan_of, released, small, world

OPENMETRICS = {"Accept": "application/openmetrics-text;version=1.0.0,text/plain;q=0.5"}


def text(service: Small, token: str | None, **options: dict[str, str]) -> str:
    answer = service.client.get("/metrics", token, **options)
    assert answer.status == 200, answer.body
    return answer.body.decode()


def streams(service: Small, token: str | None) -> set[str]:
    return set(re.findall(r'stream="([^"]*)"', text(service, token)))


def test_the_last_release_of_every_key_is_there(motley: Small) -> None:
    shown = text(motley, motley.token("read", "motley"))
    with motley.shown["motley"].store.reading() as transaction:
        stream = transaction.stream("motley")
        assert stream is not None
        rows = transaction.release_rows(stream, first=stream.released)
        records = [dict(zip(COLUMNS, row, strict=True)) for row in rows]
    for record in records:
        key = f',key="{escaped(record["key"])}"' if record["key"] else ""
        start = f'{{stream="motley",release="{record["release"]}"{key}'
        for name, column in (("value", "value"), ("lower", "low"), ("upper", "high")):
            lines = [
                line
                for line in shown.splitlines()
                if line.startswith(f"ameles_release_{name}{start}")
            ]
            expected = [] if record[column] is None else [float(record[column])]
            assert [float(line.rpartition(" ")[2]) for line in lines] == expected, record
    assert 'ameles_release_state{stream="motley",release="many",state="halted"} 1\n' in shown
    assert 'ameles_stream_step{stream="motley"} 6\n' in shown
    assert 'ameles_stream_step_end_timestamp_seconds{stream="motley"} 1767744000\n' in shown
    assert 'key="1",winner="' in shown


@pytest.mark.skipif(not installed(), reason=MISSING)
def test_promtool_reads_every_key(motley: Small) -> None:
    token = motley.token("read", "motley")
    checked = promtool("check", "metrics", text=text(motley, token).encode())
    assert (checked.returncode, checked.stderr) == (0, b"")
    broken = text(motley, token).replace('\\"', '"').encode()
    assert promtool("check", "metrics", text=broken).returncode, "nothing was checked"


def test_openmetrics_has_an_end_and_units(motley: Small) -> None:
    token = motley.token("read", "motley")
    answer = motley.client.get("/metrics", token, headers=OPENMETRICS)
    assert answer.headers["content-type"] == OPEN
    assert answer.body.endswith(b"\n# EOF\n")
    assert b"# UNIT ameles_stream_step_end_timestamp_seconds seconds\n" in answer.body
    plain = motley.client.get("/metrics", token)
    assert plain.headers["content-type"] == PLAIN
    assert plain.headers["vary"] == "Accept, Authorization", "a cache must not mix them up"
    assert b"\n# EOF" not in plain.body
    lines = [line for line in plain.body.splitlines() if not line.startswith(b"#")]
    assert lines == [line for line in answer.body.splitlines() if not line.startswith(b"#")]


def test_only_what_a_request_may_read_is_there(service: Small, motley: Small) -> None:
    assert streams(service, None) == {"open"}
    assert streams(service, service.token("read", "closed")) == {"open", "closed"}
    assert streams(service, service.token("read", "apart")) == {"open", "apart"}
    assert streams(service, service.token("read", "open")) == {"open"}
    assert streams(service, service.token("ingest", "closed")) == {"open"}
    assert streams(service, service.token("admin", "closed")) == {"open"}
    assert streams(motley, motley.token("read", "other")) == {"other"}


def test_who_may_read_nothing_is_told_so(motley: Small) -> None:
    nobody = motley.client.get("/metrics")
    assert (nobody.status, nobody.headers["www-authenticate"]) == (401, "Bearer")
    for scope in ("ingest", "admin"):
        assert motley.client.get("/metrics", motley.token(scope, "motley")).status == 403


def test_a_stream_that_never_ran_has_no_lines_and_a_retired_one_its_last(tmp_path: Path) -> None:
    made = world(tmp_path / "a", "a", public=True)
    with closing(open_store(str(tmp_path / "a.db"))) as store:
        plan = plan_of(made)
        with small([Shown(plan, store)]) as service:
            assert text(service, None) == ""
            assert text(service, None, headers=OPENMETRICS) == "# EOF\n"
            assert service.client.get("/prometheus/api/v1/labels").json["data"] == []
        with small([released(made, store)]) as service:
            before = text(service, None)
            assert before.count("\n") > 9
            retire_stream(plan, store, why="over")
            assert text(service, None) == before


def test_a_release_with_too_many_keys_is_left_out(
    motley: Small, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(series_labels, "MOST_KEYS", 17)
    shown = text(motley, motley.token("read", "motley"))
    assert 'release="visits"' not in shown  # it has 18
    assert 'release="ages"' in shown
