"""The ends of a query or a partition: each asks one question, and pays for it."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from ameles.core.exceptions import BadInput
from ameles.core.loss import Approx, EpsilonLoss, Pure
from ameles.core.parameters import Exact, exact
from ameles.query.answer import Answer
from ameles.query.choosing import median_ending, most_common_ending
from ameles.query.data_keys import private_keys_ending
from ameles.query.ending import Ending
from ameles.query.k_means import k_means_ending
from ameles.query.key_counts import count_ending
from ameles.query.measure_ending import measure_ending
from ameles.query.synthetic import synthetic_ending
from ameles.query.thresholds import threshold_ending
from ameles.query.variance import variance_ending

Maker = Callable[..., Ending]


class Ends(ABC):
    """What can be asked of a query, or of all parts of a partition at once.

    A partition refuses the ends of ``OF_ONE_QUERY``.  ``epsilon`` is what the question costs;
    ``delta`` above 0 allows Gaussian noise; ``why`` stays in the ledger.
    """

    @property
    def _by(self) -> Mapping[str, Sequence[str]]:
        """The declared keys of the parts, if there are parts."""
        return {}

    @abstractmethod
    def _ask(self, ending: Ending, loss: EpsilonLoss, why: str | None) -> Answer:
        """Asks and pays."""

    def noisy_count(self, *, epsilon: Exact, delta: Exact = 0, why: str | None = None) -> Answer:
        """How many rows there are."""
        return self._asked("noisy_count", epsilon, delta, why)

    def noisy_sum(
        self,
        column: str,
        *,
        lower: Exact,
        upper: Exact,
        granularity: Exact = 1,
        epsilon: Exact,
        delta: Exact = 0,
        why: str | None = None,
    ) -> Answer:
        """The sum of a column; each value is clamped to the bounds and rounded to the grid."""
        return self._asked(
            "noisy_sum",
            epsilon,
            delta,
            why,
            column=column,
            lower=lower,
            upper=upper,
            granularity=granularity,
        )

    def noisy_average(
        self,
        column: str,
        *,
        lower: Exact,
        upper: Exact,
        granularity: Exact = 1,
        epsilon: Exact,
        delta: Exact = 0,
        why: str | None = None,
    ) -> Answer:
        """The mean of a column, from a noisy sum and a noisy count."""
        return self._asked(
            "noisy_average",
            epsilon,
            delta,
            why,
            column=column,
            lower=lower,
            upper=upper,
            granularity=granularity,
        )

    def noisy_variance(
        self,
        column: str,
        *,
        lower: Exact,
        upper: Exact,
        granularity: Exact = 1,
        epsilon: Exact,
        why: str | None = None,
    ) -> Answer:
        """The variance of a column, from a noisy count, sum and sum of squares."""
        return self._asked(
            "noisy_variance",
            epsilon,
            0,
            why,
            column=column,
            lower=lower,
            upper=upper,
            granularity=granularity,
        )

    def histogram(
        self,
        column: str,
        *,
        edges: Sequence[Exact] | None = None,
        categories: Sequence[str] | None = None,
        other: bool = False,
        epsilon: Exact,
        delta: Exact = 0,
        why: str | None = None,
    ) -> Answer:
        """How many rows there are in each bin between public edges, or in each public category."""
        return self._asked(
            "histogram",
            epsilon,
            delta,
            why,
            column=column,
            edges=edges,
            categories=categories,
            other=other,
        )

    def quantile(
        self,
        column: str,
        q: Exact,
        *,
        edges: Sequence[Exact],
        epsilon: Exact,
        delta: Exact = 0,
        why: str | None = None,
    ) -> Answer:
        """The value with a share ``q`` of the rows below it, from counts between public edges."""
        return self._asked("quantile", epsilon, delta, why, column=column, q=q, edges=edges)

    def distinct_users(self, *, epsilon: Exact, delta: Exact = 0, why: str | None = None) -> Answer:
        """How many users have a row.  A user counts once, in one part."""
        return self._asked("distinct_users", epsilon, delta, why)

    def top_k(
        self,
        k: int,
        *,
        by: Mapping[str, Sequence[str]] | None = None,
        epsilon: Exact,
        delta: Exact = 0,
        why: str | None = None,
    ) -> Answer:
        """The ``k`` public keys with the most rows, with their counts."""
        return self._asked("top_k", epsilon, delta, why, k=k, by=by)

    def above_threshold(
        self,
        conditions: Sequence[str],
        *,
        threshold: int,
        aboves: int = 1,
        epsilon: Exact,
        why: str | None = None,
    ) -> Answer:
        """For each condition, whether more than ``threshold`` rows meet it, until ``aboves`` were
        above.

        Conditions below the threshold cost nothing.
        """
        return self._asked(
            "above_threshold",
            epsilon,
            0,
            why,
            conditions=conditions,
            threshold=threshold,
            aboves=aboves,
        )

    def noisy_median(
        self,
        column: str,
        *,
        lower: Exact,
        upper: Exact,
        granularity: Exact = 1,
        epsilon: Exact,
        why: str | None = None,
    ) -> Answer:
        """The median, chosen from the values of a public grid.

        Its interval is of the rows that it is off the middle by; ``quantile`` has one of values.
        """
        return self._asked(
            "noisy_median",
            epsilon,
            0,
            why,
            column=column,
            lower=lower,
            upper=upper,
            granularity=granularity,
        )

    def most_common(
        self, column: str, *, keys: Sequence[str], epsilon: Exact, why: str | None = None
    ) -> Answer:
        """The public key that most rows have: its name, and nothing else."""
        return self._asked("most_common", epsilon, 0, why, column=column, keys=keys)

    def private_keys(
        self,
        column: str,
        *,
        epsilon: Exact,
        delta: Exact,
        joined: bool = False,
        why: str | None = None,
    ) -> Answer:
        """The values of a column that enough units have brought, for ``partition``.

        ``joined`` leaves out keys with a slash, which a partition by several columns cannot have.
        """
        return self._asked("private_keys", epsilon, delta, why, column=column, joined=joined)

    def synthetic(
        self,
        keys: Mapping[str, Sequence[str]],
        *,
        rows: int,
        ways: int = 2,
        rounds: int = 20,
        epsilon: Exact,
        why: str | None = None,
    ) -> Answer:
        """Made-up rows with nearly the same counts of all values of up to ``ways`` columns.

        ``keys`` has the public values of each column, ``rows`` about how many rows there are.
        """
        return self._asked(
            "synthetic", epsilon, 0, why, keys=keys, rows=rows, ways=ways, rounds=rounds
        )

    def k_means(
        self,
        bounds: Mapping[str, Sequence[Exact]],
        *,
        clusters: int,
        rounds: int = 5,
        epsilon: Exact,
        why: str | None = None,
    ) -> Answer:
        """The centres of clusters of rows; ``bounds`` has the two ends of each column."""
        return self._asked(
            "k_means", epsilon, 0, why, bounds=bounds, clusters=clusters, rounds=rounds
        )

    def _asked(
        self, end: str, epsilon: Exact, delta: Exact, why: str | None, **arguments: Any
    ) -> Answer:
        given = {"epsilon": epsilon, "delta": delta, **arguments}
        ending, loss = self._ending(end, given)
        return self._ask(ending, loss, why)

    def _ending(self, end: str, arguments: Mapping[str, Any]) -> tuple[Ending, EpsilonLoss]:
        """The ending of this name, and the loss that was asked for."""
        if end not in ENDS:
            raise BadInput(f"There is no end '{end}'.", tip=f"one of {', '.join(ENDS)}")
        rest = {name: value for name, value in arguments.items() if value is not None}
        rest.pop("why", None)
        loss = _loss(rest.pop("epsilon", None), rest.pop("delta", 0))
        if isinstance(rest.get("edges"), Sequence):
            rest["edges"] = list(rest["edges"])  # a range, too
        if self._by:
            if rest.get("by"):
                raise BadInput("The parts of a partition are its keys; it has no other 'by'.")
            rest["by"] = {column: list(keys) for column, keys in self._by.items()}
        if end in OF_ONE_QUERY and "by" in rest:
            raise BadInput(
                f"{end} is asked of one query, not of all parts of a partition at once.",
                tip=f"{{key: part.{end}(...) for key, part in parts.items()}}; if a unit is in one "
                "part only, this costs what the most expensive part costs",
            )
        try:
            ending = ENDS[end](**rest)
        except TypeError as wrong:
            raise BadInput(f"{end}: {wrong}".replace("<lambda>()", "it")) from None
        return ending, loss


def _loss(epsilon: Exact | None, delta: Exact) -> EpsilonLoss:
    if epsilon is None:
        raise BadInput("A question needs an epsilon.", tip="epsilon=0.1")
    allowed = exact(delta, "delta")
    return Approx(epsilon, allowed) if allowed else Pure(epsilon)


def _measured(called: str, kind: str) -> Maker:
    def made(**fields: Any) -> Ending:
        return measure_ending(called, kind, **fields)

    def bounded(*, granularity: Exact = 1, **fields: Any) -> Ending:
        return measure_ending(called, kind, granularity=granularity, **fields)

    return bounded if kind in ("sum", "mean") else made


ENDS: dict[str, Maker] = {
    "noisy_count": count_ending,
    "noisy_sum": _measured("noisy_sum", "sum"),
    "noisy_average": _measured("noisy_average", "mean"),
    "histogram": _measured("histogram", "histogram"),
    "quantile": _measured("quantile", "quantile"),
    "distinct_users": _measured("distinct_users", "distinct"),
    "top_k": _measured("top_k", "top"),
    "noisy_variance": variance_ending,
    "noisy_median": median_ending,
    "most_common": most_common_ending,
    "private_keys": private_keys_ending,
    "synthetic": synthetic_ending,
    "above_threshold": threshold_ending,
    "k_means": k_means_ending,
}
OF_ONE_QUERY = (
    "above_threshold",
    "noisy_median",
    "most_common",
    "private_keys",
    "synthetic",
    "k_means",
)
