"""The answers of the query API, as the OpenAPI document describes them."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import BaseModel, Field

from ameles.service.dependencies import REFUSALS
from ameles.service.metrics.refusals import QueryProblem


class Success(BaseModel):
    """What every answer begins with."""

    status: Literal["success"] = "success"


class ResultSeries(BaseModel):
    """A series: one pair of time and number, or one for each moment."""

    metric: dict[str, str]
    value: list[float | str] | None = None
    values: list[list[float | str]] | None = None


class Result(BaseModel):
    """The result of a query; a scalar is a pair of time and number."""

    result_type: Literal["vector", "matrix", "scalar"] = Field(serialization_alias="resultType")
    result: list[ResultSeries | float | str]


class QueryAnswer(Success):
    """The answer to a query."""

    data: Result


class Names(Success):
    """Names of labels, or values of one."""

    data: list[str]


class SeriesNames(Success):
    """Series, each by its labels."""

    data: list[dict[str, str]]


class MetricAbout(BaseModel):
    """What a metric is."""

    type: str
    help: str
    unit: str


class Metadata(Success):
    """What the metrics are."""

    data: dict[str, list[MetricAbout]]


class Build(BaseModel):
    """The version of Prometheus whose answers these are like, and the version of Ameles."""

    version: str
    revision: str
    branch: str
    build_user: str = Field(serialization_alias="buildUser")
    build_date: str = Field(serialization_alias="buildDate")
    go_version: str = Field(serialization_alias="goVersion")


class BuildInfo(Success):
    """What answers here."""

    data: Build


RESPONSES: dict[int | str, dict[str, Any]] = {
    **{code: REFUSALS[code] for code in (401, 403, 429, 503)},
    400: {"model": QueryProblem, "description": "The query cannot be read."},
    422: {"model": QueryProblem, "description": "The query asks for too much."},
}
