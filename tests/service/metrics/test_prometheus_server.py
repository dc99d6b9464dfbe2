"""A real Prometheus agrees: it scrapes ``/metrics``, and over the same numbers it answers the same
queries in the same way."""

from __future__ import annotations

import io
import json
import threading
import time
from collections.abc import Iterator
from contextlib import closing
from typing import Any
from urllib.parse import urlencode

import pytest

from ameles.core.release import COLUMNS
from ameles.service.log import Log
from ameles.service.server import listening, run_server
from tests.prometheus import MISSING, Prometheus, installed, prometheus, promtool
from tests.service.metrics.motley import STEPS, motley_service, shown
from tests.service.small_service import Small

pytestmark = pytest.mark.skipif(not installed(), reason=MISSING)

DAY = 86_400
FIRST = 1_767_225_600 + DAY  # when the first step ends
# Of Prometheus 2, the interval in which a number is looked for has both ends.
LOOKBACK = f"{DAY * 1000 - 1}ms"
CONFIG = """
global: {{scrape_interval: 500ms, scrape_timeout: 500ms}}
scrape_configs:
  - job_name: ameles
    authorization: {{credentials_file: {token}}}
    static_configs: [{{targets: ["{target}"]}}]
"""
SELECTORS = [
    "ameles_release_value",
    "ameles_release_lower",
    'ameles_release_upper{release="ages"}',
    'ameles_release_value{release!="visits"}',
    'ameles_release_value{key=~"a.*|.*job"}',
    'ameles_release_value{key!~".*/job"}',
    'ameles_release_value{by_home_town="\\\\"}',
    'ameles_release_value{by_home_town="new\\nline"}',
    "ameles_release_value{by_home_town='\"'}",
    "ameles_release_value{by_home_town=`a\\nb`}",
    'ameles_release_value{by_home_town=~"x\\".*", by_home_town_2="job", }',
    '{__name__=~"ameles_release_(lower|upper)",release="median"}',
    '{__name__=~"ameles.*",winner!=""}',
    'ameles_release_value{winner="job"}',
    'ameles_release_value{winner=""}',
    'ameles_release_state{state!="below"}',
    "ameles_stream_step",
    "ameles_stream_step_end_timestamp_seconds # with a comment",
    'ameles_stream_step{absent=""}',
    'ameles_stream_step{absent!=""}',
    "nothing",
    '{stream="motley"}',
    '{by_home_town=~"ü.*"}',
    '{by_age="[18,65)"}',
    '{by_age=~"\\\\[.*"}',
    '{by_age=~"(?i)\\\\[18.65."}',
]
REFUSED = [
    "",
    " ",
    "{}",
    '{key=""}',
    '{key=~".*"}',
    '{key!="a"}',
    "up{",
    "up{a}",
    "up{a=}",
    "up{a=b}",
    'up{a=="b"}',
    'up{a="b" c="d"}',
    'up{a="b",,}',
    'up{,a="b"}',
    'up{a="\\q"}',
    'up{a="b}',
    'up{a="b\nc"}',
    'up{a=~"("}',
    'up{a=~"*"}',
    'up{a=~"(?<=a)b"}',
    'up{__name__="up"}',
    'up{1a="b"}',
    "up}",
    "1up",
    "up up",
    "up)",
]
TIMES = [
    ("start", "end", "step"),
    (str(FIRST), str(FIRST + 3 * DAY), "86400"),
    (str(FIRST - DAY), str(FIRST + 2 * DAY), "12h"),
    ("2026-01-02T00:00:00Z", "2026-01-05T12:34:56.789+02:00", "1h30m"),
    (f"{FIRST - 0.001}", f"{FIRST + 0.001}", "0.001"),
    (f"{FIRST + 0.5}", f"{FIRST + 2e5}", "7777.777"),
    (f"{FIRST + DAY:e}", str(FIRST + DAY), "1"),
    ("0", "100", "10"),
]
WRONG_TIMES = [
    ("", str(FIRST), "60"),
    ("yesterday", str(FIRST), "60"),
    ("2026-02-30T00:00:00Z", str(FIRST + 1e7), "60"),
    ("2026-01-02", str(FIRST + DAY), "60"),
    (str(FIRST), str(FIRST - 1), "60"),
    (str(FIRST), str(FIRST), "0"),
    (str(FIRST), str(FIRST), "-1"),
    (str(FIRST), str(FIRST), "1m30"),
    (str(FIRST), str(FIRST), ""),
    (str(FIRST), str(FIRST + 11_001), "1"),
]


