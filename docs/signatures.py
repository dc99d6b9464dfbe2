"""Signatures as a reader of the reference needs them: with types, and on short lines."""

from __future__ import annotations

import inspect
import re
import sys
from collections.abc import Callable, Iterator
from enum import Enum
from typing import Any, TypeVar, get_args, get_origin

from ameles.core.guarantee import EVENT, USER
from ameles.core.parameters import Parameter

WIDTH = 92


def signature(thing: Callable[..., Any], name: str) -> str:
    """``name(...)`` with types and defaults, on one line or with one parameter on each.

    >>> from ameles import user_window
    >>> signature(user_window, "user_window")
    'user_window(length: int) -> Unit'
    """
    parsed = inspect.signature(thing)
    given = [each for each in parsed.parameters.values() if each.name not in ("self", "cls")]
    # Keywords have no order: those that are needed come first.
    parameters = sorted(
        given, key=lambda each: each.kind is each.KEYWORD_ONLY and each.default is not each.empty
    )
    parts = list(_spelled(parameters, thing))
    back = "" if inspect.isclass(thing) else _returned(parsed.return_annotation)
    line = f"{name}({', '.join(parts)}){back}"
    if len(line) <= WIDTH:
        return line
    return "\n".join([f"{name}(", *(f"    {part}," for part in parts), f"){back}"])


def parameters_of(recipe: type) -> Iterator[tuple[str, str, str]]:
    """The name, the type and the default of each parameter, those that are needed first."""
    parameters = inspect.signature(recipe).parameters.values()
    for each in sorted(parameters, key=lambda each: each.default is not each.empty):
        missing = each.default is each.empty
        yield each.name, type_of(each, recipe), "" if missing else default_of(each)


def _spelled(parameters: list[inspect.Parameter], thing: object) -> Iterator[str]:
    keywords = False
    for each in parameters:
        if each.kind is each.KEYWORD_ONLY and not keywords:
            keywords = True
            yield "*"
        stars = "*" * ((each.kind is each.VAR_POSITIONAL) + 2 * (each.kind is each.VAR_KEYWORD))
        keywords = keywords or each.kind is each.VAR_POSITIONAL
        kind = type_of(each, thing)
        typed = f"{stars}{each.name}: {kind}" if kind else f"{stars}{each.name}"
        yield typed if each.default is each.empty else f"{typed} = {default_of(each)}"


def type_of(parameter: inspect.Parameter, thing: object) -> str:
    """The type that a caller may give: of a recipe's field, what its check accepts."""
    annotation = parameter.annotation
    if annotation is parameter.empty:
        return ""
    for owner in getattr(thing, "__mro__", ()):
        if parameter.name in vars(owner).get("__annotations__", {}):
            field = vars(sys.modules[owner.__module__]).get(str(annotation))
            if inspect.isclass(field) and issubclass(field, Parameter):
                return plain(accepted(field))
    return plain(annotation)


def accepted(field: type) -> object:
    """What a kind of parameter may be given: the first argument of ``Parameter[given, held]``."""
    for owner in field.__mro__:
        for base in vars(owner).get("__orig_bases__", ()):
            origin = get_origin(base)
            if inspect.isclass(origin) and issubclass(origin, Parameter):
                given = get_args(base)[0]
                if not isinstance(given, TypeVar):
                    return given
    return "Any"


def plain(kind: object) -> str:
    """The name of a type, without the modules that it comes from."""
    text = kind if isinstance(kind, str) else getattr(kind, "__name__", "") or str(kind)
    if get_args(kind):
        text = str(kind)
    return re.sub(r"\b[a-z_][\w.]*\.(?=\w)", "", text)


def default_of(parameter: inspect.Parameter) -> str:
    """The default as one would write it."""
    value = parameter.default
    for name, constant in {"EVENT": EVENT, "USER": USER}.items():
        if value is constant:
            return name
    if isinstance(value, Enum):
        return f"{type(value).__name__}.{value.name}"
    return "..." if callable(value) else repr(value).replace("'", '"')


def _returned(annotation: object) -> str:
    return "" if annotation in (inspect.Signature.empty, None) else f" -> {plain(annotation)}"
