"""Questions that may be asked in the address or, because they can be long, by a form."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from fastapi import APIRouter, Response
from pydantic import BaseModel

from ameles.service.metrics.models import RESPONSES
from ameles.service.metrics.parameters import described, described_form

Answers = TypeVar("Answers", bound=Callable[..., Response])


def get_and_post(
    router: APIRouter,
    path: str,
    model: type[BaseModel],
    *names: str,
    required: frozenset[str] = frozenset(),
) -> Callable[[Answers], Answers]:
    """Adds a route for both methods, with these parameters."""

    def add(answers: Answers) -> Answers:
        by_form = f"{answers.__name__}_by_form"
        router.get(
            path,
            response_model=model,
            responses=RESPONSES,
            openapi_extra=described(*names, required=required),
        )(answers)
        router.post(
            path,
            response_model=model,
            responses=RESPONSES,
            openapi_extra=described_form(*names, required=required),
            name=by_form,
            operation_id=by_form,
            description="The same, asked by a form.",
        )(answers)
        return answers

    return add
