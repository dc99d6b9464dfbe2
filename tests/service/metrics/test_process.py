"""``/metrics/process``: how the process is doing, and nothing that counts events."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from ameles.service.ingest.door import WAITING, Door, SealedDoor
from tests.prometheus import MISSING, installed, promtool
from tests.service.metrics.test_scrape import OPENMETRICS
from tests.service.small_service import Small, reading_door


def numbers(service: Small, token: str) -> dict[str, str]:
    answer = service.client.get("/metrics/process", token)
    assert answer.status == 200, answer.body
    lines = [line for line in answer.body.decode().splitlines() if not line.startswith("#")]
    return dict(line.rsplit(" ", 1) for line in lines)


def test_the_process_and_the_stream_are_there(service: Small) -> None:
    shown = numbers(service, service.token("admin", "closed"))
    assert float(shown["process_resident_memory_bytes"]) % (1 << 20) == 0
    assert 0 < float(shown["process_resident_memory_bytes"]) < 1 << 40
    assert float(shown["process_cpu_seconds_total"]).is_integer()
    assert 0 < int(shown["process_open_fds"]) <= int(shown["process_max_fds"])
    assert shown['ameles_stream_state{stream="closed",state="running"}'] == "1"
    assert shown['ameles_stream_state{stream="closed",state="failed"}'] == "0"
    assert shown['ameles_stream_lag_steps{stream="closed"}'] == "3"  # of its eight steps, five


@pytest.mark.skipif(not installed(), reason=MISSING)
def test_promtool_reads_both_forms(service: Small) -> None:
    token = service.token("admin", "closed")
    plain = service.client.get("/metrics/process", token).body
    checked = promtool("check", "metrics", text=plain)
    assert (checked.returncode, checked.stderr) == (0, b"")
    text = service.client.get("/metrics/process", token, headers=OPENMETRICS).body.decode()
    assert text.endswith("# EOF\n")
    assert "# TYPE ameles_http_responses counter\n" in text  # OpenMetrics names the family
    assert 'ameles_http_responses_total{class="2xx"} ' in text


def test_answers_are_counted_in_hundreds_and_posted_batches_not_at_all(motley: Small) -> None:
    token = motley.token("admin", "motley")

    def ok() -> int:
        return int(numbers(motley, token)['ameles_http_responses_total{class="2xx"}'])

    before = ok()
    assert before % 100 == 0
    for _ in range(101):
        motley.client.get("/healthz")
    assert ok() - before in (100, 200)
    counts: Any = motley.client.app
    seen = dict(counts.state.answers._counts)
    for path in ("/v1/streams/motley/events", "/v1/streams/absent/events"):
        motley.client.get(path, motley.token("ingest", "motley"), method="POST", body=b"[]")
        motley.client.get(path)
    assert dict(counts.state.answers._counts) == seen


def test_a_few_waiting_batches_do_not_show(tmp_path: Path) -> None:
    source = reading_door(tmp_path).source
    door, sealed = Door(source), SealedDoor(source)
    assert door.fill == sealed.fill == 0
    for batches, shown in ((127, 0), (129, 0.25), (1024, 1), (2000, 1)):
        source._batches = batches
        assert door.fill == shown
    source._batches, source._bytes = 0, 8 << 20
    assert door.fill == 0.5
    waiting: Any = sealed._waiting
    waiting += [None] * 31
    assert sealed.fill == 0
    waiting += [None] * (WAITING - 31)
    assert sealed.fill == 1


def test_the_queue_of_a_stream_is_shown_to_those_who_run_it(
    service: Small, monkeypatch: pytest.MonkeyPatch
) -> None:
    app: Any = service.client.app
    token = service.token("admin", "closed")
    assert not any("queue" in name for name in numbers(service, token))
    monkeypatch.setattr(app.state.operations, "_queue", {"closed": 0.25}.get)
    assert numbers(service, token)['ameles_ingest_queue_ratio{stream="closed"}'] == "0.25"
    assert service.client.get("/v1/streams/closed/operation", token).json["queue"] == 0.25


def test_sinks_show_their_lag_and_hide_what_is_unknown(
    service: Small, monkeypatch: pytest.MonkeyPatch
) -> None:
    app: Any = service.client.app
    whole = app.state.operations.operation
    sinks = [
        {"sink": "csv a", "step": 3, "behind": 2, "problem": None},
        {"sink": "csv b", "step": None, "behind": None, "problem": "it is gone"},
    ]
    monkeypatch.setattr(
        app.state.operations, "operation", lambda name: {**whole(name), "sinks": sinks}
    )
    shown = numbers(service, service.token("admin", "closed"))
    lags = {name: number for name, number in shown.items() if name.startswith("ameles_sink")}
    assert lags == {
        'ameles_sink_lag_steps{stream="closed",sink="csv a"}': "2",
        'ameles_sink_failing{stream="closed",sink="csv a"}': "0",
        'ameles_sink_failing{stream="closed",sink="csv b"}': "1",
    }
    assert "it is gone" not in str(shown)
