"""Continual counters: speed beside jax-privacy and OpenDP, error beside its formula, memory.

All contenders run in one process, in turns, and the best of several rounds counts, so that
the ratios mean something on any machine.  jax-privacy has the noise of a continual counter
for training: floats, Gaussian, from a seeded generator; a running sum is added to make it
count.  It computes in float64 unless told otherwise, and so its goals are measured; float32
is shown beside it.  OpenDP has no continual counter: its noise alone is measured, one draw
a step, which would be the least that one needs.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import time
import tracemalloc
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import opendp.prelude as dp
from jax_privacy.matrix_factorization.buffered_toeplitz import BufferedToeplitz
from jax_privacy.noise_addition import matrix_factorization_privatizer

import ameles
from ameles.core.guarantee import Intrusions
from ameles.mechanisms.counters.recipe import CounterRecipe
from ameles.noise import System, kernels

dp.enable_features("contrib")
jax.config.update("jax_enable_x64", True)

HORIZON = 1 << 20
WIDE = 100_000
HUGE = 1_000_000
ROUNDS = 9
PURE = (
    ameles.HatsCounter,
    ameles.SiblingsCounter,
    ameles.EldersCounter,
    ameles.BinaryCounter,
)
MEASURED = (
    ameles.SimpleTwoCounter,
    ameles.TwoLevelCounter,
    ameles.BinaryCounter,
    ameles.TreeCounter,
    ameles.KAryCounter,
    ameles.HonakerCounter,
    ameles.EldersCounter,
    ameles.SiblingsCounter,
    ameles.HatsCounter,
    ameles.HatsWindowCounter,
    ameles.EndlessHatsCounter,
    ameles.HybridCounter,
)
# Beside Siblings, all steps at once: they take at most 1.5 times as long.
HATS = (ameles.HatsCounter, ameles.HatsWindowCounter, ameles.EndlessHatsCounter)

Contender = tuple[str, Callable[[], object], int]


# Contenders: a name, what to time, and how many counter-updates that is ------------------------


@contextmanager
def without_kernels() -> Iterator[None]:
    """As if numba were not installed."""
    real = kernels.available
    kernels.available = lambda: False
    try:
        yield
    finally:
        kernels.available = real


def ours_wide(recipe: CounterRecipe, *, compiled: bool, steps: int = 40) -> Contender:
    """Steps of many counters together."""
    name = f"{type(recipe).__name__}, {'compiled' if compiled else 'numpy alone'}"
    x = np.zeros(recipe.columns, dtype=np.int64)
    if compiled:
        run = recipe.start(System())
    else:
        with without_kernels():
            run = recipe.start(System(compiled=False))

    def loop() -> None:
        for _ in range(steps):
            run.step(x)

    return name, loop, recipe.columns * steps


def ours_plain(recipe: CounterRecipe, steps: int = 100_000) -> Contender:
    """One counter, one integer after the other."""

    def loop() -> None:
        step = recipe.start(System()).step
        for _ in range(steps):
            step(1)

    return f"{type(recipe).__name__}, step", loop, steps


def ours_bulk(recipe: CounterRecipe, *, compiled: bool, steps: int = 1 << 19) -> Contender:
    """One counter, all steps at once."""
    xs = np.ones(steps, dtype=np.int64)
    name = f"{type(recipe).__name__}, feed, {'compiled' if compiled else 'numpy alone'}"
    return name, lambda: recipe.start(System(compiled=compiled)).feed(xs), steps


def jax_privacy(width: int | None, kind: str, steps: int, *, scan: bool = False) -> Contender:
    """A jitted step, or a jitted scan of steps, of buffered Toeplitz noise with 4 buffers."""
    # the speed does not depend on the parameters, so the quickest to compute will do
    approximation = BufferedToeplitz.from_rational_approx_to_sqrt_x(num_buffers=4)
    blt = BufferedToeplitz.build(approximation.buf_decay, approximation.output_scale, dtype=kind)
    privatizer = matrix_factorization_privatizer(
        blt.inverse_as_streaming_matrix(), stddev=1.0, prng_key=1, dtype=kind
    )
    x = jnp.ones((), dtype=kind) if width is None else jnp.ones(width, dtype=kind)

    @jax.jit
    def step(total: jax.Array, state: object) -> tuple[jax.Array, object]:
        noisy, state = privatizer.update(x, state)
        return total + noisy, state

    def loop() -> None:
        total, state = x * 0, privatizer.init(x)
        for _ in range(steps):
            total, state = step(total, state)
        total.block_until_ready()

    @jax.jit
    def all_steps() -> jax.Array:
        def body(carry: tuple[jax.Array, object], _: None) -> tuple[object, jax.Array]:
            carry = step(*carry)
            return carry, carry[0]

        return jax.lax.scan(body, (x * 0, privatizer.init(x)), None, length=steps)[1]

    name = f"jax-privacy, {kind}{', scan' if scan else ''}"
    run = (lambda: all_steps().block_until_ready()) if scan else loop
    return name, run, steps * (width or 1)


def opendp_laplace(width: int | None) -> Contender:
    """OpenDP's exact noise, one draw for each counter and step."""
    if width is None:
        one = dp.m.make_laplace(dp.atom_domain(T=int), dp.absolute_distance(T=int), scale=5.0)
        return "OpenDP, noise alone", lambda: [one(0) for _ in range(1000)], 1000
    domain = dp.vector_domain(dp.atom_domain(T=int))
    many = dp.m.make_laplace(domain, dp.l1_distance(T=int), scale=5.0)
    zeros = [0] * width
    return "OpenDP, noise alone", lambda: many(zeros), width


