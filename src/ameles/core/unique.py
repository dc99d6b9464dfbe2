"""Unique objects: they are never copied or pickled, and stay in the process that made them.

A payment buys one run.  A second run for the same payment would draw different noise around the
same true values, and averaging the two would cancel part of it.  A second ledger would spend the
same cap again.

>>> import copy
>>> copy.copy(Unique())
Traceback (most recent call last):
ameles.core.exceptions.NoCopy: error[copy]: This Unique cannot be copied or pickled.
  why: two copies would spend what was paid for one
  try: use the existing one
"""

from __future__ import annotations

import os
from typing import ClassVar, NoReturn, SupportsIndex

from ameles.core.exceptions import NoCopy, RunSpent


class Unique:
    """An object that belongs to the process that made it, and cannot be duplicated."""

    noun: ClassVar[str] = ""  # what errors call it; else the name of its class
    elsewhere: ClassVar[str] = "make a new one in this process"  # their advice after a fork

    def __init__(self) -> None:
        self._made_in = os.getpid()

    def __reduce_ex__(self, protocol: SupportsIndex) -> NoReturn:
        # copy.copy, copy.deepcopy and pickle all come through here.
        raise NoCopy(
            f"This {self._noun} cannot be copied or pickled.",
            why="two copies would spend what was paid for one",
            tip="use the existing one",
        )

    def check_process(self) -> None:
        """Refuses to work in a process that was forked from the one that made this.

        >>> from ameles import EVENT, Ledger, Neighbours, Pure
        >>> people = Ledger("people", cap=Pure(1), unit=EVENT, neighbours=Neighbours.ADD_REMOVE)
        >>> people.check_process()
        """
        if self._made_in != os.getpid():
            raise RunSpent(
                f"This {self._noun} belongs to the process that this one was forked from.",
                why="both processes would spend what was paid for one",
                tip=self.elsewhere,
            )

    @property
    def _noun(self) -> str:
        return self.noun or type(self).__name__
