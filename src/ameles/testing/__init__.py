"""The test kit: faults for a real Ameles in a process of its own, and what must hold after them.

    with Victims() as victims:
        world = World(folder, victims)
        victim = victims.start(world.replay(), fault=Fault(at=17, mode="torn"))
        victim.ended()
        witness = Witness(world).look()
        world.complete()
        assert witness.verdict() == []

``Victims`` runs the program; ``Fault`` kills it at a change of a file or refuses the change;
``Clock`` moves its time; ``Power`` makes the disks that a crash or a power cut may leave;
``Witness`` notes what everybody could see and says which invariant is violated.  ``KINDS`` are
streams to rehearse once, and ``Faults`` then puts a fault at any change of that run; ``BROKEN`` are
engines with a known mistake, which a suite of faults must catch.  Needs Linux and a C compiler
(Debian: gcc, libc6-dev).
"""

from ameles.testing.broken import BROKEN
from ameles.testing.choices import Choices
from ameles.testing.crashes import Faults
from ameles.testing.power import Power, read_changes
from ameles.testing.shim import Clock, Fault, missing_compiler
from ameles.testing.suite import KINDS
from ameles.testing.victims import Job, Victim, Victims
from ameles.testing.witness import Witness
from ameles.testing.worlds import World

__all__ = [
    "BROKEN",
    "KINDS",
    "Choices",
    "Clock",
    "Fault",
    "Faults",
    "Job",
    "Power",
    "Victim",
    "Victims",
    "Witness",
    "World",
    "missing_compiler",
    "read_changes",
]
