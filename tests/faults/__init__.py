"""The fault laboratory: faults for a real Ameles in its own process, and what must hold after them.

    with Victims() as victims:
        world = World(folder, victims)
        victim = victims.start(world.replay(), fault=Fault(at=17, mode="torn"))
        victim.ended()
        witness = Witness(world).look()
        world.complete()
        assert witness.verdict() == []

``Victims`` runs the program.  ``Fault`` kills it at a change of a file, or makes the disk refuse
the change.  ``Clock`` sets its time.  ``DiskImages`` computes the disks that a crash or a power cut
may leave.  ``Witness`` notes what anybody could see, and says which invariant is violated.
``KINDS`` are streams; each is rehearsed once, and ``Faults`` then injects a fault at any change of
that run.  ``BROKEN`` are engines with one known mistake each, which the suite must catch.

It needs Linux and a C compiler (Debian: gcc, libc6-dev).  The wheel does not contain it: the tests
and ``./run bench faults`` use it from the tree.
"""

from tests.faults.broken_engines import BROKEN
from tests.faults.choices import Choices
from tests.faults.crashes import Faults
from tests.faults.disk_images import DiskImages, read_changes
from tests.faults.shim import Clock, Fault, missing_compiler
from tests.faults.suite import KINDS
from tests.faults.victims import Job, Victim, Victims
from tests.faults.witness import Witness
from tests.faults.worlds import World

__all__ = [
    "BROKEN",
    "KINDS",
    "Choices",
    "Clock",
    "DiskImages",
    "Fault",
    "Faults",
    "Job",
    "Victim",
    "Victims",
    "Witness",
    "World",
    "missing_compiler",
    "read_changes",
]
