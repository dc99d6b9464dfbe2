"""How many different first lines of CSV a sender may use.

Batches under the same first line are counted in one query of the database, and others in one each.
Without a bound, somebody who names columns anew in each batch would delay the next release.  Each
sender has a bound of its own, so that nobody can use up that of another.

>>> lines = FirstLines(most=1)
>>> for _ in range(2):
...     lines.check("web", "csv:region")
>>> lines.check("app", "csv:age,region")
>>> lines.check("web", "csv:age,region")
Traceback (most recent call last):
...
ameles.service.refusals.Refused: This token has sent too many different first lines.
"""

from __future__ import annotations

from hashlib import sha256

from ameles.service.refusals import Refused

MOST = 16
_SHORT = 32  # bytes that need no digest, which has as many


class FirstLines:
    """The forms of the batches that each sender has sent to a stream."""

    def __init__(self, most: int = MOST) -> None:
        self._most = most
        self._known: dict[str, set[bytes]] = {}

    def check(self, sender: str, form: str) -> None:
        """Refuses a form that is one too many."""
        text = form.encode()
        known = self._known.setdefault(sender, set())
        digest = text if len(text) < _SHORT else sha256(text).digest()
        if digest not in known and len(known) >= self._most:
            raise Refused(
                400,
                "This token has sent too many different first lines.",
                why=f"at most {self._most}, because each takes time; nothing was counted",
                tip="the same columns in the same order, in each batch",
            )
        known.add(digest)
