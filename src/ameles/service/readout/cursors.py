"""Cursors: where the next page of releases begins, as a text for clients to send back.

A cursor names its stream, so one of a stream that was launched anew elsewhere is refused instead of
pointing at other values.

>>> place_of("0f3c9a12.17.300", "0f3c9a12-d6e5-4c61-b1a7-0d5f0d1b2c3d")
Place(step=17, rows=300)
"""

from __future__ import annotations

import re

from ameles.service.refusals import Refused
from ameles.service.views import Place

_CURSOR = re.compile(r"([0-9a-f]{8})\.([0-9]{1,13})\.([0-9]{1,9})")


def cursor_of(place: Place, identity: str | None) -> str:
    """The text of a place in a stream."""
    return f"{(identity or '00000000')[:8]}.{place.step}.{place.rows}"


def place_of(cursor: str, identity: str | None, sent_as: str = "parameter 'cursor'") -> Place:
    """The place that a cursor names, if it is of this stream; ``sent_as`` is how it came."""
    read = _CURSOR.fullmatch(cursor)
    if read is None or int(read[2]) < 1:
        raise Refused(
            422,
            f"The {sent_as} cannot be used as given.",
            why="it is not one that this service gives",
            tip="leave it out",
        )
    if identity is None or read[1] != identity[:8]:
        raise Refused(
            409,
            f"The {sent_as} is of another stream.",
            why="the stream of this name was launched anew",
            tip="leave it out",
        )
    return Place(int(read[2]), int(read[3]))
