"""``ameles grafana``: the files are whole, and every query in them is answered."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import psycopg
import pytest

from ameles.cli.grafana_dashboard import dashboard
from ameles.cli.grafana_queries import BAND, PostgresQueries, PrometheusQueries, Queries
from ameles.store import open_store
from tests.cli.conftest import Program
from tests.postgres import Server
from tests.service.metrics.motley import KEYS, STEPS, motley, motley_service
from tests.service.small_service import Small, plan_of, released

FIRST = 1_767_312_000  # when the first step ends
HARD = f"{KEYS[4]}/job"  # a key with a quote and a brace


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Small]:
    with motley_service(tmp_path_factory.mktemp("grafana")) as made:
        yield made


def shown(folder: Path, queries: Queries) -> dict[str, Any]:
    return dashboard(plan_of(motley(folder)), queries)


def targets(board: dict[str, Any]) -> list[tuple[str, dict[str, Any]]]:
    return [(panel["type"], target) for panel in board["panels"] for target in panel["targets"]]


@pytest.mark.parametrize("queries", [PrometheusQueries(), PostgresQueries()])
def test_a_dashboard_is_whole(tmp_path: Path, queries: Queries) -> None:
    board = shown(tmp_path, queries)
    kinds = [panel["type"] for panel in board["panels"]]
    assert kinds == ["timeseries"] * 3 + ["table", "state-timeline"]
    assert len({panel["id"] for panel in board["panels"]}) == 5
    assert re.fullmatch(r"[a-zA-Z0-9_-]{1,40}", board["uid"])
    names = {variable["name"] for variable in board["templating"]["list"]}
    assert {panel["repeat"] for panel in board["panels"] if "repeat" in panel} == names
    assert len(names) == 2
    used = set(re.findall(r"\$\{?(key_\w+)", json.dumps(board)))
    assert used == names
    for panel in board["panels"]:
        marks = [target["refId"] for target in panel["targets"]]
        assert len(set(marks)) == len(marks)
        assert panel["datasource"] == {"type": queries.kind, "uid": "ameles"}
        if panel["type"] == "timeseries":
            upper, lower = panel["fieldConfig"]["overrides"]
            assert (upper["matcher"]["options"], lower["matcher"]["options"]) == ("upper", "lower")
            assert {"id": "custom.fillBelowTo", "value": "lower"} in upper["properties"]


def test_the_service_answers_every_query(served: Small, tmp_path: Path) -> None:
    board = shown(tmp_path, PrometheusQueries())
    token = served.token("read", "motley")

    def ask(path: str, **asked: Any) -> list[Any]:
        answer = served.client.get(f"/prometheus/api/v1/{path}?{urlencode(asked)}", token)
        assert answer.status == 200, answer.body
        data = answer.json["data"]
        return list(data["result"] if isinstance(data, dict) else data)

    keys = {}
    for variable in board["templating"]["list"]:
        asked = re.fullmatch(r"label_values\((.*), key\)", variable["query"]["query"])
        assert asked is not None
        keys[variable["name"]] = ask("label/key/values", **{"match[]": asked[1]})
    assert HARD in next(iter(keys.values()))
    for kind, target in targets(board):
        query = target["expr"]
        for name, values in keys.items():
            key = HARD if HARD in values else values[0]
            # as Grafana does it: for a regular expression, and then for quotes
            escaped = re.sub(r"[\\^$*+?.()|\[\]{}\"]", lambda m: "\\\\" + m[0], key)
            query = query.replace(f"${name}", escaped.replace('\\\\"', '\\"'))
        times = {"start": FIRST, "end": FIRST + 5 * 86_400, "step": 86_400}
        at = {"time": FIRST} if target["instant"] else times
        found = ask("query" if target["instant"] else "query_range", query=query, **at)
        assert len(found) == (2 if kind == "table" else 1), query
    legends = [target.get("legendFormat") for kind, target in targets(board)[:3]]
    assert tuple(legends) == BAND


def test_the_view_answers_every_query(postgres: Server, tmp_path: Path) -> None:
    board = shown(tmp_path, PostgresQueries())
    schema = f"grafana{postgres.number()}"
    with closing(open_store(postgres.url(schema=schema))) as store:
        released(motley(tmp_path), store, STEPS)
    with psycopg.connect(postgres.url(schema=schema)) as connection:

        def ask(sql: str) -> tuple[list[str], list[Any]]:
            sql = re.sub(r'\$__timeFilter\("end"\)', "\"end\" >= '2026-01-01'", sql)
            cursor = connection.execute(sql.encode())
            assert cursor.description is not None
            return [column.name for column in cursor.description], cursor.fetchall()

        keys = {
            variable["name"]: [row[0] for row in ask(variable["query"])[1]]
            for variable in board["templating"]["list"]
        }
        for kind, target in targets(board):
            sql = target["rawSql"]
            for name, values in keys.items():
                key = HARD if HARD in values else values[0]
                sql = sql.replace(f"${{{name}:sqlstring}}", "'" + key.replace("'", "''") + "'")
            columns, rows = ask(sql)
            if kind == "timeseries":
                assert columns == ["time", *BAND]
                assert len(rows) == STEPS
                assert all(low <= value <= high for _, low, high, value in rows)
            elif kind == "table":
                assert [(row[0], bool(row[1])) for row in rows] == [("1", True), ("2", True)]
            else:
                assert columns == ["time", "metric", "value"]
                assert len(rows) == STEPS


def files(folder: Path) -> dict[str, Any]:
    return {
        str(file.relative_to(folder)): json.loads(file.read_text(encoding="utf-8"))
        for file in folder.rglob("*")
        if file.is_file()
    }


def test_files_are_where_grafana_looks_and_have_no_secret(site: Path, ameles: Program) -> None:
    assert ameles("grafana", "--folder", "g").out.splitlines() == [
        *("g/datasources/ameles.yaml", "g/dashboards/ameles.yaml", "g/dashboards/ameles/flu.json")
    ]
    written = files(site / "g")
    (source,) = written["datasources/ameles.yaml"]["datasources"]
    assert (source["type"], source["uid"]) == ("prometheus", "ameles")
    assert source["url"] == "http://localhost:8421/prometheus"
    assert source["secureJsonData"] == {"httpHeaderValue1": "Bearer $AMELES_TOKEN"}
    (provider,) = written["dashboards/ameles.yaml"]["providers"]
    assert provider["options"]["path"] == "/etc/grafana/provisioning/dashboards/ameles"
    assert written["dashboards/ameles/flu.json"]["title"] == "Ameles: flu"
    again = ameles("grafana", "--folder", "g", "--seen-at", "/srv/")
    assert again.code == 0
    (provider,) = files(site / "g")["dashboards/ameles.yaml"]["providers"]
    assert provider["options"]["path"] == "/srv/dashboards/ameles"


def test_a_public_stream_needs_no_token_and_a_database_no_password_in_a_file(
    site: Path, ameles: Program
) -> None:
    with (site / "ameles.toml").open("a", encoding="utf-8") as plan:
        plan.write("\n[serve]\npublic = true\n")
    assert ameles("grafana", "--url", "https://flu.example/prometheus").code == 0
    (source,) = files(site / "grafana")["datasources/ameles.yaml"]["datasources"]
    assert source["url"] == "https://flu.example/prometheus"
    assert "secureJsonData" not in source
    address = "postgresql://me@db.example:5433/flu"
    assert ameles("grafana", "--source", "postgres", "--url", address).code == 0
    written = files(site / "grafana")
    (source,) = written["datasources/ameles.yaml"]["datasources"]
    assert (source["url"], source["user"]) == ("db.example:5433", "grafana")
    assert source["jsonData"] == {"database": "flu", "sslmode": "require"}
    assert source["secureJsonData"] == {"password": "$AMELES_GRAFANA_PASSWORD"}


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("--source", "postgres"), "needs a store in Postgres"),
        (("--url", "postgresql://localhost/flu"), "needs an address of HTTP"),
        (("--folder", "ameles.toml"), "cannot be written"),
    ],
)
def test_what_cannot_work_is_refused(
    site: Path, ameles: Program, arguments: tuple[str, ...], said: str
) -> None:
    ended = ameles("grafana", *arguments)
    assert ended.code != 0
    assert said in ended.err
    assert not (site / "grafana").exists()