class Both:
    """Ours and theirs, over the same numbers."""

    def __init__(self, service: Small, theirs: Prometheus, token: str, config: str) -> None:
        self.config = config
        self.service = service
        self.theirs = theirs
        self.token = token

    def ours(self, path: str, parameters: Any) -> tuple[int, Any]:
        answer = self.service.client.get(
            f"/prometheus/api/v1/{path}?{urlencode(parameters)}", self.token
        )
        return answer.status, answer.json

    def agree(self, path: str, **parameters: str) -> Any:
        pairs = [(name.replace("match", "match[]"), text) for name, text in parameters.items()]
        (status, ours), (their_status, theirs) = (
            self.ours(path, pairs),
            self.theirs.ask(path, pairs),
        )
        assert (status, ours["status"]) == (their_status, theirs["status"]), parameters
        assert set(ours) == set(theirs)
        if status == 200:
            assert _ordered(ours["data"]) == _ordered(theirs["data"]), parameters
        else:
            assert ours["errorType"] == theirs["errorType"] == "bad_data"
        return ours


def _ordered(data: Any) -> Any:
    """An instant vector has no order."""
    if isinstance(data, dict) and data.get("resultType") == "vector":
        return {
            **data,
            "result": sorted(data["result"], key=lambda one: json.dumps(one, sort_keys=True)),
        }
    return data


def history(service: Small) -> str:
    """Everything that was released as OpenMetrics with times, made from the records alone."""
    families: dict[str, list[str]] = {}
    with shown(service).store.reading() as transaction:
        stream = transaction.stream("motley")
        assert stream is not None
        rows = [dict(zip(COLUMNS, row, strict=True)) for row in transaction.release_rows(stream)]
    for row in rows:
        labels = _labels(row["release"], row["key"])
        at = FIRST + (row["step"] - 1) * DAY
        if row["release"] == "many":
            state = {**labels, "state": row["label"]}
            families.setdefault("ameles_release_state", []).append(_line(state, 1, at))
        elif row["label"]:
            labels["winner"] = row["label"]
        for name, column in (("value", "value"), ("lower", "low"), ("upper", "high")):
            if row[column] is not None:
                lines = families.setdefault(f"ameles_release_{name}", [])
                lines.append(_line(labels, row[column], at))
    for step in range(1, STEPS + 1):
        at, name = FIRST + (step - 1) * DAY, "ameles_stream_step"
        families.setdefault(name, []).append(_line({"stream": "motley"}, step, at))
        families.setdefault(f"{name}_end_timestamp_seconds", []).append(
            _line({"stream": "motley"}, at, at)
        )
    return (
        "".join(
            f"# TYPE {name} gauge\n" + "".join(f"{name}{line}\n" for line in lines)
            for name, lines in families.items()
        )
        + "# EOF\n"
    )


def _labels(release: str, key: str) -> dict[str, str]:
    columns = {"visits": ("by_home_town", "by_home_town_2"), "ages": ("by_le", "by_age")}
    labels = {"stream": "motley", "release": release, "key": key}
    if release in columns:
        labels |= dict(zip(columns[release], key.split("/"), strict=True))
    return {name: text for name, text in labels.items() if text}


def _line(labels: dict[str, str], number: float, at: int) -> str:
    inside = ",".join(
        f"{name}={json.dumps(text, ensure_ascii=False)}" for name, text in labels.items()
    )
    # JSON writes a tab as \t, which is no escape in this format
    return f"{{{inside}}} {number} {at}".replace("\\t", "\t")


