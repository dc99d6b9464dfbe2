"""``ameles grafana``: writes the files that Grafana reads when it starts, a dashboard a stream."""

from __future__ import annotations

import json
from collections.abc import Sequence
from enum import Enum
from pathlib import Path
from typing import Annotated, Any
from urllib.parse import urlsplit

import typer

from ameles.cli.grafana_dashboard import dashboard
from ameles.cli.grafana_queries import PostgresQueries, PrometheusQueries, Queries
from ameles.cli.plans import DEFAULT, one_store, say
from ameles.core.exceptions import AmelesError, BadInput
from ameles.plan.plan import Plan, read_plan
from ameles.service.metrics.like import LIKE
from ameles.store.opening import in_postgres

FOLDER = Path("grafana")
SEEN_AT = "/etc/grafana/provisioning"
SERVED = "http://localhost:8421/prometheus"


class DataSource(Enum):
    """Where dashboards get their numbers."""

    PROMETHEUS = "prometheus"
    POSTGRES = "postgres"


def grafana(
    files: Annotated[
        list[Path] | None,
        typer.Argument(help="The plans, TOML files.", metavar="PLAN...", readable=False),
    ] = None,
    source: Annotated[
        DataSource,
        typer.Option(help="The API of Prometheus, or the view 'releases' of a store in Postgres."),
    ] = DataSource.PROMETHEUS,
    url: Annotated[
        str | None,
        typer.Option(
            help=f"Where Grafana finds it; by default {SERVED}, or the plan's store.",
            metavar="URL",
        ),
    ] = None,
    folder: Annotated[Path, typer.Option(help="Where to write the files.")] = FOLDER,
    seen_at: Annotated[
        str, typer.Option(help="Where Grafana sees this folder.", metavar="PATH")
    ] = SEEN_AT,
) -> None:
    """Write a data source and dashboards with bands, which Grafana reads when it starts.

    No secret is written: Grafana takes the token from the variable AMELES_TOKEN of its
    environment, or the password from AMELES_GRAFANA_PASSWORD.  Files that are there are replaced.
    """
    plans = [read_plan(file) for file in files or [DEFAULT]]
    if source is DataSource.POSTGRES:
        queries: Queries = PostgresQueries()
        about = _postgres(url or one_store(plans))
    else:
        queries = PrometheusQueries()
        about = _prometheus(url or SERVED, plans)
    written = {
        "datasources/ameles.yaml": {
            "apiVersion": 1,
            "datasources": [queries_source(queries, about)],
        },
        "dashboards/ameles.yaml": {
            "apiVersion": 1,
            "providers": [
                {
                    "name": "ameles",
                    "folder": "Ameles",
                    "type": "file",
                    "allowUiUpdates": True,
                    "options": {"path": f"{seen_at.rstrip('/')}/dashboards/ameles"},
                }
            ],
        },
        **{
            f"dashboards/ameles/{plan.stream.name}.json": dashboard(plan, queries) for plan in plans
        },
    }
    for name, content in written.items():
        _write(folder / name, content)
        say(str(folder / name))


def queries_source(queries: Queries, about: dict[str, Any]) -> dict[str, Any]:
    """The data source that panels name."""
    return {"name": "Ameles", **queries.source, "access": "proxy", "isDefault": True, **about}


def _prometheus(url: str, plans: Sequence[Plan]) -> dict[str, Any]:
    if urlsplit(url).scheme not in ("http", "https"):
        raise BadInput(
            "The data source needs an address of HTTP.",
            tip=f"--url {SERVED}; for a database, --source postgres",
        )
    about = {"httpMethod": "POST", "prometheusType": "Prometheus", "prometheusVersion": LIKE}
    if all(plan.serve.public for plan in plans):
        return {"url": url, "jsonData": about}
    return {
        "url": url,
        "jsonData": {**about, "httpHeaderName1": "Authorization"},
        "secureJsonData": {"httpHeaderValue1": "Bearer $AMELES_TOKEN"},
    }


def _postgres(url: str) -> dict[str, Any]:
    if not in_postgres(url):
        raise BadInput(
            "The view of releases needs a store in Postgres.",
            why="Grafana reads it from there",
            tip="--url postgresql://grafana@localhost/flu, or --source prometheus",
        )
    parts = urlsplit(url)
    host = parts.hostname or "localhost"
    encrypted = "require" if "." in host else "disable"  # a name without dots is near
    return {
        "url": f"{host}:{parts.port or 5432}",
        "user": "grafana",
        "jsonData": {"database": parts.path.lstrip("/"), "sslmode": encrypted},
        "secureJsonData": {"password": "$AMELES_GRAFANA_PASSWORD"},
    }


def _write(file: Path, content: dict[str, Any]) -> None:
    """JSON, which is YAML, too."""
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(json.dumps(content, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
    except OSError as problem:
        raise AmelesError(
            f"'{file}' cannot be written.",
            why=problem.strerror or "the system refuses it",
            tip="--folder with a folder that you may write to",
        ) from None
