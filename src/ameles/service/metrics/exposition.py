r"""Metrics as text, in the formats of Prometheus and of OpenMetrics.

>>> escaped('a "b" \\ c' + chr(10))
'a \\"b\\" \\\\ c\\n'
>>> line("x", {"key": "north", "stream": "flu"}, "3")
'x{key="north",stream="flu"} 3\n'
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

PLAIN = "text/plain; version=0.0.4; charset=utf-8"
OPEN = "application/openmetrics-text; version=1.0.0; charset=utf-8"


@dataclass(frozen=True, slots=True)
class Metric:
    """A metric with its lines: labels and the text of a number."""

    name: str
    kind: str  # gauge or counter
    help: str
    lines: Iterable[tuple[Mapping[str, str], str]]
    unit: str = ""


def wants_openmetrics(accept: str) -> bool:
    """Whether an ``Accept`` header asks for OpenMetrics; Prometheus does.

    >>> wants_openmetrics("application/openmetrics-text;version=1.0.0,text/plain;q=0.5")
    True
    >>> wants_openmetrics("text/plain, */*"), wants_openmetrics("application/openmetrics-text;q=0")
    (False, False)
    """
    for part in accept[:1000].split(","):
        media, *parameters = (piece.strip().lower() for piece in part.split(";"))
        if media == "application/openmetrics-text":
            return not any(one in ("q=0", "q=0.0") for one in parameters)
    return False


def exposition(metrics: Iterable[Metric], *, openmetrics: bool) -> bytes:
    """All metrics as text; one without lines is left out."""
    written = []
    for metric in metrics:
        lines = list(metric.lines)
        if not lines:
            continue
        counted = metric.kind == "counter"
        family = metric.name.removesuffix("_total") if openmetrics and counted else metric.name
        written.append(f"# HELP {family} {_help(metric.help)}\n# TYPE {family} {metric.kind}\n")
        if openmetrics and metric.unit:
            written.append(f"# UNIT {family} {metric.unit}\n")
        written += [line(metric.name, labels, number) for labels, number in lines]
    if openmetrics:
        written.append("# EOF\n")
    return "".join(written).encode()


def line(name: str, labels: Mapping[str, str], number: str) -> str:
    """One number with its labels."""
    inside = ",".join(f'{label}="{escaped(value)}"' for label, value in labels.items())
    return f"{name}{{{inside}}} {number}\n" if inside else f"{name} {number}\n"


def escaped(value: str) -> str:
    """A label's value, as it stands between quotes."""
    return value.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")


def _help(text: str) -> str:
    return text.replace("\\", "\\\\").replace("\n", "\\n")
