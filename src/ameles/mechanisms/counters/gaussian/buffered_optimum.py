"""The best rates of a buffered counter: a smooth problem in a few variables, solved in place.

A cascade of n buffers is given by 2n numbers 0 < x_1 < a_1 < x_2 < ... < x_n < a_n < 1, where
1 - x_i are the poles of C and 1 - a_i its zeros, which are the poles of the decoder B next to
the pole 1.  Both C and B are then sums of decaying powers with positive weights, so the worst
variance, the sum of c_j^2 times the sum of b_j^2 over j < T, is a closed formula without
cancellation.  Its logarithm is minimised over the logarithms of the gaps by BFGS.

The results are floats and only need to be good: the counter rounds them to binary fractions and
certifies those, whatever they are.

>>> poles, rates = best_rates(2**20, 4)
>>> round(worst_deviation(poles, rates, 2**20), 2)
5.56
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import lru_cache, partial
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

Floats: TypeAlias = NDArray[np.float64]

# Neighbouring rates differ at least by this factor, so that rounding cannot swap them.
LEAST_GAP = 0.05
STEPS = 300
DIFFERENCE = 1e-5
CONVERGED = 1e-10
# Rates for all ends at once are fitted to this many of them, from the first on.
SMOOTH_FROM = 1 << 8
ENDS = 25


@lru_cache(maxsize=256)
def best_rates(horizon: int, buffers: int) -> tuple[tuple[float, ...], tuple[float, ...]]:
    """The x and the a with the smallest worst error, found from evenly spaced logarithms."""
    even = math.log(4 * max(horizon, 4)) / (2 * buffers)
    start = np.full(2 * buffers, math.log(math.expm1(even)))

    def costs(gaps: Floats) -> Floats:
        return np.array([*map(math.log, _worst_deviations(*_rates(gaps), horizon))])

    poles, rates = _rates(_minimum(costs, start))
    return tuple(poles.tolist()), tuple(rates.tolist())


@lru_cache(maxsize=64)
def smooth_rates(horizon: int, buffers: int) -> tuple[tuple[float, ...], tuple[float, ...]]:
    """The x and the a with the smallest error of all steps from ``SMOOTH_FROM`` on, each in
    comparison with the square root for a stream that ends there.

    The square root has the deviation (log t + gamma + 4 log 2) / pi at its last step t, nearly.
    The largest ratio is approached by means of ever higher powers.
    """
    if horizon <= SMOOTH_FROM:
        return best_rates(horizon, buffers)
    last = math.log2(horizon)
    ends = [round(2.0**power) for power in np.linspace(math.log2(SMOOTH_FROM), last, ENDS)]
    known = np.log((np.log(ends) + np.euler_gamma + 4 * math.log(2)) / math.pi)

    def costs(gaps: Floats, power: float) -> Floats:
        x, a = _rates(gaps)
        columns = 1 + _squares(encoder_weights(x, a), powers(_either(x), horizon - 1))
        places, outputs = decoder_weights(x, a)
        pairs = _either(places)
        gains = np.array([_squares(outputs, powers(pairs, end)) for end in ends])
        ratios = np.log(columns * gains) / 2 - known[:, None]
        highest = ratios.max(axis=0)
        means: Floats = highest + np.log(np.exp(power * (ratios - highest)).mean(axis=0)) / power
        return means

    gaps = np.full(2 * buffers, math.log(math.expm1(math.log(4 * horizon) / (2 * buffers))))
    for power in (30.0, 200.0):
        gaps = _minimum(partial(costs, power=power), gaps)
    poles, rates = _rates(gaps)
    return tuple(poles.tolist()), tuple(rates.tolist())


def worst_deviation(
    poles: Floats | tuple[float, ...], rates: Floats | tuple[float, ...], horizon: int
) -> float:
    """The standard deviation at the last step, in units of the noise for sensitivity 1."""
    return float(_worst_deviations(np.asarray(poles), np.asarray(rates), horizon))


def _worst_deviations(x: Floats, a: Floats, horizon: int) -> Floats:
    """``worst_deviation`` of each row of rates."""
    columns = 1 + _squares(encoder_weights(x, a), powers(_either(x), horizon - 1))
    places, outputs = decoder_weights(x, a)
    deviations: Floats = np.sqrt(columns * _squares(outputs, powers(_either(places), horizon)))
    return deviations


def _squares(weights: Floats, form: Floats) -> Floats:
    """weights @ form @ weights, for each row of weights and its matrix."""
    squares: Floats = np.vecdot((weights[..., None, :] @ form)[..., 0, :], weights)
    return squares


def encoder_weights(x: Floats, a: Floats) -> Floats:
    """w with c_j = sum of w_i (1 - x_i)^(j-1) for j >= 1; c_0 = 1."""
    weights: Floats = _products(a, x) / np.prod(_others(x), axis=-1)
    return weights


def decoder_weights(x: Floats, a: Floats) -> tuple[Floats, Floats]:
    """p and w with b_j = sum of w_i (1 - p_i)^j; p_0 = 0 and the others are a."""
    p = np.concatenate([np.zeros_like(a[..., :1]), a], axis=-1)
    return p, _products(x, p) / np.prod(_others(p), axis=-1)


def _products(x: Floats, p: Floats) -> Floats:
    """The product of x_k - p_i over k, for each i."""
    products: Floats = np.prod(x[..., None, :] - p[..., None], axis=-1)
    return products


def decoder_gain(x: Floats, a: Floats, t: int) -> float:
    """The sum of b_j^2 over j < t."""
    p, weights = decoder_weights(x, a)
    return float(weights @ powers(_either(p), t) @ weights)


def decoder_mean_gain(x: Floats, a: Floats, steps: int) -> float:
    """The mean over t = 1..steps of the sum of b_j^2 over j < t."""
    p, weights = decoder_weights(x, a)
    u = _either(p)
    safe = np.where(u == 0, 1.0, u)
    # the sum of (n - j) r^j over j < n, with r = 1 - u
    sums = np.where(u == 0, (steps + 1) / 2, (1 - (1 - u) * powers(safe, steps) / steps) / safe)
    return float(weights @ sums @ weights)


def powers(u: Floats, n: int) -> Floats:
    """The sum of (1 - u)^j over j < n."""
    safe = np.where(u == 0, 0.5, np.minimum(u, 1 - 1e-16))
    return np.where(u == 0, float(n), -np.expm1(n * np.log1p(-safe)) / safe)


def _either(x: Floats) -> Floats:
    """1 - (1 - x_i)(1 - x_k) for all pairs, without cancellation."""
    return x[..., None] + x[..., None, :] - x[..., None] * x[..., None, :]


def _others(p: Floats) -> Floats:
    """p_k - p_i, with ones on the diagonal, which products leave out."""
    gaps: Floats = p[..., None, :] - p[..., None] + np.eye(p.shape[-1])
    return gaps


def _rates(gaps: Floats) -> tuple[Floats, Floats]:
    """x and a from the logarithmic gaps below 1, made positive."""
    rates = np.exp(-np.cumsum(np.logaddexp(0, gaps) + LEAST_GAP, axis=-1))[..., ::-1]
    return rates[..., 0::2], rates[..., 1::2]


def _minimum(costs: Callable[[Floats], Floats], start: Floats) -> Floats:
    """BFGS with central differences: ``costs`` takes many places at once, and is smooth."""
    size = len(start)

    def cost(place: Floats) -> float:
        return float(costs(place[None])[0])

    place, value, slope = start, cost(start), _slope(costs, start)
    curvature = np.eye(size)
    for _ in range(STEPS):
        ahead = -curvature @ slope
        if ahead @ slope >= 0:
            curvature, ahead = np.eye(size), -slope
        length = min(1.0, 1 / max(float(np.abs(ahead).max()), 1e-300))
        while (lower := cost(place + length * ahead)) > value + 1e-4 * length * (ahead @ slope):
            length /= 2
            if length < 1e-10:
                return place
        there = place + length * ahead
        gained, value = value - lower, lower
        bend, move = _slope(costs, there) - slope, there - place
        place, slope = there, slope + bend
        if gained < CONVERGED:
            break
        if (turn := bend @ move) > 1e-14:
            shift = np.eye(size) - np.outer(move, bend) / turn
            curvature = shift @ curvature @ shift.T + np.outer(move, move) / turn
    return place


def _slope(costs: Callable[[Floats], Floats], place: Floats) -> Floats:
    steps = np.eye(len(place)) * DIFFERENCE
    above, below = np.split(costs(np.concatenate([place + steps, place - steps])), 2)
    slope: Floats = (above - below) / (2 * DIFFERENCE)
    return slope
