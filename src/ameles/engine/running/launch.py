"""Launching a stream: one transaction pays for the whole plan and stores the first state."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any
from uuid import UUID

from ameles.core.exceptions import NotLaunched, PlanError, StoreRefused
from ameles.core.guarantee import Neighbours
from ameles.core.loss import Approx, Loss, Pure
from ameles.core.noise import Noise
from ameles.core.wiping import wipe_bytes
from ameles.engine.releasing.noise_tally import CountsNoises, NoiseTally
from ameles.engine.releasing.release_run import state_of
from ameles.engine.running.window_phase import check_window
from ameles.ledger import Budget, Ledger
from ameles.measures.measure import Measure
from ameles.mechanisms.mechanism import AnyMechanism
from ameles.mechanisms.pan_private.erase import erase
from ameles.plan.difference import difference
from ameles.plan.forecast import payer_words
from ameles.plan.plan import Plan
from ameles.store import Store, StreamRecord, Transaction


def check_unchanged(plan: Plan, stream: StreamRecord) -> None:
    """Refuses a plan that differs from the one with which the stream was launched."""
    changed = difference(stream.plan, plan.to_json())
    if changed:
        shown = "\n       ".join(changed)
        raise PlanError(
            f"The plan of stream '{stream.name}' has changed since it was launched:\n"
            f"       {shown}",
            why="its noise was calibrated and paid for as it was",
            tip="the plan as it was, or another name for a new stream with a budget of its own",
        )


def not_launched(plan: Plan) -> NotLaunched:
    """The refusal to launch a stream without a yes."""
    command = "ameles serve PLAN" if plan.stream.source_kind.needs_service else "ameles run"
    return NotLaunched(
        f"Stream '{plan.stream.name}' waits for its launch, which spends {plan.loss} of "
        f"{payer_words(plan)}.",
        why="that is forever and needs a yes, and there is no terminal to ask at; nothing was "
        "spent",
        tip=f"{command} --yes, which launches it; or put its store back, if it was launched before",
    )


def check_not_retired(transaction: Transaction, stream: StreamRecord) -> None:
    """Refuses a stream that was retired."""
    retired = transaction.retirement(stream)
    if retired is not None:
        raise StoreRefused(
            f"Stream '{stream.name}' was retired on {retired.at:%Y-%m-%d}: {retired.why}",
            why="its state is erased, so it never goes on; what it published stays",
            tip="another name for a new stream, with a budget of its own",
        )


def under_its_rules(plan: Plan, store: Store) -> Plan:
    """The plan with the reading rules of its stream, if it was launched before."""
    with store.reading() as transaction:
        stream = transaction.stream(plan.stream.name)
    return plan if stream is None else replace(plan, rules=stream.rules)


def launch(
    transaction: Transaction,
    plan: Plan,
    identity: UUID,
    noise: Noise | None,
    seal: Callable[[Mapping[str, bytes]], None] | None = None,
) -> StreamRecord:
    """Pays for the plan and creates its stream, both or neither.

    ``seal`` takes the first snapshots if they do not belong into the store.
    """
    name, population = plan.stream.name, plan.privacy.population
    if transaction.stream(name) is not None:
        raise StoreRefused(f"Stream '{name}' was launched by another process just now.")
    phase = check_window(transaction, plan)
    if transaction.population(population) is None:
        open_population(transaction, plan)
    if phase is not None:
        transaction.set_phase(population, phase)
    ledger = transaction.ledger(population, noise=noise, unit=plan.unit)
    if ledger is None:
        raise StoreRefused(f"Population '{population}' cannot be found after it was opened.")
    payer = payer_of(plan, ledger)
    runs = payer.launch(plan.purchases, on=name, why=f"plan of stream '{name}'")
    entries = {entry.run: entry.number for entry in ledger.entries}
    stream = transaction.add_stream(
        name,
        population=population,
        plan=plan.to_json(),
        identity=identity,
        salt=os.urandom(32),
        launched=datetime.now(UTC),
        rules=plan.rules,
    )
    snapshots = {key: runs[key].snapshot() for key in plan.recipes}
    if seal is not None:
        seal(snapshots)
        wipe_bytes(*snapshots.values())
        snapshots = dict.fromkeys(snapshots, b"")
        for run in runs.values():  # the state is in the vault, and is resumed from there
            erase(run)
    for release in plan.releases:
        recipe, run = plan.recipes[release.name], runs[release.name]
        entry = entries[run.id]
        counted = seal is not None and isinstance(run, CountsNoises)
        history = _nothing_yet(plan, release) if counted else b""
        transaction.add_series(stream, release.name, release.keys, type(recipe).__name__, entry)
        transaction.set_state(
            stream, release.name, state_of(recipe, snapshots[release.name], entry, history)
        )
    return stream


def _nothing_yet(plan: Plan, release: Measure) -> bytes:
    """The tally and the outputs before the first step, for a run that counts its noises."""
    steps = max(plan.terms(release).window or 0, 1)
    return NoiseTally.blank(steps).to_bytes() + bytes(8 * steps * release.question.width)


def check_price(plan: Plan, before: Mapping[str, AnyMechanism] | None = None) -> None:
    """Refuses a plan that would open its population with a cap below its own loss.

    ``before`` is what else is bought, before the launch.
    """
    ledger = Ledger(plan.privacy.population, **_opening(plan))
    payer_of(plan, ledger).check_fits({**plan.purchases, **(before or {})})


def payer_of(plan: Plan, ledger: Ledger | None) -> Budget:
    """The budget that pays for a plan; None: its population was not opened yet."""
    population, name = plan.privacy.population, plan.privacy.budget
    if ledger is not None and name is None:
        return ledger
    known = () if ledger is None else ledger.children
    for child in known:
        if child.name == name:
            return child
    names = ", ".join(f"'{child.name}'" for child in known)
    raise PlanError(
        f"Population '{population}' has no budget '{name}'.",
        why=f"its budgets are {names}" if names else "no budget below its cap was opened",
        tip=f"ameles budget open {name} --epsilon NUMBER",
    )


def check_new_payer(plan: Plan) -> None:
    """Refuses a plan that names a budget where there is no store yet."""
    if plan.privacy.budget is not None:
        payer_of(plan, None)


def check_payer(transaction: Transaction, plan: Plan) -> None:
    """Refuses a plan whose budget was not opened."""
    if plan.privacy.budget is not None:
        payer_of(plan, transaction.ledger(plan.privacy.population))


def check_paid(transaction: Transaction, plan: Plan) -> None:
    """Refuses a plan that its payer cannot pay in full."""
    ledger = transaction.ledger(plan.privacy.population, unit=plan.unit)
    if ledger is None:
        check_price(plan)
    else:
        payer_of(plan, ledger).check_fits(plan.purchases)


def open_population(transaction: Transaction, plan: Plan) -> None:
    """Opens the population on the terms of its first plan."""
    privacy = plan.privacy
    window = None if privacy.window is None else str(privacy.window)
    transaction.open_population(privacy.population, **_opening(plan), window=window)


def _opening(plan: Plan) -> dict[str, Any]:
    """The cap with which a plan opens its population: the declared one, or its own loss."""
    privacy = plan.privacy
    cap: Loss = plan.loss
    if privacy.cap is not None:
        cap = Approx(privacy.cap, privacy.delta) if privacy.delta else Pure(privacy.cap)
    users = privacy.unit != "event"
    neighbours = Neighbours.USER_PRESENCE if users else Neighbours.ADD_REMOVE
    return {"cap": cap, "unit": plan.unit, "neighbours": neighbours}