def race(contenders: list[Contender], rounds: int = ROUNDS) -> dict[str, float]:
    """The best rate of each contender, all taking turns; the first turn, which compiles and
    builds tables, is not timed."""
    best = dict.fromkeys((name for name, _, _ in contenders), float("inf"))
    for turn in range(rounds + 1):
        for name, run, _ in contenders:
            started = time.perf_counter()
            run()
            if turn:
                best[name] = min(best[name], time.perf_counter() - started)
    return {name: count / best[name] for name, _, count in contenders}


def show(title: str, rates: dict[str, float], peer: str) -> None:
    """One race as a table."""
    print(f"\n{title:46} {'updates/s':>10} {'x ' + peer:>24}")
    for name, rate in rates.items():
        print(f"  {name:44} {rate:10.3g} {rate / rates[peer]:24,.2f}")


# Errors, growth, memory ------------------------------------------------------------------------


def measured_error(kind: type[CounterRecipe], width: int = 20_000, horizon: int = 1024) -> float:
    """Measured over predicted root mean square error, of counters that count nothing.

    The standard error of a sample deviation of n values is at most sqrt((kurtosis - 1) / 4n)
    of it: 0.8% with kurtosis 6 even if all steps had the same noise, and less as they do not.
    """
    recipe = kind(epsilon=1, horizon=horizon, width=width)
    run = recipe.start(System.direct() if recipe.intrusions is not Intrusions.NONE else System())
    zeros = np.zeros(width, dtype=np.int64)
    squares = [float(np.square(run.step(zeros), dtype=float).mean()) for _ in range(horizon)]
    predicted = [recipe.error.std(t) ** 2 for t in range(1, horizon + 1)]
    return float(np.sqrt(sum(squares) / sum(predicted)))