@pytest.fixture(scope="module")
def both(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Both]:
    base, stop = tmp_path_factory.mktemp("prometheus"), threading.Event()
    with motley_service(base) as service, closing(listening("127.0.0.1:0")) as opened:
        token = service.token("read", "motley")
        (base / "token").write_text(token)
        (base / "history").write_text(history(service), encoding="utf-8")
        made = promtool(
            *("tsdb", "create-blocks-from", "openmetrics", "--max-block-duration=2160h"),
            *(str(base / "history"), str(base / "data")),
        )
        assert made.returncode == 0, made.stderr
        target = "{}:{}".format(*opened.getsockname())
        serving = threading.Thread(
            target=run_server, args=(service.client.app, opened, Log(io.StringIO()), stop)
        )
        serving.start()
        with prometheus(base, "", lookback=LOOKBACK) as theirs:
            config = CONFIG.format(token=base / "token", target=target)
            yield Both(service, theirs, token, config)
        stop.set()
        serving.join()


@pytest.mark.parametrize("selector", SELECTORS)
def test_the_same_selector_has_the_same_series_at_every_moment(both: Both, selector: str) -> None:
    found = 0
    for start, end, step in TIMES[1:]:
        answer = both.agree("query_range", query=selector, start=start, end=end, step=step)
        found += len(answer["data"]["result"])
    for at in (FIRST, FIRST + DAY - 0.001, FIRST + 2.5 * DAY, FIRST - 1, "2026-01-04T00:00:00Z"):
        both.agree("query", query=selector, time=str(at))
    assert bool(found) == (selector not in ("nothing", 'ameles_stream_step{absent!=""}'))
    if found:
        whole = {"start": str(FIRST), "end": str(FIRST + STEPS * DAY)}
        both.agree("series", match=selector, **whole)
        both.agree("labels", match=selector, **whole)
        both.agree("label/key/values", match=selector, **whole)


def test_what_cannot_be_read_is_refused_by_both(both: Both) -> None:
    for selector in REFUSED:
        both.agree("query", query=selector)
        if "__name__" not in selector:
            both.agree("series", match=selector)
    for start, end, step in WRONG_TIMES:
        both.agree("query_range", query="up", start=start, end=end, step=step)
    both.agree("query", query="up", time="now")
    both.agree("series")
    both.agree("label/a-b/values")
    both.agree("query", query="1+1", time="1.5")
    both.agree("query_range", query=" 1 + 1 ", start="1.5", end="3.6", step="1")


def test_labels_without_a_selector_are_those_of_all_series(both: Both) -> None:
    whole = {"start": str(FIRST), "end": str(FIRST + STEPS * DAY)}
    both.agree("labels", **whole)
    for label in ("__name__", "by_home_town", "winner", "state", "absent"):
        both.agree(f"label/{label}/values", **whole)


def test_a_server_scrapes_what_was_released_last(both: Both) -> None:
    both.theirs.reconfigure(both.config)
    theirs: Any = {"data": {"result": []}}
    while not theirs["data"]["result"]:  # until a scrape came in time, on any machine
        time.sleep(0.05)
        _, theirs = both.theirs.ask("query", {"query": '{stream="motley"}'})
    last = str(FIRST + (STEPS - 1) * DAY)
    _, ours = both.ours("query", {"query": '{stream="motley"}', "time": last})

    def numbers(answer: Any) -> dict[str, str]:
        return {
            json.dumps(
                {k: v for k, v in one["metric"].items() if k not in ("job", "instance")},
                sort_keys=True,
            ): one["value"][1]
            for one in answer["data"]["result"]
        }

    assert numbers(ours) == numbers(theirs)
    assert len(numbers(ours)) > 60
    _, told = both.theirs.ask("metadata", {"metric": "ameles_release_value"})
    _, about = both.ours("metadata", {"metric": "ameles_release_value"})
    assert told == about
