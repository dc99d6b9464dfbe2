"""Accounting: what releases reveal together, and how much noise a promise needs.

Pure functions over losses and fractions, with the standard library alone.  Numbers on
which a privacy claim depends are rounded outward: losses up, allowances down.
"""

from ameles.accounting.advanced import advanced, even_share
from ameles.accounting.best import Comparison, MethodBound, best
from ameles.accounting.calibration import gaussian_variance, gaussian_variance_for, laplace_scale
from ameles.accounting.composition import compose
from ameles.accounting.concentrated import zcdp_delta, zcdp_epsilon, zcdp_rho
from ameles.accounting.continuous_gaussian import (
    analytic_gaussian_delta,
    analytic_gaussian_sigma,
    classical_gaussian_sigma,
)
from ameles.accounting.conversion import (
    to_approx,
    to_concentrated,
    zcdp_of_bounded_range,
    zcdp_of_gaussian,
    zcdp_of_pure,
)
from ameles.accounting.discrete_gaussian import (
    discrete_gaussian_delta,
    discrete_gaussian_variance,
)
from ameles.accounting.divergence import (
    approximate_max_divergence,
    hockey_stick,
    hockey_stick_at,
    kl_bound,
    kl_divergence,
    max_divergence,
    max_ratio,
    total_variation,
    total_variation_bound,
)
from ameles.accounting.filter import Filter, admit, in_currency, left_of, nothing_of
from ameles.accounting.group import group
from ameles.accounting.martingale import azuma_deviation, azuma_tail, mcdiarmid_tail
from ameles.accounting.odometer import Odometer
from ameles.accounting.optimal import optimal_delta, optimal_each, optimal_epsilon
from ameles.accounting.parallel import parallel, parts_touched
from ameles.accounting.posterior import odds_gained, posteriors

__all__ = [
    "Comparison",
    "Filter",
    "MethodBound",
    "Odometer",
    "admit",
    "advanced",
    "analytic_gaussian_delta",
    "analytic_gaussian_sigma",
    "approximate_max_divergence",
    "azuma_deviation",
    "azuma_tail",
    "best",
    "classical_gaussian_sigma",
    "compose",
    "discrete_gaussian_delta",
    "discrete_gaussian_variance",
    "even_share",
    "gaussian_variance",
    "gaussian_variance_for",
    "group",
    "hockey_stick",
    "hockey_stick_at",
    "in_currency",
    "kl_bound",
    "kl_divergence",
    "laplace_scale",
    "left_of",
    "max_divergence",
    "max_ratio",
    "mcdiarmid_tail",
    "nothing_of",
    "odds_gained",
    "optimal_delta",
    "optimal_each",
    "optimal_epsilon",
    "parallel",
    "parts_touched",
    "posteriors",
    "to_approx",
    "to_concentrated",
    "total_variation",
    "total_variation_bound",
    "zcdp_delta",
    "zcdp_epsilon",
    "zcdp_of_bounded_range",
    "zcdp_of_gaussian",
    "zcdp_of_pure",
    "zcdp_rho",
]
