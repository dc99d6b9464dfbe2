"""All sinks, by the key that a plan names them with."""

from __future__ import annotations

from pathlib import Path

from ameles.connectors.appended_sink import AppendedSink
from ameles.connectors.parquet_sink import ParquetSink
from ameles.connectors.sink import Sink, SinkRequest
from ameles.connectors.standard_output import StandardOutput
from ameles.core.exceptions import PlanError

SINKS: dict[str, type[Sink]] = {
    "csv": AppendedSink,
    "jsonl": AppendedSink,
    "parquet": ParquetSink,
    "stdout": StandardOutput,
}


def open_sink(kind: str, target: str, base: Path, *, stream: str, identity: str) -> Sink:
    """The sink that a plan names; the arguments are those of ``SinkRequest``."""
    if kind not in SINKS:
        raise PlanError(f"There is no sink of the kind {kind!r}.", tip='csv = "releases.csv"')
    return SINKS[kind].open(
        SinkRequest(kind=kind, target=target, base=base, stream=stream, identity=identity)
    )
