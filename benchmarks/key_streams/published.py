"""The published algorithm, DP-SQLP (PVLDB 2024), rebuilt from its description.

Selection    Each key has a binary tree over the steps, whose nodes have normal noise; prefixes are
             estimated from all nodes below (Honaker).  In a round, the tree counts the different
             users of a key.  When the estimate reaches mu + z SD(t), the key is released, and a new
             round begins with a new tree.  Trees are those of the whole stream: the noise of steps
             before a key's first record is there, too.
Values       Each key has a second tree.  A release adds what came since the last one, and shows
             the tree's estimate; between releases the value stays.  A key counts as found from its
             first release on.

Two calibrations, both for the user unit, epsilon, delta and at most C records of a user:

published    Epsilon is halved between selection and values; selection has two thirds of delta,
             half of it for noise and half for thresholds.  The C rounds that a user can be in
             compose by adding up rho.  A round's share of delta is beta (e^epsilon + 1), so
             z = Phi^-1(1 - beta), and mu = 0.  A value changes by C at most.  The paper does
             not say what mu was; of the usual rules of composition this one comes closest to its
             figures (28,338 keys at 100 steps, 22,280 at 1,000).  The delta does not hold as it is:
             a round draws noise at every step, and beta is for one of them.
generous     The same trees with everything that key discovery has: zCDP of both parts together,
             converted once and halved; users count once a key, so that values change by sqrt(C) in
             L2; half of delta for thresholds, by the union over C keys and all steps; mu = 1.  This
             holds, and no published text has it.

Floats and numpy's generator: a peer to measure, not to publish with.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from statistics import NormalDist

import numpy as np
from numpy.typing import NDArray

from ameles.accounting.concentrated import zcdp_rho
from key_streams.records import Stream

Floats = NDArray[np.float32]


@dataclass(frozen=True)
class Calibration:
    """The noise of both trees and the thresholds."""

    selection: float  # the standard deviation of a node
    values: float
    z: float
    mu: float
    once_a_key: bool


def levels_of(steps: int) -> int:
    """How many nodes of a tree one step is in."""
    return math.ceil(math.log2(steps))


def published(steps: int, records: int, epsilon: float, delta: float) -> Calibration:
    """As the text above says."""
    levels, half, share = levels_of(steps), epsilon / 2, delta / 3
    rho = rho_of(half, share) / records
    each = rho + 2 * math.sqrt(rho * math.log(records / share))
    return Calibration(
        selection=math.sqrt(levels / (2 * rho)),
        values=records * math.sqrt(levels / (2 * rho_of(half, share))),
        z=-NormalDist().inv_cdf(share / records / (math.exp(each) + 1)),
        mu=0,
        once_a_key=False,
    )


def generous(steps: int, records: int, epsilon: float, delta: float) -> Calibration:
    """As the text above says."""
    levels, rho = levels_of(steps), rho_of(epsilon, delta / 2)
    node = math.sqrt(records * levels / rho)  # each part has half of rho
    z = -NormalDist().inv_cdf(delta / 2 / (records * steps))
    return Calibration(selection=node, values=node, z=z, mu=1, once_a_key=True)


def rho_of(epsilon: float, delta: float) -> float:
    """The rho whose tight conversion gives both."""
    return float(zcdp_rho(epsilon=Fraction(epsilon), delta=Fraction(delta)))


class Trees:
    """One binary tree a key, all on the same clock: the noise of their best estimates.

    Of a complete subtree only its estimate is kept: the mean of its root and of the sum of its
    halves, by their variances.
    """

    def __init__(self, keys: int, levels: int, node: float, rng: np.random.Generator) -> None:
        self._rng, self._node = rng, node
        variances = [1.0]
        for _ in range(levels):
            variances.append(1 / (1 + 1 / (2 * variances[-1])))
        self._variances = variances
        self._kept = np.zeros((levels + 1, keys), dtype=np.float32)

    def deviation(self, t: int) -> float:
        """The standard deviation of an estimate after step t."""
        bits = (level for level in range(t.bit_length()) if t >> level & 1)
        return self._node * math.sqrt(sum(self._variances[level] for level in bits))

    def advance(self, t: int, width: int | None = None) -> None:
        """Step t of all trees, or of the first ones."""
        kept = self._kept[:, :width]
        estimate = self._normal(kept.shape[1])
        level = 0
        while t >> level & 1 == 0:
            root = np.float32(self._variances[level + 1])  # the weight of a root of variance 1
            estimate += kept[level]
            estimate *= 1 - root
            estimate += self._normal(kept.shape[1]) * root
            level += 1
        kept[level] = estimate

    def noise(self, t: int, chosen: slice | NDArray[np.int64]) -> Floats:
        """The noise of the estimates after step t."""
        total: Floats = np.float32(0)
        for level in range(t.bit_length()):
            if t >> level & 1:
                total = total + self._kept[level, chosen]
        return total

    def renew(self, t: int, chosen: NDArray[np.int64]) -> None:
        """New trees for these keys, as they are after step t."""
        for level in range(t.bit_length()):
            if t >> level & 1:
                fresh = self._normal(chosen.size) * np.float32(math.sqrt(self._variances[level]))
                self._kept[level, chosen] = fresh

    def _normal(self, size: int) -> Floats:
        return self._rng.standard_normal(size, dtype=np.float32) * np.float32(self._node)


def earlier_steps(stream: Stream) -> NDArray[np.int32]:
    """For each record, the step of the last one before it with the same user and key, or 0."""
    pair = stream.column("user").astype(np.int64) * stream.keys
    pair += stream.column("key")
    order = np.argsort(pair, kind="stable")
    step = np.repeat(
        np.arange(1, stream.steps + 1, dtype=np.int32), np.diff(stream.ends, prepend=0)
    )
    same = pair[order[1:]] == pair[order[:-1]]
    earlier = np.zeros(pair.size, dtype=np.int32)
    earlier[order[1:][same]] = step[order[:-1][same]]
    return earlier


def capped(stream: Stream, records: int, wanted: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Which of the wanted records are among the first so many of their users."""
    user = stream.column("user")[wanted]
    order = np.argsort(user, kind="stable")
    start = np.ones(user.size, dtype=bool)
    start[1:] = user[order[1:]] != user[order[:-1]]
    place = np.arange(user.size)
    within = np.zeros(user.size, dtype=bool)
    within[order] = place - np.maximum.accumulate(np.where(start, place, 0)) < records
    kept = np.zeros(wanted.size, dtype=bool)
    kept[wanted] = within
    return kept


