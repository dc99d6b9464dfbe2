"""The named budgets of a population as a tree, for people and for programs."""

from __future__ import annotations

from ameles.cli.plans import say, table
from ameles.core.loss import loss_to_dict
from ameles.ledger import Budget, Ledger
from ameles.ledger.spendable import Spendable


def show_budgets(ledger: Ledger) -> None:
    """Prints the tree: each budget under the one that it is a part of."""
    rows = [_row(ledger, 0), *_below(ledger, ledger, 1)]
    table(("budget", "spent", "left", "cap"), rows)
    for child in ledger.children:
        for one in child.renewals:
            say(f"{child.name} renewed on {one.at:%Y-%m-%d} by {one.added}: {one.why}")


def plain_budgets(ledger: Ledger) -> list[dict[str, object]]:
    """The budgets below the cap, ready for JSON, each after its parent."""
    return [
        {
            "name": child.name,
            "parent": None if child.parent is ledger or child.parent is None else child.parent.name,
            "cap": None if child.cap is None else loss_to_dict(child.cap),
            "spent": loss_to_dict(child.spent),
            "left": None if child.left is None else loss_to_dict(child.left),
            "renewals": [
                {"at": one.at.isoformat(), "why": one.why, "added": loss_to_dict(one.added)}
                for one in child.renewals
            ],
        }
        for child in ledger.children
    ]


def _below(ledger: Ledger, parent: Spendable, depth: int) -> list[tuple[str, ...]]:
    return [
        row
        for child in ledger.children
        if child.parent is parent
        for row in (_row(child, depth), *_below(ledger, child, depth + 1))
    ]


def _row(budget: Budget, depth: int) -> tuple[str, ...]:
    limit = ("", "none of its own") if budget.cap is None else (str(budget.left), str(budget.cap))
    return f"{'  ' * depth}{budget.name}", str(budget.spent), *limit
