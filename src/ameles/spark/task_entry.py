"""The first lines of every task: they look for Ameles before anything of it is used.

Spark sends the inner function itself and not its name, so it also runs where Ameles is missing or
is another version, and can say so.
"""

from __future__ import annotations

import platform
from collections.abc import Callable, Iterator
from importlib import import_module, metadata
from typing import Any

OTHER = "another version of Ameles"
NONE = "none"  # in place of a version


def entry(
    program: Any, version: str, reducers: int | None = None
) -> Callable[[int, Iterator[Any]], Iterator[Any]]:
    """A program for the rows of a partition that runs only under this version of Ameles.

    With ``reducers``, what it gives goes to one of them; a refusal goes to all.
    """
    packed, mark, none = (
        import_module("pyspark.serializers").CPickleSerializer().dumps(program),
        OTHER,
        NONE,
    )

    def run(partition: int, rows: Iterator[Any]) -> Iterator[Any]:
        try:
            found = metadata.version("ameles")
        except metadata.PackageNotFoundError:
            found = none
        if found != version:
            refusal = (mark, platform.node(), found)
            if reducers is None:
                return iter([refusal])
            return iter([(reducer, refusal) for reducer in range(reducers)])
        pickles = import_module("pyspark.serializers").CPickleSerializer()
        results: Iterator[Any] = pickles.loads(packed)(partition, rows)
        return results

    return run
