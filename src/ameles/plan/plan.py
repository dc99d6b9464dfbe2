"""Plans: what to publish about a stream, checked completely before anything is read or spent.

>>> plan = read_plan_text('''
... [stream]
... name = "flu"
... source = "events.csv"
... time = "at"
... columns = { at = "timestamp", region = "text" }
... start = "2026-01-01"
... every = "1d"
... horizon = 365
... [privacy]
... population = "visitors"
... unit = "event"
... epsilon = 1.0
... [[release]]
... name = "visits"
... measure = "count"
... by = { region = ["north", "south"] }
... [store]
... url = "flu.db"
... ''')
>>> plan.stream.name, plan.releases[0].keys
('flu', ('north', 'south'))
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

from ameles.connectors.format import Format
from ameles.connectors.typed_columns import IDS, KEY, WEIGHT
from ameles.core.guarantee import Unit
from ameles.core.loss import Approx, EpsilonLoss, Pure
from ameles.core.rules import CURRENT, FIRST, SOUND_KEYS
from ameles.measures.measure import Measure, Terms
from ameles.measures.shares import default_shares
from ameles.mechanisms.mechanism import AnyMechanism
from ameles.plan.checking import Checking
from ameles.plan.clock import Clock
from ameles.plan.problems import BadPlan
from ameles.plan.sections import (
    PrivacySection,
    ServeSection,
    SinkSection,
    StoreSection,
    StreamSection,
)
from ameles.plan.terms import terms_of, window_of
from ameles.plan.text import read_text, read_toml


@dataclass(frozen=True)
class Plan:
    """A checked plan."""

    stream: StreamSection
    privacy: PrivacySection
    releases: tuple[Measure, ...]
    store: StoreSection
    sinks: tuple[SinkSection, ...]
    serve: ServeSection
    base: Path  # the folder of relative paths
    rules: int = CURRENT  # version of the reading rules; a launched stream keeps its own
    file: Path | None = None  # where it was read from

    @cached_property
    def clock(self) -> Clock:
        """Where the steps begin and end."""
        return self.stream.clock

    @cached_property
    def unit(self) -> Unit:
        """Who is protected."""
        return self.privacy.unit_of(self.stream.every, self.stream.zone)

    @property
    def loss(self) -> EpsilonLoss:
        """What the whole plan spends, once."""
        return self.privacy.loss

    @property
    def kinds(self) -> dict[str, str]:
        """The columns with the kinds in which the source reads them, under the stream's rules."""
        kinds: dict[str, str] = dict(self.stream.columns)
        if self.rules >= SOUND_KEYS:
            keyed = {column for one in self.releases for column in (*one.by, *one.keyed)}
            kinds |= {column: KEY for column in keyed if kinds[column] == "text"}
        if self.rules > FIRST:
            if self.privacy.user is not None:
                kinds[self.privacy.user] = IDS.get(
                    self.stream.columns[self.privacy.user], IDS["text"]
                )
            if self.stream.weight is not None:
                kinds[self.stream.weight] = WEIGHT
        return kinds

    @property
    def form(self) -> Format:
        """The format of the source, under the stream's rules."""
        return self.stream.form(self.rules)

    def window(self, release: Measure) -> int | None:
        """The number of steps that a release covers; None means all so far."""
        return window_of(release.over, self.stream)

    def terms(self, release: Measure) -> Terms:
        """The terms that decide the noise of a release."""
        return terms_of(self.stream, self.privacy, self.unit, release)

    @cached_property
    def shares(self) -> dict[str, EpsilonLoss]:
        """What each release spends in an epoch: its share of the plan's loss."""
        shares = default_shares(
            [(release, self.terms(release)) for release in self.releases], self.privacy.delta
        )
        epochs = self.privacy.epochs_paid
        return {
            release.name: _part(self.loss, share / epochs)
            for release, share in zip(self.releases, shares, strict=True)
        }

    @cached_property
    def recipes(self) -> dict[str, AnyMechanism]:
        """The mechanism of each release, chosen by computed error."""
        return {
            release.name: release.recipe(self.terms(release), self.shares[release.name])
            for release in self.releases
        }

    @property
    def purchases(self) -> dict[str, AnyMechanism]:
        """All mechanisms that are bought at launch, with those of reserved epochs."""
        reserved = range(1, self.privacy.epochs_paid)
        return self.recipes | {
            reserved_name(name, restart): recipe
            for restart in reserved
            for name, recipe in self.recipes.items()
        }

    def to_json(self) -> str:
        """The canonical text of everything that cannot change after the launch."""
        document = {
            "stream": self.stream.model_dump(
                mode="json", exclude_defaults=True, exclude={"rotated", "connection"}
            ),
            "privacy": self.privacy.model_dump(mode="json", exclude_defaults=True, exclude={"cap"}),
            "release": [r.model_dump(mode="json", exclude_defaults=True) for r in self.releases],
        }
        return json.dumps(document, separators=(",", ":"), sort_keys=True, default=str)


def read_plan(file: Path) -> Plan:
    """The plan in a file; relative paths in it are relative to its folder."""
    return replace(read_plan_text(read_text(file), base=file.parent), file=file)


def read_plan_text(text: str, base: Path = Path()) -> Plan:
    """The plan in a TOML text."""
    return check_plan(read_toml(text), base=base)


def check_plan(document: Mapping[str, Any], base: Path = Path()) -> Plan:
    """A plan from its tables; raises all of its problems at once."""
    checking = Checking(document)
    sections = checking.sections()
    if sections is None:
        raise BadPlan(checking.problems)
    return Plan(*sections, base)


def reserved_name(release: str, restart: int) -> str:
    """The name in the ledger for an epoch of a release that was paid for in advance."""
    return f"{release} (restart {restart})"


def _part(loss: EpsilonLoss, share: Any) -> EpsilonLoss:
    if isinstance(loss, Approx):
        return Approx(loss.epsilon * share, loss.delta * share)
    return Pure(loss.epsilon * share)
