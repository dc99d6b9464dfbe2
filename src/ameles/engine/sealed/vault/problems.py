"""The refusals of a vault, as sentences without a key, a state or a length in them."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from ameles.core.exceptions import StoreRefused


class EpochEnded(StoreRefused):
    """The last state of a pan-private stream is gone for good; a restart needs fresh noise."""

    code = "epoch"


class VaultMissing(StoreRefused):
    """The vault of a stream, or the folder of its key, is not where it should be."""


_RESTART = "a restart, if the plan reserved one: ameles run --restart 'what happened'"


def ended(folder: Path, why: str) -> EpochEnded:
    """The refusal that says that an epoch has ended, and why."""
    return EpochEnded(
        f"The epoch of the vault '{folder}' has ended: its state cannot be read any more.",
        why=why,
        tip=_RESTART,
    )


@contextmanager
def told(path: Path, doing: str) -> Iterator[None]:
    """Turns an error of the operating system into a refusal about a file."""
    try:
        yield
    except OSError as problem:
        raise StoreRefused(
            f"'{path}' cannot be {doing}.",
            why=os.strerror(problem.errno).lower() if problem.errno else "the system refuses",
            tip="fix that and run again; what was saved before is safe",
        ) from None
