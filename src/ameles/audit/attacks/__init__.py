"""Attacks on published statistics, and what they reach against each way to publish.

Each function plays one attack and gives an ``AttackReport``: how far the attacker came against
weak ways to publish and against Ameles, what the guarantee allows at most, and what it means.
The people are made up.
"""

from __future__ import annotations

from ameles.audit.attacks.averaging import averaging
from ameles.audit.attacks.differencing import differencing
from ameles.audit.attacks.floating_point import floating_point
from ameles.audit.attacks.homogeneity import homogeneity
from ameles.audit.attacks.linkage import linkage
from ameles.audit.attacks.overfitting import overfitting
from ameles.audit.attacks.reconstruction import reconstruction
from ameles.audit.attacks.refusals import refusals
from ameles.audit.attacks.report import AttackReport, Target, best_guess
from ameles.audit.attacks.seizure import seizure
from ameles.audit.attacks.silence import silence

__all__ = [
    "AttackReport",
    "Target",
    "averaging",
    "best_guess",
    "differencing",
    "floating_point",
    "homogeneity",
    "linkage",
    "overfitting",
    "reconstruction",
    "refusals",
    "seizure",
    "silence",
]
