"""Refuses what a launch would refuse, before a store is made and before anybody is asked."""

from __future__ import annotations

from contextlib import closing
from uuid import uuid4

from ameles.cli.plans import store_path
from ameles.core.exceptions import AmelesError, PlanError
from ameles.engine.running.launch import (
    check_new_payer,
    check_payer,
    check_price,
    check_unchanged,
)
from ameles.engine.running.launch_checks import check_launch
from ameles.engine.running.stream_sinks import StreamSinks
from ameles.engine.running.window_phase import check_window
from ameles.engine.sealed.restart import nothing_to_restart
from ameles.plan.plan import Plan
from ameles.plan.source import check_source
from ameles.store import exists, open_store


def refuse_launch(plan: Plan) -> bool:
    """Refuses a plan that could not be launched; returns whether its stream exists already.

    A store that cannot be opened is not refused here, but when it is needed.
    """
    try:
        if exists(store_path(plan)):
            return _in_store(plan)
        check_launch(plan)
        check_new_payer(plan)
    except PlanError:
        raise
    except AmelesError:
        check_launch(plan)
    return False


def _in_store(plan: Plan) -> bool:
    with (
        closing(open_store(store_path(plan), create=False)) as store,
        store.reading() as transaction,
    ):
        launched = transaction.stream(plan.stream.name) is not None
        if not launched:
            check_launch(plan)
            check_window(transaction, plan)
            check_payer(transaction, plan)
    return launched


def refuse_changed(plan: Plan) -> None:
    """Refuses a plan that is no longer the one with which its stream was launched."""
    try:
        if not exists(store_path(plan)):
            return
        with closing(open_store(store_path(plan), create=False, reading=True)) as store:
            with store.reading() as transaction:
                stream = transaction.stream(plan.stream.name)
            if stream is not None:
                check_unchanged(plan, stream)
    except PlanError:
        raise
    except AmelesError:
        return  # a store that cannot be opened is not refused here, but when it is needed


def refuse_new_store(plan: Plan, *, restart: bool) -> None:
    """Refuses what a launch into a new store would refuse, so no empty store is left behind."""
    if restart:
        raise nothing_to_restart(plan)
    check_price(plan)
    StreamSinks(plan, uuid4()).check_new()


def source_note(plan: Plan) -> str:
    """What a run would refuse about the source as it is now; empty if it refuses nothing."""
    try:
        check_source(plan)
    except AmelesError as refusal:
        return f"A run would refuse the source as it is now: {refusal.what}"
    return ""