def run(stream: Stream, records: int, law: Calibration) -> tuple[NDArray[np.bool_], Floats]:
    """Which keys are found by the end, and their last values."""
    rng = np.random.default_rng()
    levels = levels_of(stream.steps)
    earlier = earlier_steps(stream)
    kept = capped(stream, records, earlier == 0 if law.once_a_key else earlier >= 0)
    selection = Trees(stream.keys, levels, law.selection, rng)
    values = Trees(stream.keys, levels, law.values, rng)  # in the order of first releases
    users = np.zeros(stream.keys, dtype=np.int32)  # in the round
    counts = np.zeros(stream.keys, dtype=np.int64)
    rounds = np.zeros(stream.keys, dtype=np.int32)  # the step at which the last round ended
    place = np.full(stream.keys, -1, dtype=np.int64)  # among released keys
    shown = np.zeros(stream.keys, dtype=np.float32)
    found, start = 0, 0
    for t, (end, (_, key)) in enumerate(zip(stream.ends, stream, strict=True), 1):
        counting = kept[start:end]
        fresh = counting & (earlier[start:end] <= rounds[key])
        start = end
        np.add.at(users, key[fresh], 1)
        np.add.at(counts, key[counting], 1)
        selection.advance(t)
        values.advance(t, found)
        noisy = selection.noise(t, slice(None)) + users
        out = np.flatnonzero((noisy >= law.mu + law.z * selection.deviation(t)) & (users > 0))
        if not out.size:
            continue
        new = out[place[out] < 0]
        place[new] = np.arange(found, found + new.size)
        values.renew(t, place[new])
        found += new.size
        shown[out] = counts[out] + values.noise(t, place[out])
        users[out], rounds[out] = 0, t
        selection.renew(t, out)
    return place >= 0, shown
