"""A value as another process would get it."""

from __future__ import annotations

from multiprocessing import Pipe
from typing import TypeVar

T = TypeVar("T")


def sent(value: T) -> T:
    """What arrives at the other end of a pipe, as between worker processes."""
    here, there = Pipe()
    with here, there:
        here.send(value)
        arrived: T = there.recv()
    return arrived
