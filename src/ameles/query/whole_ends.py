"""The ends of a query that a partition does not have."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ameles.core.parameters import Exact
from ameles.query.answer import Answer
from ameles.query.ends import Ends


class WholeEnds(Ends):
    """What can be asked of one query only, and not of several parts at once."""

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
