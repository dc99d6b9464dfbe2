"""Samples per second: our exact noise beside OpenDP's, numpy's and the keystream's limit.

All in one process, one after the other, best of several rounds, so that the ratios mean
something on any machine.  OpenDP's noise is exact too; numpy's is neither exact nor secure
and stands here as the speed that one might hope for.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import partial

import numpy as np
import opendp.prelude as dp

from ameles.noise import System
from ameles.noise.entropy import Keystream, OperatingSystem

dp.enable_features("contrib")

MANY = 1_000_000
OPENDP_VECTOR = 20_000
OPENDP_SCALAR = 2_000
SCALES = (1, 10, 1_000, 1_000_000)


@dataclass
class Row:
    """One measured way to draw."""

    law: str
    scale: int
    way: str
    rate: float
    ratio: float | None = None


def rate(draw: Callable[[], object], count: int, rounds: int = 7) -> float:
    """The most draws per second over some rounds; the first, which builds tables, is not timed."""
    draw()
    best = float("inf")
    for _ in range(rounds):
        started = time.perf_counter()
        draw()
        best = min(best, time.perf_counter() - started)
    return count / best


def opendp_laplace(scale: int) -> tuple[Callable[[], object], Callable[[], object]]:
    """OpenDP's discrete Laplace, one at a time and on a vector."""
    one = dp.m.make_laplace(dp.atom_domain(T=int), dp.absolute_distance(T=int), scale=float(scale))
    many = dp.m.make_laplace(
        dp.vector_domain(dp.atom_domain(T=int)), dp.l1_distance(T=int), scale=float(scale)
    )
    return _both(one, many)


def opendp_gaussian(scale: int) -> tuple[Callable[[], object], Callable[[], object]]:
    """OpenDP's discrete Gaussian, one at a time and on a vector."""
    one = dp.m.make_gaussian(
        dp.atom_domain(T=int), dp.absolute_distance(T=float), scale=float(scale)
    )
    many = dp.m.make_gaussian(
        dp.vector_domain(dp.atom_domain(T=int)), dp.l2_distance(T=float), scale=float(scale)
    )
    return _both(one, many)


def _both(
    one: Callable[[int], object], many: Callable[[list[int]], object]
) -> tuple[Callable[[], object], Callable[[], object]]:
    zeros = [0] * OPENDP_VECTOR
    return lambda: [one(0) for _ in range(OPENDP_SCALAR)], lambda: many(zeros)


def measure(law: str, scale: int) -> list[Row]:
    """All ways to draw from one law at one scale."""
    peers = opendp_laplace if law == "laplace" else opendp_gaussian
    parameter = Fraction(scale if law == "laplace" else scale**2)
    one, many = peers(scale)
    rows = [
        Row(law, scale, "OpenDP, one at a time", rate(one, OPENDP_SCALAR, 3)),
        Row(law, scale, "OpenDP, vector", rate(many, OPENDP_VECTOR, 3)),
    ]
    peer = rows[-1].rate
    for way, system in (
        ("Ameles, numpy alone", System(compiled=False)),
        ("Ameles, compiled", System(compiled=True)),
        ("Ameles, compiled, no keystream", System.direct()),
    ):
        draw = partial(getattr(system, law), parameter, MANY)
        rows.append(Row(law, scale, way, rate(draw, MANY)))
    generator = np.random.default_rng()
    insecure = generator.laplace if law == "laplace" else generator.normal
    rows.append(
        Row(law, scale, "numpy, insecure floats", rate(lambda: insecure(0, scale, MANY), MANY))
    )
    for row in rows:
        row.ratio = row.rate / peer
    return rows


def main() -> None:
    """Prints the table and the goals."""
    laws = ("laplace", "gaussian")
    rows = [row for law in laws for scale in SCALES for row in measure(law, scale)]
    print(f"{'law':9} {'scale':>8}  {'way':32} {'samples/s':>10} {'x OpenDP vector':>16}")
    for row in rows:
        print(f"{row.law:9} {row.scale:8}  {row.way:32} {row.rate:10.3g} {row.ratio:16,.1f}")
    size = 1 << 20
    for way, entropy in (("AES-256-CTR keystream", Keystream()), ("kernel", OperatingSystem())):
        speed = rate(partial(entropy.read, size), size)
        print(f"randomness: {way}: {speed / 1e6:,.0f} MB/s, {speed / 4:.3g} 32-bit words/s")
    print()
    for law, way, goal in (
        ("laplace", "Ameles, numpy alone", 250),
        ("laplace", "Ameles, compiled", 1_500),
        ("gaussian", "Ameles, numpy alone", 100),
        ("gaussian", "Ameles, compiled", 1_000),
    ):
        ratios = [row.ratio or 0 for row in rows if (row.law, row.way) == (law, way)]
        verdict = "reached" if min(ratios) >= goal else "not reached at every scale"
        span = f"{min(ratios):,.0f} to {max(ratios):,.0f}"
        print(f"goal: {law}, {way}: at least {goal} x: {span}: {verdict}")


if __name__ == "__main__":
    main()