def cost(recipe: CounterRecipe) -> tuple[float, float]:
    """Nanoseconds a counter-update, and bytes a counter between two steps."""
    steps = max(40, 200_000 // recipe.columns)
    (rate,) = race([ours_wide(recipe, compiled=True, steps=steps)], rounds=3).values()
    zeros = np.zeros(recipe.columns, dtype=np.int64)
    tracemalloc.start()
    run = recipe.start(System())
    run.step(zeros)
    held, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    return 1e9 / rate, held / recipe.columns


def growth() -> dict[str, dict[str, list[tuple[int, float, float]]]]:
    """Time and memory by horizon and by width."""
    horizons = [1 << power for power in (10, 14, 18, 22, 26, 30)]
    widths = [10**power for power in range(6)]
    grown: dict[str, dict[str, list[tuple[int, float, float]]]] = {"horizon": {}, "width": {}}
    for kind in PURE:
        grown["horizon"][kind.__name__] = [
            (horizon, *cost(kind(epsilon=1, horizon=horizon, width=10_000))) for horizon in horizons
        ]
        grown["width"][kind.__name__] = [
            (width, *cost(kind(epsilon=1, horizon=HORIZON, width=width))) for width in widths
        ]
    for axis, fixed in (("horizon", "10,000 counters"), ("width", "T = 2^20")):
        print(f"\n{f'growth with {axis}, {fixed}':32} nanoseconds an update | bytes a counter")
        print(f"{axis:>12} " + " ".join(f"{kind.__name__:>26}" for kind in PURE))
        for row in zip(*grown[axis].values(), strict=True):
            cells = " ".join(f"{spent:13,.1f} | {held:10,.0f}" for _, spent, held in row)
            print(f"{row[0][0]:12,} {cells}")
    return grown


def draw(grown: dict[str, dict[str, list[tuple[int, float, float]]]], file: Path) -> None:
    """The growth as a picture."""
    from matplotlib import pyplot as plt

    figure, axes = plt.subplots(2, 2, figsize=(10, 7), constrained_layout=True)
    for row, axis in zip(axes, grown, strict=True):
        for place, (panel, label) in enumerate(
            zip(row, ("nanoseconds an update", "bytes a counter"), strict=True)
        ):
            for name, points in grown[axis].items():
                xs, ys = [p[0] for p in points], [p[1 + place] for p in points]
                panel.loglog(xs, ys, "o-", label=name)
            panel.set(xlabel=axis, ylabel=label)
            panel.grid(alpha=0.3)
    axes[0][0].legend()
    figure.savefig(file)
    print(f"\ndrawn: {file}")


PEAK = """
import numpy as np, resource, sys
import ameles
from ameles.noise import System
width, horizon = map(int, sys.argv[1:])
run = ameles.counter(epsilon=1, horizon=horizon, width=width).start(System())
x = np.ones(width, dtype=np.int64)
run.step(x)  # enters a group at every level
k = run._recipe.arity  # so wide a counter has Siblings, which need less memory than Hats
late = k ** (run._recipe.levels - 1)  # the clock put forward to just before all but the top do
run._process._t = run._start = late - 10
for _ in range(k * k + 20):
    run.step(x)
peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss  # in bytes on macOS
if sys.platform == "linux":  # in KiB there, and maybe the parent's: this is our own
    lines = open("/proc/self/status").read().splitlines()
    peak = 1024 * next(int(line.split()[1]) for line in lines if line.startswith("VmHWM"))
print(peak)
"""


def peak_memory() -> float:
    """The most memory that a process with a million counters ever has, in GiB."""
    command = [sys.executable, "-c", PEAK, str(HUGE), str(HORIZON)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return int(done.stdout) / (1 << 30)


def goal(what: str, measured: float, least: float = 0, most: float = float("inf")) -> None:
    """One line: what was to be reached, and whether it was."""
    verdict = "reached" if least <= measured <= most else "not reached"
    wanted = f"at least {least:,g}" if most == float("inf") else f"at most {most:,g}"
    print(f"goal: {what}: {wanted}: {measured:,.3g}: {verdict}")


def main() -> None:
    """Prints the tables and the goals."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--plot", type=Path, metavar="FILE", help="draw the growth into a file")
    options = parser.parse_args()

    plain = ameles.counter(epsilon=1, horizon=HORIZON)
    wide = [kind(epsilon=1, horizon=HORIZON, width=WIDE) for kind in PURE]
    vector = [jax_privacy(WIDE, kind, 20) for kind in ("float64", "float32")]
    vector += [ours_wide(recipe, compiled=way) for recipe in wide for way in (False, True)]
    vectors = race(vector) | race([opendp_laplace(20_000)], 2)
    show(f"{WIDE:,} counters, one step at a time", vectors, "jax-privacy, float64")
    one = [jax_privacy(None, kind, 2000) for kind in ("float64", "float32")]
    one += [ours_plain(kind(epsilon=1, horizon=HORIZON)) for kind in PURE]
    scalars = race(one) | race([opendp_laplace(None)], 2)
    show("one counter, one step at a time", scalars, "jax-privacy, float64")
    bulk = [jax_privacy(None, "float64", 1 << 14, scan=True)]
    bulk += [ours_bulk(kind(epsilon=1, horizon=HORIZON), compiled=False) for kind in PURE[:2]]
    bulk += [ours_bulk(kind(epsilon=1, horizon=HORIZON), compiled=True) for kind in PURE]
    for kind in HATS[1:]:
        recipe = kind(epsilon=1, horizon=HORIZON)
        bulk += [ours_bulk(recipe, compiled=way) for way in (False, True)]
    bulks = race(bulk)
    show("one counter, all steps at once", bulks, "jax-privacy, float64, scan")

    print("\nmeasured over predicted error, T = 1024, epsilon = 1")
    errors = {kind.__name__: measured_error(kind) for kind in MEASURED}
    for name, ratio in errors.items():
        print(f"  {name:24} {ratio:.4f}")
    grown = growth()
    if options.plot:
        draw(grown, options.plot)

    print()
    peer, default = vectors["jax-privacy, float64"], type(plain).__name__
    for way, least in (("numpy alone", 3), ("compiled", 10)):
        faster = vectors[f"{default}, {way}"] / peer
        goal(f"{WIDE:,} counters, {way}, x jax-privacy", faster, least)
    ratio = scalars[f"{default}, step"] / scalars["jax-privacy, float64"]
    goal("one counter, x jitted jax-privacy", ratio, 25)
    goal("one counter, steps/s", scalars[f"{default}, step"], 1e6)
    feeds = [bulks[f"{default}, feed, {way}"] for way in ("numpy alone", "compiled")]
    goal("bulk feed, steps/s", max(feeds), 2e7)
    for rates, ways in (
        (vectors, ("numpy alone", "compiled")),
        (scalars, ("step",)),
        (bulks, ("feed, numpy alone", "feed, compiled")),
    ):
        for way in ways:
            slower = rates[f"SiblingsCounter, {way}"] / rates[f"HatsCounter, {way}"]
            goal(f"time of Hats, {way}, x Siblings", slower, most=1.5)
    for kind in HATS[1:]:
        for way in ("feed, numpy alone", "feed, compiled"):
            slower = bulks[f"SiblingsCounter, {way}"] / bulks[f"{kind.__name__}, {way}"]
            goal(f"time of {kind.__name__}, {way}, x Siblings", slower, most=1.5)
    off = max(abs(ratio - 1) for ratio in errors.values())
    goal("measured against predicted error, off by", off, most=0.02)
    goal(f"{HUGE:,} counters, T = 2^20, peak GiB", peak_memory(), most=1)


if __name__ == "__main__":
    main()
