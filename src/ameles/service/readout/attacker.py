"""``/v1/streams/{name}/attacker``: what can be learned from everything that is published."""

from __future__ import annotations

from typing import Any, Literal

from fastapi import APIRouter, Depends
from pydantic import BaseModel, Field

from ameles.service.dependencies import BEARER, REFUSALS, Described, Source

router = APIRouter(tags=["explanations"], dependencies=[Depends(BEARER)])


class LearnedSubject(BaseModel):
    """Something that an attacker may want to know."""

    about: Literal["presence", "content"]
    text: str
    units: int = Field(description="Which tables are about it.")


class LearnedTable(BaseModel):
    """What each prior becomes, except with some chance."""

    units: int
    chance: float | None = Field(description="How often it may not hold; null: it always holds.")
    promised: bool = Field(description="False if the loss promises nothing about so many units.")
    high: list[float] = Field(description="The most that each prior becomes, rounded up.")
    low: list[float] = Field(description="The least that each prior becomes, rounded down.")


class Learned(BaseModel):
    """What can be learned at the price of one loss."""

    of: Literal["stream", "population"] = Field(
        description="From this stream, or from everything that its population has paid for."
    )
    loss: dict[str, str]
    words: str
    note: str
    subjects: list[LearnedSubject]
    tables: list[LearnedTable]


class Attacker(BaseModel):
    """What an attacker can believe afterwards, by what was believed before."""

    stream: str
    priors: list[float]
    losses: list[Learned]


@router.get("/v1/streams/{name}/attacker", response_model=Attacker, responses=REFUSALS)
def attacker(stream: Described, source: Source) -> Any:
    """What an attacker can believe at most, and at least, for each prior belief."""
    return {"stream": stream.name, **source.attacker(stream.name)}
