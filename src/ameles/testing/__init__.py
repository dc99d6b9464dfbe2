"""A test kit for your own plans and mechanisms: events from a list, a clock that the test sets,
crashes on request, and no noise.

``PlanTest`` runs a plan on events in memory.  ``ListSource``, ``ListSink`` and ``ManualClock`` are
its parts.  ``Zero`` and ``Tape`` replace the noise of a plan or of a single mechanism.

A store that was ever run with ``Zero`` or a ``Tape`` is marked, and its sinks refuse to publish
from it, ``ListSink`` too: what it holds is not private.
"""

from ameles.noise import Draw, Tape, Zero
from ameles.testing.crashes import Crash
from ameles.testing.list_sink import ListSink
from ameles.testing.list_source import ListSource
from ameles.testing.manual_clock import ManualClock
from ameles.testing.plan_test import PlanTest

__all__ = [
    "Crash",
    "Draw",
    "ListSink",
    "ListSource",
    "ManualClock",
    "PlanTest",
    "Tape",
    "Zero",
]
