"""The keys of ``[stream]`` that declare the source's columns and format; nothing is guessed."""

from __future__ import annotations

import re
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field, field_validator, model_validator

from ameles.connectors.format import Encoding, Format, kind_of
from ameles.connectors.source import AnySource
from ameles.connectors.sources import source_kind
from ameles.connectors.text.time_format import check_time_format
from ameles.core.exceptions import PlanError
from ameles.measures.fields import Column, Section, problem, public

Kind = Literal["text", "integer", "number", "boolean", "timestamp"]
OF_CSV = ("delimiter", "quote", "decimal", "header", "strip")
_MOST_NAMES = 10_000
_SCHEMA_ID = re.compile("0|[1-9][0-9]{0,9}")


def _patterns(value: Any) -> tuple[str, ...]:
    """One pattern or several."""
    listed = [value] if isinstance(value, str) else value
    if not isinstance(listed, list | tuple) or not all(isinstance(one, str) for one in listed):
        raise problem(
            "It must be a pattern in quotes, or a list of them.", tip='time_format = "%d.%m.%Y"'
        )
    try:
        check_time_format(listed)
    except PlanError as refusal:
        raise problem(refusal.what, why=refusal.why, tip=refusal.tip) from None
    return tuple(listed)


def _names(value: Any) -> Any:
    return tuple(value) if isinstance(value, list) else value


Patterns = Annotated[tuple[str, ...], BeforeValidator(_patterns)]


def _schemas(value: Any) -> Any:
    """A file, or files by the ids that values begin with."""
    files = [value] if isinstance(value, str) else value.values() if isinstance(value, dict) else []
    ids = value if isinstance(value, dict) else {}
    fine = all(isinstance(file, str) and file for file in files)
    if not files or not fine or not all(_SCHEMA_ID.fullmatch(number) for number in ids):
        raise problem(
            "It must be the file of a schema, or a table of such files by their ids.",
            tip='avro_schema = "visit.avsc", or { 17 = "visit.avsc" } for values that begin with '
            "the id of their schema",
        )
    for file in files:
        public(file)
    return value


Schemas = Annotated[str | dict[str, str], BeforeValidator(_schemas)]
Names = Annotated[tuple[Column, ...], BeforeValidator(_names)]


class FormatFields(Section):
    """The source, its columns, and their format."""

    source: str = Field(min_length=1)
    format: Literal["csv", "jsonl", "avro"] = "csv"  # for sources whose name has no ending
    avro_schema: Schemas | None = None
    columns: dict[Column, Kind] = Field(min_length=1)
    time_format: Patterns | None = None
    delimiter: str = ","
    quote: str = '"'
    decimal: Literal[".", ","] = "."
    encoding: Encoding = "utf-8"
    header: Names | None = Field(default=None, min_length=1, max_length=_MOST_NAMES)
    strip: bool = False

    @field_validator("source")
    @classmethod
    def _of_its_kind(cls, value: str) -> str:
        refusal = source_kind(value).refusal(value)
        if refusal is not None:
            raise problem(refusal.what, why=refusal.why, tip=refusal.tip)
        return public(value)

    @field_validator("delimiter", "quote")
    @classmethod
    def _one_character(cls, value: str, info: Any) -> str:
        if not value and info.field_name == "quote":
            return value
        if len(value) != 1 or not value.isascii() or value.isalnum() or value in "\0\r\n":
            raise problem(
                "It must be one character: neither a letter nor a digit, nor the end of a line.",
                tip='delimiter = ";", or "\\t" for a tab'
                if info.field_name == "delimiter"
                else 'quote = "\'", or "" if there are none',
            )
        return value

    @field_validator("header")
    @classmethod
    def _different(cls, names: tuple[str, ...] | None) -> tuple[str, ...] | None:
        twice = [name for name in names or () if (names or ()).count(name) > 1]
        if twice:
            raise problem(f"It has the name '{twice[0]}' twice.", tip="each name once")
        return names

    @model_validator(mode="after")
    def _fits_its_source(self) -> FormatFields:
        kind = self.records
        given = [name for name in OF_CSV if getattr(self, name) != _DEFAULTS[name]]
        if kind not in ("csv", None) and given:
            raise problem(
                f"{', '.join(given)} {'goes' if len(given) == 1 else 'go'} with CSV alone.",
                why="the ending of the source says its format; for standard input, the key format",
                tip="leave it out",
            )
        if kind == "parquet" and self.encoding != "utf-8":
            raise problem("A Parquet file has an encoding of its own.", tip="leave encoding out")
        if self.source_kind.needs_service and self.encoding != "utf-8":
            raise problem("Events are posted in UTF-8.", tip="leave encoding out")
        if self.format not in self.source_kind.formats:
            raise problem(
                f"This source has no values in {self.format}.",
                tip=f'format = "{self.source_kind.formats[-1]}"',
            )
        if (self.format == "avro") != (self.avro_schema is not None):
            raise problem(
                'avro_schema and format = "avro" go together.',
                why="values of Avro cannot be read without their schema",
                tip='format = "avro" and avro_schema = "visit.avsc", or neither',
            )
        if self.format == "avro" and self.encoding != "utf-8":
            raise problem("Texts of Avro are in UTF-8.", tip="leave encoding out")
        if self.delimiter == self.quote:
            raise problem("delimiter and quote are the same.", tip='delimiter = ";"')
        missing = [name for name in self.columns if name not in (self.header or self.columns)]
        if missing:
            raise problem(
                f"header has no column '{missing[0]}'.",
                why="columns are found by name, and header has the names in the order of the file",
                tip="header with the names of all columns of the file",
            )
        if self.time_format and "timestamp" not in self.columns.values():
            raise problem(
                "time_format is for columns of the kind timestamp, and there is none.",
                tip="leave it out",
            )
        return self

    @property
    def source_kind(self) -> type[AnySource]:
        """The class of the source, which is known before it is opened."""
        return source_kind(self.source)

    @property
    def records(self) -> str | None:
        """The format of records: csv, jsonl or parquet; None if it is unknown."""
        return self.format if self.source_kind.takes_format else kind_of(self.source)

    @property
    def schemas(self) -> tuple[tuple[int | None, str], ...]:
        """The files of schemas, by the ids that values begin with; None: they begin with none."""
        if isinstance(self.avro_schema, dict):
            return tuple((int(number), file) for number, file in self.avro_schema.items())
        return () if self.avro_schema is None else ((None, self.avro_schema),)

    def form(self, rules: int) -> Format:
        """The format of the source, for a stream with these reading rules."""
        return Format(
            time_format=self.time_format or (),
            delimiter=self.delimiter,
            quote=self.quote,
            decimal=self.decimal,
            encoding=self.encoding,
            header=self.header or (),
            strip=self.strip,
            rules=rules,
        )


_DEFAULTS = {name: field.default for name, field in FormatFields.model_fields.items()}
