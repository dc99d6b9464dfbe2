"""Exact, vectorised, secure integer noise, and the tapes that replace it in tests."""

from ameles.noise.system import System
from ameles.noise.tape import Draw, Tape, Zero

__all__ = ["Draw", "System", "Tape", "Zero"]
