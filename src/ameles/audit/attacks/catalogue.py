"""The list of attacks, by name."""

from __future__ import annotations

from collections.abc import Callable

from ameles.audit.attacks.averaging import averaging
from ameles.audit.attacks.differencing import differencing
from ameles.audit.attacks.floating_point import floating_point
from ameles.audit.attacks.homogeneity import homogeneity
from ameles.audit.attacks.linkage import linkage
from ameles.audit.attacks.overfitting import overfitting
from ameles.audit.attacks.reconstruction import reconstruction
from ameles.audit.attacks.refusals import refusals
from ameles.audit.attacks.report import AttackReport
from ameles.audit.attacks.seizure import seizure
from ameles.audit.attacks.silence import silence

# In the order of a lesson.
ATTACKS: dict[str, Callable[..., AttackReport]] = {
    "linkage": linkage,
    "homogeneity": homogeneity,
    "differencing": differencing,
    "averaging": averaging,
    "refusals": refusals,
    "reconstruction": reconstruction,
    "silence": silence,
    "seizure": seizure,
    "floating_point": floating_point,
    "overfitting": overfitting,
}
