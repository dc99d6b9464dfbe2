"""Where the numbers of a release come from, in words: for ``ameles explain`` and for readers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from ameles.core.guarantee import Guarantee, Intrusions
from ameles.ledger.entry import Entry
from ameles.measures.measure import Measure
from ameles.mechanisms.catalogue import recipe_from_json
from ameles.plan.plan import Plan
from ameles.store import EpochRecord

COVERS = "it covers the privacy noise only, not events that were late or exceeded the bounds"


@dataclass(frozen=True)
class Explanation:
    """The words about one release of a stream; ``seen`` says that an intrusion was announced."""

    plan: Plan
    measure: Measure
    entry: Entry  # that paid for it
    epochs: Sequence[EpochRecord] = ()
    seen: bool = False

    def texts(self) -> dict[str, str]:
        """What is the same at every step."""
        plan, entry = self.plan, self.entry
        recipe, terms = recipe_from_json(entry.recipe), plan.terms(self.measure)
        why = self.measure.why(recipe, terms)
        return {
            "mechanism": f"{type(recipe).__name__}, because {why}",
            "interval": self.measure.interval_in_words(recipe, terms),
            "covers": COVERS,
            "guarantee": str(promise(plan, entry)),
            "ledger": f"entry {entry.number} of population '{plan.privacy.population}': {entry}",
        }

    def noise(self, step: int | None) -> str:
        """The law of the noise, and its size at a step if that is known."""
        ended = () if step is None else self._ended(step)
        terms = replace(self.plan.terms(self.measure), ended=ended)
        known = None if self.seen else step  # no store says before which step an intrusion was
        return self.measure.noise_in_words(recipe_from_json(self.entry.recipe), terms, known)

    def _ended(self, step: int) -> tuple[int, ...]:
        return tuple(epoch.released for epoch in self.epochs if epoch.released < step)

    def restarts(self) -> list[tuple[int, str]]:
        """The restarts, each with the step after which it was."""
        users = self.plan.privacy.user
        goes_on = "users are counted anew" if users else "its noise adds to the noise before"
        return [
            (epoch.released, f"number {n}, after step {epoch.released} ({epoch.why}): {goes_on}")
            for n, epoch in enumerate(self.epochs, start=1)
        ]


def promise(plan: Plan, entry: Entry) -> Guarantee:
    """The guarantee with the plan's intrusions.

    A mechanism may withstand intrusions that the plan does not promise to withstand: its source
    may keep the raw events.
    """
    return replace(entry.guarantee, intrusions=Intrusions(plan.privacy.intrusions))
