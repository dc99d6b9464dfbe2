"""All sinks, by the key that a plan names them with."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from ameles.connectors.appended_sink import AppendedSink
from ameles.connectors.kafka.sink import KafkaSink
from ameles.connectors.parquet.sink import ParquetSink
from ameles.connectors.postgres.sink import PostgresSink
from ameles.connectors.redis.sink import RedisSink
from ameles.connectors.sink import Sink, SinkRequest
from ameles.connectors.standard_output import StandardOutput
from ameles.connectors.webhook.sink import WebhookSink
from ameles.core.address import check_public
from ameles.core.exceptions import PlanError

SINKS: dict[str, type[Sink]] = {
    "csv": AppendedSink,
    "jsonl": AppendedSink,
    "parquet": ParquetSink,
    "stdout": StandardOutput,
    "webhook": WebhookSink,
    "kafka": KafkaSink,
    "postgres": PostgresSink,
    "redis": RedisSink,
}


def open_sink(
    kind: str,
    target: str,
    base: Path,
    *,
    stream: str,
    identity: str,
    settings: Mapping[str, str] | None = None,
    sparse: bool = False,
) -> Sink:
    """The sink that a plan names; the arguments are those of ``SinkRequest``."""
    if kind not in SINKS:
        raise PlanError(f"There is no sink of the kind {kind!r}.", tip='csv = "releases.csv"')
    refusal = SINKS[kind].refusal(target, settings or {})
    if refusal is not None:
        raise refusal
    check_public(target, *(settings or {}).values())
    request = SinkRequest(
        kind=kind,
        target=target,
        base=base,
        stream=stream,
        identity=identity,
        settings=settings or {},
        sparse=sparse,
    )
    return SINKS[kind].open(request)
