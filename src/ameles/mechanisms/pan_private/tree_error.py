"""The error of a tree whose blocks have noise from their opening and from their publication."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import partial

from ameles.mechanisms.counters.arity import digit_total
from ameles.mechanisms.counters.digits import MOST_WALKED, DigitError, unshared_blocks
from ameles.mechanisms.counters.laplace_error import LaplaceError
from ameles.mechanisms.laplace.confined import Band, Floats, Walk, blocks_leaving
from ameles.mechanisms.laplace.mixture import LaplaceMixture, LaplacePart
from ameles.mechanisms.pan_private.tree_epochs import TreeEpochs, levels_of


@dataclass(frozen=True)
class PublishedError(LaplaceError):
    """Two noises for each block that a count is made of, and one for each announcement.

    An announcement adds a noise to every open block, and a count has one block of those.  When
    announcements were made is not asked: the law is that of the worst times.
    """

    epochs: TreeEpochs
    scale: Callable[[int], Fraction]  # of all noises of a tree of a depth
    announcements: int = 0

    def law(self, t: int) -> LaplaceMixture:
        return self.between(0, t)

    def between(self, before: int, t: int) -> LaplaceMixture:
        last = self.epochs.depth(t)
        counts = {}
        for depth in range(self.epochs.depth(before + 1), last + 1):
            start = self.epochs.start(depth)
            end = t if depth == last else self.epochs.end(depth)
            arities = self.epochs.arities(depth)
            counts[depth] = 2 * sum(unshared_blocks(max(before - start, 0), end - start, arities))
        # A difference of two counts may have a noise of the same announcement from both; with one
        # level it has that of one step.
        counts[last] += self.announcements * (2 if before and last > 1 else 1)
        return self._mixture(counts)

    def walk(self, steps: int) -> Walk | None:
        last = self.epochs.depth(steps)
        trees = []
        for depth in range(self.epochs.depth(1), last + 1):
            end = steps if depth == last else self.epochs.end(depth)
            blocks = self._blocks(depth)
            trees.append((blocks, blocks.digits(end - self.epochs.start(depth))))
        walked = sum(sum(blocks.arities) + sum(digits) for blocks, digits in trees)
        if self.announcements or walked > MOST_WALKED:
            return None

        def leaving(band: Band) -> Floats:
            after = band.inside
            for blocks, digits in reversed(trees):
                then = partial(band.then_two, blocks.scale)
                after = blocks_leaving(after, digits, blocks.arities, then)
            return after

        terms = int(sum(part.count for part in self.worst_law(steps).parts))
        return Walk(leaving, steps, terms, frozenset(blocks.scale for blocks, _ in trees))

    def worst_law(self, steps: int) -> LaplaceMixture:
        last = self.epochs.depth(steps)
        counts = {depth: 2 * self._kept(depth) for depth in range(self.epochs.depth(1), last)}
        # of the noises that an earlier tree does not leave behind, each is smaller than one here
        spare = (self._most(depth, self.epochs.end(depth)) - self._kept(depth) for depth in counts)
        counts[last] = 2 * max(self._most(last, steps), *spare, 0) + self.announcements
        return self._mixture(counts)

    def _kept(self, depth: int) -> int:
        """How many blocks a tree that has ended leaves behind, in all later counts."""
        return self._blocks(depth).terms(self.epochs.end(depth) - self.epochs.start(depth))

    def _most(self, depth: int, last: int) -> int:
        """The most blocks that a count within a tree is made of, up to step ``last``."""
        return self._blocks(depth).most_terms(last - self.epochs.start(depth))

    def _blocks(self, depth: int) -> DigitError:
        return DigitError(self.scale(depth), self.epochs.arities(depth))

    def _mixture(self, counts: dict[int, int]) -> LaplaceMixture:
        return LaplaceMixture(
            tuple(
                LaplacePart(self.scale(depth), 1.0, count)
                for depth, count in counts.items()
                if count
            )
        )


def published_cost(horizon: int, k: int) -> float:
    """The mean variance over the horizon, up to a factor: h^2 times the mean number of blocks."""
    levels = levels_of(horizon, k)
    low = sum(digit_total(horizon, k, level, lambda digit: digit) for level in range(levels - 1))
    size: int = k ** (levels - 1)
    whole, rest = divmod(horizon, size)
    top = size * whole * (whole - 1) // 2 + whole * (rest + 1)  # the top digit has no limit
    return levels**2 * (low + top) / horizon
