"""``ameles bounds``: bounds of a plan, chosen privately from public candidates."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from fractions import Fraction
from typing import Annotated

import typer

from ameles.cli.launch_refusals import refuse_launch
from ameles.cli.plans import DEFAULT, AsJson, PlanFile, say, store_path, table
from ameles.core.exceptions import AmelesError, BadInput
from ameles.core.parameters import exact, shown
from ameles.core.words import brief
from ameles.engine.private_bounds.account import plan_account
from ameles.engine.private_bounds.candidates import CandidateBound, narrower_keys
from ameles.engine.private_bounds.choose import BoundsQuestion, bounds_question
from ameles.plan.plan import Plan, read_plan
from ameles.query.account import Account
from ameles.query.answer import Answer


def bounds(
    file: PlanFile = DEFAULT,
    epsilon: Annotated[
        str | None, typer.Option(help="What all choices together cost.", metavar="NUMBER")
    ] = None,
    grid: Annotated[
        list[str] | None,
        typer.Option(
            help="The candidates of a bound: max_steps=1,2,5,10 or spending.upper=10,20,50. "
            "With one candidate the bound is not chosen.",
            metavar="BOUND=A,B",
        ),
    ] = None,
    version: Annotated[
        str | None,
        typer.Option(
            help="A public label of the data: the same choice about it is free the second time.",
            metavar="LABEL",
        ),
    ] = None,
    dry_run: Annotated[
        bool,
        typer.Option(
            "--dry-run", help="Show the candidates and what they cost; read and pay nothing."
        ),
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Choose the bounds of a plan privately, and pay for that.

    They are max_per_step and max_steps of users, and lower and upper of sums and means.  The
    plan's own bounds are the widest candidates.  The choice weighs what a bound leaves out against
    the noise that it needs; only the choice itself is published.
    """
    if epsilon is None:
        raise BadInput(
            "It needs --epsilon.",
            why="choosing by the data costs a part of the population's budget",
            tip="--epsilon 0.1, a tenth of what the plan itself spends",
        )
    checked = read_plan(file)
    launched = refuse_launch(checked)
    asked = bounds_question(checked, epsilon=epsilon, now=datetime.now(UTC), grids=_grids(grid))
    if dry_run:
        _show(asked, None, as_json=as_json)
        return
    with plan_account(checked, store_path(checked), asked.recipe) as account:
        answer = asked.ask(account, version)
        _show(asked, answer, as_json=as_json)
        _tell_budget(checked, account, answer, launched=launched)


def _grids(given: Sequence[str] | None) -> dict[str, list[Fraction]]:
    """The candidates that were given, by the name of their bound."""
    grids: dict[str, list[Fraction]] = {}
    for text in given or ():
        name, equals, listed = text.partition("=")
        if not equals or not name or name in grids:
            raise BadInput(
                f"--grid names '{name[:64]}' twice."
                if name in grids
                else f"--grid {text[:80]!r} has no candidates.",
                tip="--grid max_steps=1,2,5,10",
            )
        grids[name] = [exact(one, f"--grid {name[:64]}") for one in listed.split(",")]
    return grids


def _show(asked: BoundsQuestion, answer: Answer | None, *, as_json: bool) -> None:
    chosen = {} if answer is None else {row.key[0]: Fraction(str(row.value)) for row in answer.rows}
    if as_json:
        typer.echo(json.dumps(_plain(asked, answer, chosen), indent=2))
        return
    heads = [
        "bound",
        "candidates",
        "costs",
        "95%: worse by at most",
        *(["chosen"] if chosen else []),
    ]
    rows = [
        [
            bound.label,
            ", ".join(shown(one) for one in bound.candidates),
            f"epsilon {shown(asked.share)}",
            f"{brief(float(asked.worse(bound)))}{_of(bound)}",
            *([shown(chosen[bound.label])] if chosen else []),
        ]
        for bound in asked.bounds
    ]
    table(heads, rows, left=2)
    for bound in asked.idle:
        say(f"{bound.label} stays as it is: no noise depends on it.", err=True)
    if chosen:
        say("", "In the plan:", "", *_lines(asked, chosen))
    else:
        loss = asked.recipe.guarantee.loss
        say("", f"All together cost {loss}: all of them are paid, or none.", err=True)


def _of(bound: CandidateBound) -> str:
    """What the scores of a bound count."""
    if bound.release is not None:
        return ""
    return " steps" if bound.name == "max_steps" else " events"


def _lines(asked: BoundsQuestion, chosen: Mapping[str, Fraction]) -> Iterator[str]:
    """The lines for the plan, each below the table that it belongs to."""
    told = {bound.label: chosen[bound.label] for bound in asked.bounds}
    told |= narrower_keys(asked.plan, chosen)
    places = {one.name: place for place, one in enumerate(asked.plan.releases)}
    before: str | None = "none yet"
    for label in sorted(told, key=lambda label: places.get(label.rpartition(".")[0], -1)):
        release, _, name = label.rpartition(".")
        if release != before:
            before = release
            yield from ["[[release]]", f'name = "{before}"'] if before else ["[privacy]"]
        yield f"{name} = {_written(told[label])}"


def _written(value: Fraction) -> str:
    """A number as a plan has it: what is no short decimal is a fraction in quotes."""
    text = shown(value)
    return text if Fraction(text) == value and "/" not in text else f'"{value}"'


def _plain(
    asked: BoundsQuestion, answer: Answer | None, chosen: Mapping[str, Fraction]
) -> dict[str, object]:
    document: dict[str, object] = {
        "stream": asked.plan.stream.name,
        "population": asked.plan.privacy.population,
        "epsilon": str(asked.epsilon),
        "bounds": [
            {
                "bound": bound.label,
                "candidates": [str(one) for one in bound.candidates],
                "epsilon": str(asked.share),
                "worse": float(asked.worse(bound)),
                **({"chosen": str(chosen[bound.label])} if chosen else {}),
            }
            for bound in asked.bounds
        ],
    }
    if answer is not None:
        document |= {"entry": answer.entry, "paid": answer.paid, "repeated": answer.repeated}
        document["plan"] = "\n".join(_lines(asked, chosen))
    return document


def _tell_budget(plan: Plan, account: Account, answer: Answer, *, launched: bool) -> None:
    """What was paid, what is left, and whether that suffices for the plan."""
    cost = "stored before, at no cost" if answer.repeated else f"paid {answer.paid}"
    left = account.left
    rest = "" if left is None else f"; {left} left"
    say(f"Population '{account.population}': {cost}, entry {answer.entry}{rest}.", err=True)
    if launched:
        return
    try:
        account.check_fits(list(plan.purchases.values()), on=plan.stream.name)
    except AmelesError:
        say(
            f"That does not suffice for the plan itself, which spends {plan.loss} when it is "
            "launched: give it a smaller epsilon.",
            err=True,
        )
