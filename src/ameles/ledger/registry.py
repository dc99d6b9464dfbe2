"""The public registry of epsilons: what was promised to whom, in a record that anyone can check.

Spec         catalogue 65: an append-only list with stream, adjacency, granularity, mechanism, exact
             numbers and time; derived from it the cumulative loss, the burn rate, what is left and
             flags.  The fields of the deployments are those of the public registries of
             differential privacy: flavour, unit, loss, model, accounting, implementation
Losses       each as exact fractions in text, and as decimals rounded up, for those who compute in
             floats
Composition  by sums under a cap fixed in advance (catalogue 50, 51); everything about one
             population adds up, whoever asked for it, since researchers may share what they learn

A pure function of public facts: entries, renewals, and what the plans of the streams say.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from fractions import Fraction
from functools import reduce
from typing import Any

from ameles.accounting.conversion import to_approx
from ameles.core.guarantee import Guarantee, Intrusions, Unit
from ameles.core.loss import Concentrated, Loss, currency, loss_to_dict
from ameles.core.release import written
from ameles.ledger.amounts import added, any_of
from ameles.ledger.budget import Child
from ameles.ledger.entry import Entry, Renewal
from ameles.ledger.ledger import Ledger
from ameles.ledger.report import MONTH, BudgetReport, report

VERSION = 1
# The delta at which a loss in rho is also stated as (epsilon, delta).
DELTA = Fraction(1, 10**6)

# How bounds, keys and epsilon came about: declared without the data, by a private mechanism that is
# an entry of its own, or after somebody had looked at exact numbers of this population's data.
DECLARED, PRIVATELY, AFTER_LOOKING = "declared", "chosen privately", "after looking"
# Where the keys of releases come from.
DECLARED_KEYS = "declared in the plan"
DISCOVERED_KEYS = "discovered privately, beside those that the plan declares"

_FLAVOURS = {
    "pure": "pure differential privacy",
    "approx": "approximate differential privacy",
    "concentrated": "zero-concentrated differential privacy",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Deployment:
    """What the plan of a stream says in public, beside what its ledger entries say."""

    name: str
    cadence: str  # such as "1d"
    start: datetime
    horizon: int | None  # steps; None: without end
    late: str  # "next" or "drop"
    keys: str = DECLARED_KEYS
    end: datetime | None = None
    launched: datetime | None = None
    bounds: str = DECLARED
    # How often its state may be seized; None: as often as its mechanisms allow.
    intrusions: Intrusions | None = None
    looked: datetime | None = None  # when its data was first looked at, before the launch
    # Records that its source lost unread, and without which it went on: when, where, and why.
    gaps: tuple[tuple[datetime, str, str], ...] = ()


def registry(
    ledger: Ledger,
    *,
    implementation: str,
    now: datetime,
    deployments: Iterable[Deployment] = (),
    genuine: bool | None = None,
    window: timedelta = MONTH,
    unit_window: str | None = None,
) -> dict[str, Any]:
    """The record of one population, ready for JSON.

    ``implementation`` is the version of the program, ``window`` that of the burn rate,
    ``unit_window`` the length in time of a unit user-window.  ``genuine`` is that of the store.
    """
    known = {deployment.name: deployment for deployment in deployments}
    real = ledger.genuine if genuine is None else genuine
    standing = report(ledger, now=now, window=window)
    names = dict.fromkeys([*(entry.stream for entry in ledger.entries), *known])
    told = [
        _deployment(name, known.get(name), [e for e in ledger.entries if e.stream == name])
        for name in names
    ]
    return {
        "ameles": "registry",
        "version": VERSION,
        "exported": written(now),
        "implementation": {
            "name": "ameles",
            "version": implementation,
            "noise": "discrete, from the operating system's randomness" if real else "of a test",
        },
        "population": {
            "name": ledger.name,
            "privacy_unit": str(ledger.unit),
            "granularity": ledger.unit.kind,
            "window": unit_window,
            "adjacency": ledger.neighbours.value,
        },
        "privacy_loss": {
            "flavour": _FLAVOURS[currency(ledger.cap)],
            "cap": _loss(standing.cap),
            "cumulative": _loss(standing.spent),
            "left": _loss(standing.left),
            "renewed": _loss(standing.renewed),
        },
        "burn_rate": {
            "window_days": window / timedelta(days=1),
            "spent": _loss(standing.recent),
            "per_day": standing.per_day and _loss(standing.per_day),
            "used_up": standing.used_up and written(standing.used_up),
        },
        "accounting": {
            "composition": "sum of exact losses under a cap fixed in advance",
            "debit": "whole at the launch of a stream, each answer of a query; no refunds",
            "across": "all streams and tables about this population",
        },
        "budgets": [_budget(child, ledger) for child in ledger.children],
        "deployments": told,
        "entries": [_entry(entry, known.get(entry.stream)) for entry in ledger.entries],
        "renewals": [_renewal(renewal) for renewal in ledger.renewals],
        "flags": _flags(standing, ledger.unit, told, real),
    }


def _deployment(name: str, plan: Deployment | None, entries: list[Entry]) -> dict[str, Any]:
    horizons = {entry.guarantee.horizon for entry in entries}
    record: dict[str, Any] = {
        "name": name,
        "model": "central",
        "loss": _loss(reduce(added, (entry.paid for entry in entries))) if entries else None,
        "entries": [entry.number for entry in entries],
        "horizon": None if None in horizons else max((h for h in horizons if h), default=None),
        "intrusions": sorted({_promise(entry, plan).intrusions.value for entry in entries}),
        "post_processing": "releases are published as drawn, with the interval of their noise",
    }
    if plan is not None:
        record |= {
            "horizon": plan.horizon,
            "cadence": plan.cadence,
            "start": written(plan.start),
            "end": plan.end and written(plan.end),
            "launched": plan.launched and written(plan.launched),
            "late_data": plan.late,
            "gaps": [
                {"at": written(at), "place": where, "why": why} for at, where, why in plan.gaps
            ],
            "keys": plan.keys,
            "bounds": plan.bounds,
            "looked": plan.looked and written(plan.looked),
        }
    return record


def promised(entry: Entry, intrusions: Intrusions | None) -> Guarantee:
    """The guarantee of an entry in a stream whose plan says ``intrusions``; None: it has none."""
    return (
        entry.guarantee if intrusions is None else replace(entry.guarantee, intrusions=intrusions)
    )


def _promise(entry: Entry, plan: Deployment | None) -> Guarantee:
    """What holds for a stream: its mechanism may survive intrusions that the stream does not,
    because the stream keeps what the mechanism would forget."""
    return promised(entry, None if plan is None else plan.intrusions)


def _entry(entry: Entry, plan: Deployment | None) -> dict[str, Any]:
    return {
        "number": entry.number,
        "at": written(entry.at),
        "on": entry.on,
        "why": entry.why,
        "by": entry.by,
        "mechanism": _mechanism(entry.recipe),
        "asked": _loss(entry.asked),
        "paid": _loss(entry.paid),
        "guarantee": _promise(entry, plan).to_dict(),
    }


def _budget(child: Child, ledger: Ledger) -> dict[str, Any]:
    """A named budget below the cap: what it spends, its parents and the population spend, too."""
    above = child.parent
    return {
        "name": child.name,
        "parent": None if above is ledger or above is None else above.name,
        "cap": child.cap and _loss(child.cap),
        "cumulative": _loss(child.spent),
        "left": child.left and _loss(child.left),
        "renewals": [_renewal(renewal) for renewal in child.renewals],
    }


def _renewal(renewal: Renewal) -> dict[str, Any]:
    return {"at": written(renewal.at), "why": renewal.why, "added": _loss(renewal.added)}


def _mechanism(recipe: str) -> str | None:
    """The name of a recipe, where its text has one."""
    try:
        name = json.loads(recipe).get("recipe")
    except (ValueError, AttributeError, RecursionError):
        return None
    return name if isinstance(name, str) else None


def _loss(loss: Loss) -> dict[str, Any]:
    record: dict[str, Any] = {
        "exact": loss_to_dict(loss),
        "decimal": {name: _rounded_up(amount) for name, amount in vars(loss).items()},
    }
    if isinstance(loss, Concentrated) and any_of(loss):
        same = to_approx(loss, delta=DELTA)
        record["equivalent"] = {
            "epsilon": _rounded_up(same.epsilon),
            "delta": _rounded_up(same.delta),
        }
    return record


def _rounded_up(number: Fraction) -> float | None:
    """The float that, as it is written, does not understate a number; None if there is none."""
    try:
        near = float(number)
    except OverflowError:
        return None
    return near if Fraction(repr(near)) >= number else math.nextafter(near, math.inf)


def _flags(
    standing: BudgetReport, unit: Unit, deployments: list[dict[str, Any]], genuine: bool
) -> dict[str, str]:
    """Warnings for readers, each with its reason."""
    flags = {}
    if not genuine:
        flags["not genuine"] = "noise of a test was used, so the loss of its releases is infinite"
    if standing.retired:
        flags["retired"] = "the cap is used up: every further purchase is refused"
    if any_of(standing.renewed):
        flags["renewed"] = "the cap was raised after the opening; the cumulative loss has it all"
    if unit.window is not None:
        flags["per window"] = "the loss is for each window of a user, and adds up over windows"
    if any(each.get("bounds") == AFTER_LOOKING for each in deployments):
        flags["looked"] = (
            "exact numbers of the data were looked at before the launch: what was then chosen by "
            "them tells something that the loss does not count"
        )
    if any(each["entries"] and each["horizon"] is None for each in deployments):
        flags["endless"] = "a stream has no horizon: it may publish for ever at this loss"
    return flags
