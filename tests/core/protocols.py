"""Whether a class has what a protocol asks for, as a list of what it lacks."""

from __future__ import annotations

import inspect


def lacks(kind: type, protocol: type) -> list[str]:
    """The members that are missing, or that take other parameters, in the protocol's order."""
    problems = []
    for name, asked in members(protocol).items():
        has = inspect.getattr_static(kind, name, None)
        if has is None:
            problems.append(f"{name} is missing")
        elif inspect.isfunction(asked):
            if not inspect.isfunction(has):
                problems.append(f"{name} is not a method")
            elif list(inspect.signature(has).parameters) != (
                names := list(inspect.signature(asked).parameters)
            ):
                problems.append(f"{name} does not take {', '.join(names)}")
        elif inspect.isfunction(has):
            problems.append(f"{name} is not a property")
    return problems


def members(protocol: type) -> dict[str, object]:
    """What a protocol declares, with what the protocols under it declare."""
    return {
        name: member
        for base in reversed(protocol.__mro__)
        if getattr(base, "_is_protocol", False)
        for name, member in vars(base).items()
        if not name.startswith("_") and (inspect.isfunction(member) or isinstance(member, property))
    }
