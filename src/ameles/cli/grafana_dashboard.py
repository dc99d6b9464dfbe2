"""A dashboard of Grafana for one stream: a panel for each release, with its 95% band.

A release with keys has one panel that Grafana repeats for each chosen key.  ``top`` is a table of
the last ranks, and an alert is a line of states.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import Any

from ameles.cli.grafana_queries import Queries, ShownRelease
from ameles.measures.measure import Measure
from ameles.plan.plan import Plan

SCHEMA = 39  # the version of dashboards of Grafana 11; newer ones read it
WIDTH, HEIGHT = 24, 8
SHOWN_STEPS = 100  # when a dashboard is opened
FIRST_KEYS = 6  # chosen when a dashboard is opened
BAND = "95% of the privacy noise is within the band. It says nothing about other errors."


def dashboard(plan: Plan, queries: Queries) -> dict[str, Any]:
    """The dashboard of a plan's stream, as Grafana imports it."""
    name = plan.stream.name
    variables = [
        _variable(measure, queries, name) for measure in plan.releases if _repeated(measure)
    ]
    panels = [
        _panel(number, measure, queries, plan) for number, measure in enumerate(plan.releases)
    ]
    seconds = plan.clock.every.microseconds // 1_000_000
    return {
        "uid": f"ameles-{hashlib.sha256(name.encode()).hexdigest()[:16]}",
        "title": f"Ameles: {name}",
        "description": "Statistics under differential privacy.",
        "tags": ["ameles"],
        "schemaVersion": SCHEMA,
        "version": 1,
        "editable": True,
        "graphTooltip": 1,
        "timezone": "browser",
        "time": {"from": f"now-{SHOWN_STEPS * seconds}s", "to": "now"},
        "refresh": f"{min(3600, max(5, seconds // 2))}s",
        "templating": {"list": variables},
        "annotations": {"list": []},
        "links": [],
        "panels": panels,
    }


def _repeated(measure: Measure) -> bool:
    several = len(measure.keys) > 1 or measure.discovered is not None
    return several and measure.measure not in ("alert", "top")


def _name(measure: Measure) -> str:
    """The name of the variable with the keys of a release; different releases differ in it."""
    plain = "".join(c if c.isalnum() else "_" for c in measure.name)
    return f"key_{plain}_{hashlib.sha256(measure.name.encode()).hexdigest()[:6]}"


def _variable(measure: Measure, queries: Queries, stream: str) -> dict[str, Any]:
    first = list(measure.keys[:FIRST_KEYS])
    return {
        "name": _name(measure),
        "label": f"{measure.name}: {'/'.join(measure.key_columns) or 'key'}",
        "type": "query",
        "datasource": queries.source,
        **queries.keys(ShownRelease(stream, measure.name)),
        "refresh": 1,
        "regex": "",
        "sort": 1,
        "multi": True,
        "includeAll": True,
        "options": [],
        # of keys that are discovered, Grafana shows the first that it finds
        "current": {"selected": True, "text": first, "value": first} if first else {},
    }


def _panel(number: int, measure: Measure, queries: Queries, plan: Plan) -> dict[str, Any]:
    shown = ShownRelease(
        plan.stream.name, measure.name, _name(measure) if _repeated(measure) else None
    )
    panel: dict[str, Any] = {
        "id": number + 1,
        "datasource": queries.source,
        "interval": str(plan.clock.every),
        "gridPos": {"x": 0, "y": number * HEIGHT, "w": WIDTH, "h": HEIGHT},
        "title": measure.name + (f": ${shown.variable}" if shown.variable else ""),
        "description": f"{measure.measure} over {measure.over}. {BAND}",
    }
    if measure.measure == "alert":
        return panel | _timeline(queries.states(shown))
    if measure.measure == "top":
        return panel | _table(queries.ranks(shown))
    if shown.variable:
        panel |= {"repeat": shown.variable, "repeatDirection": "h", "maxPerRow": 3}
    return panel | _lines(queries.band(shown))


def _lines(targets: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """A line of values, and a band between the two ends."""
    hidden = {"id": "custom.hideFrom", "value": {"legend": True, "tooltip": False, "viz": False}}
    thin = {"id": "custom.lineWidth", "value": 0}
    return {
        "type": "timeseries",
        "targets": targets,
        "fieldConfig": {
            "defaults": {
                "color": {"mode": "fixed", "fixedColor": "blue"},
                "custom": {
                    "drawStyle": "line",
                    "lineInterpolation": "linear",
                    "lineWidth": 2,
                    "fillOpacity": 0,
                    "showPoints": "auto",
                    "spanNulls": False,
                },
            },
            "overrides": [
                {
                    "matcher": {"id": "byName", "options": "upper"},
                    "properties": [
                        thin,
                        {"id": "custom.fillBelowTo", "value": "lower"},
                        {"id": "custom.fillOpacity", "value": 20},
                        hidden,
                    ],
                },
                {"matcher": {"id": "byName", "options": "lower"}, "properties": [thin, hidden]},
            ],
        },
        "options": {
            "legend": {"displayMode": "list", "placement": "bottom", "showLegend": False},
            "tooltip": {"mode": "multi", "sort": "none"},
        },
    }


def _timeline(targets: Sequence[dict[str, Any]]) -> dict[str, Any]:
    words = {
        "0": {"text": "below", "color": "green", "index": 0},
        "1": {"text": "above", "color": "red", "index": 1},
    }
    return {
        "type": "state-timeline",
        "targets": targets,
        "fieldConfig": {
            "defaults": {"mappings": [{"type": "value", "options": words}], "custom": {}},
            "overrides": [],
        },
        "options": {"showValue": "auto", "mergeValues": True},
    }


def _table(targets: Sequence[dict[str, Any]]) -> dict[str, Any]:
    hidden = {"Time": True, "__name__": True, "stream": True, "release": True}
    return {
        "type": "table",
        "targets": targets,
        "fieldConfig": {"defaults": {"custom": {}}, "overrides": []},
        "options": {"showHeader": True},
        "transformations": [{"id": "organize", "options": {"excludeByName": hidden}}],
    }
