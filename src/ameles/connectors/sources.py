"""All sources.  The first one that claims the plan's text is used."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Never

from ameles.connectors.declarations import NOTHING, Declarations
from ameles.connectors.files.compressed_source import CompressedSource
from ameles.connectors.files.source import FileSource
from ameles.connectors.format import DEFAULT, Format
from ameles.connectors.frame_source import FrameSource
from ameles.connectors.http_source import HttpSource
from ameles.connectors.kafka.source import KafkaSource
from ameles.connectors.objects.source import ObjectSource
from ameles.connectors.parquet.source import ParquetSource
from ameles.connectors.postgres.source import PostgresSource
from ameles.connectors.redis.source import RedisSource
from ameles.connectors.source import AnySource, SourceRequest
from ameles.connectors.standard_input import StandardInput
from ameles.connectors.text.source import TextSource
from ameles.core.address import check_public
from ameles.core.exceptions import PlanError

_ADDRESS = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*://")


class RemoteFiles(FileSource):
    """Files at an address such as https://: a plan may name them, but opening refuses them.

    Otherwise they would be taken for files that do not exist yet, and a followed stream would wait
    for them forever.
    """

    @classmethod
    def claims(cls, text: str) -> bool:
        return _ADDRESS.match(text) is not None

    @classmethod
    def _opened(cls, request: SourceRequest) -> Never:
        scheme, _, path = request.text.partition("://")
        raise PlanError(
            f"Ameles cannot read files at an address of '{scheme}://'.",
            why="it opens files by their paths, and its DuckDB may load no extensions and not use "
            "the network",
            tip=f"source = {path!r}"
            if scheme == "file"
            else "mount the server as a folder, and give the path of that folder; for buckets of "
            "object stores, s3://, gs:// or az://",
        )


class UnknownFiles(FileSource):
    """Files with an unknown ending: a plan may name them, but opening refuses them."""

    @classmethod
    def claims(cls, text: str) -> bool:
        return True

    @classmethod
    def _opened(cls, request: SourceRequest) -> Never:
        raise PlanError(
            f"The source {request.text!r} is not of a kind that Ameles can read.",
            why="the ending of a file's name says its kind",
            tip="a path or pattern that ends in .csv, .jsonl, .ndjson or .parquet; the first "
            "three also with .gz, .zst or .bz2 after it",
        )


SOURCES: tuple[type[AnySource], ...] = (
    StandardInput,
    HttpSource,
    FrameSource,
    KafkaSource,
    RedisSource,
    PostgresSource,
    ObjectSource,
    RemoteFiles,
    TextSource,
    CompressedSource,
    ParquetSource,
    UnknownFiles,  # the last one: it claims everything
)


def source_kind(text: str) -> type[AnySource]:
    """The kind of source that the text of a plan names.

    >>> source_kind("-").__name__, source_kind("logs/*.csv.gz").__name__
    ('StandardInput', 'CompressedSource')
    >>> source_kind("-").keeps_events, source_kind("a.csv").keeps_events
    (False, True)
    """
    return next(kind for kind in SOURCES if kind.claims(text))


def open_source(
    text: str,
    columns: Mapping[str, str],
    base: Path,
    *,
    records: str = "csv",
    waiting: bool = False,
    take_last: bool = False,
    rotated: Sequence[str] = (),
    declarations: Declarations = NOTHING,
    form: Format = DEFAULT,
    connection: Path | None = None,
    schemas: tuple[tuple[int | None, str], ...] = (),
    raw: bool = False,
) -> AnySource:
    """The source that a plan names; ``waiting`` allows a source with nothing to read yet.

    The other arguments are those of ``SourceRequest``.
    """
    kind = source_kind(text)
    refusal = kind.refusal(text)
    if refusal is not None:
        raise refusal
    check_public(text, *rotated)
    request = SourceRequest(
        text=text,
        columns=columns,
        base=base,
        records=records,
        form=form,
        connection=connection,
        schemas=schemas,
        take_last=take_last,
        rotated=tuple(rotated),
        declarations=declarations,
        raw=raw,
    )
    source = kind.open(request)
    missing = None if waiting else source.missing()
    if missing is not None:
        raise missing
    return source
