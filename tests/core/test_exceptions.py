"""Refusals: one tree, each with what, why and what to try."""

from __future__ import annotations

import copy
import re
from typing import Any

import pytest

from ameles.core import exceptions
from ameles.core.exceptions import (
    AmelesError,
    BadInput,
    BudgetExceeded,
    HorizonReached,
    MissingExtra,
    NoCopy,
    NotLaunched,
    PlanError,
    RunSpent,
    SourceUnreadable,
    StoreRefused,
)
from ameles.core.loss import Pure

from .transport import sent

Tree = dict[str, tuple[str | None, int]]  # name: (name of the parent, exit code)


def real_tree(root: type[AmelesError] = AmelesError) -> Tree:
    """What Python knows: every class of the module below the root."""
    tree: Tree = {root.__name__: (None, root.exit_code)}
    for child in root.__subclasses__():
        if child.__module__ == exceptions.__name__:
            tree |= real_tree(child)
            tree[child.__name__] = (root.__name__, child.exit_code)
    return tree


def drawn_tree(drawing: str) -> Tree:
    """What the docstring draws: depth from the position of the name, exit code at the end."""
    tree: Tree = {}
    path: list[tuple[int, str]] = []
    for line in drawing.splitlines():
        # Branches are drawn with box characters; prose and examples have none of these names.
        match = re.match(r"^(    [│├└─ ]*)([A-Z]\w+)(?:  .*?)?(?:exit (\d))?$", line)
        if not match:
            continue
        depth, name = len(match[1]), match[2]
        while path and path[-1][0] >= depth:
            path.pop()
        parent = path[-1][1] if path else None
        inherited = tree[parent][1] if parent else 1
        tree[name] = (parent, int(match[3]) if match[3] else inherited)
        path.append((depth, name))
    return tree


def an(kind: type[AmelesError]) -> AmelesError:
    """One error of a kind, with all it can carry."""
    extra: dict[str, Any] = {}
    if issubclass(kind, BudgetExceeded):
        extra = {"spent": Pure("0.8"), "asked": Pure("0.5"), "left": Pure("0.2")}
        extra["blocked_by"] = "visitors"
    make: Any = kind
    error: AmelesError = make("It was refused.", why="a reason", tip="another way", **extra)
    return error


KINDS: list[type[AmelesError]] = [
    AmelesError,
    BadInput,
    HorizonReached,
    PlanError,
    BudgetExceeded,
    SourceUnreadable,
    StoreRefused,
    RunSpent,
    NoCopy,
    NotLaunched,
    MissingExtra,
]
every_kind = pytest.mark.parametrize("kind", KINDS)


def test_these_are_all_the_kinds_there_are() -> None:
    assert {kind.__name__ for kind in KINDS} == set(real_tree())


def test_the_drawn_tree_is_the_real_tree() -> None:
    assert exceptions.__doc__
    assert drawn_tree(exceptions.__doc__) == real_tree()


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("    │   └── HorizonReached", "    ├── HorizonReached"),  # another parent
        ("exit 3", "exit 4"),  # another code
        ("    ├── PlanError", "    ├── PlanFailure"),  # another name
    ],
)
def test_a_wrong_drawing_is_seen(old: str, new: str) -> None:
    assert exceptions.__doc__
    assert old in exceptions.__doc__
    assert drawn_tree(exceptions.__doc__.replace(old, new)) != real_tree()


@every_kind
def test_an_error_says_what_why_and_what_to_try(kind: type[AmelesError]) -> None:
    assert str(an(kind)).splitlines() == [
        f"error[{kind.code}]: It was refused.",
        "  why: a reason",
        "  try: another way",
    ]


def test_what_is_not_known_leaves_no_empty_line() -> None:
    assert str(AmelesError("It was refused.")) == "error[error]: It was refused."
    assert str(PlanError("No.", tip="yes")) == "error[plan]: No.\n  try: yes"


def test_each_kind_has_a_code_of_its_own() -> None:
    assert len({kind.code for kind in KINDS}) == len(KINDS)


def test_exit_codes_tell_a_script_what_to_do() -> None:
    codes = {kind.__name__: kind.exit_code for kind in KINDS}
    assert codes == {
        "AmelesError": 1,
        "BadInput": 2,
        "HorizonReached": 2,
        "PlanError": 2,
        "BudgetExceeded": 3,
        "SourceUnreadable": 1,
        "StoreRefused": 4,
        "RunSpent": 4,
        "NoCopy": 2,
        "NotLaunched": 2,
        "MissingExtra": 1,
    }


def test_kinds_are_also_what_python_programs_expect() -> None:
    assert issubclass(BadInput, ValueError)
    assert issubclass(MissingExtra, ImportError)
    assert issubclass(NoCopy, TypeError)  # what pickle and copy say of what they cannot do


def test_a_budget_error_carries_exact_losses() -> None:
    error = an(BudgetExceeded)
    assert isinstance(error, BudgetExceeded)
    assert (error.spent, error.asked, error.left) == (Pure("0.8"), Pure("0.5"), Pure("0.2"))
    assert error.blocked_by == "visitors"


@every_kind
@pytest.mark.parametrize("again", [sent, copy.copy, copy.deepcopy])
def test_an_error_crosses_processes_whole(kind: type[AmelesError], again: Any) -> None:
    error = an(kind)
    error.add_note("seen on the way")
    arrived = again(error)
    assert type(arrived) is kind
    assert str(arrived) == str(error)
    assert arrived.args == error.args
    assert vars(arrived) == vars(error)


def test_named_arguments_without_a_reduce_would_not_arrive() -> None:
    # The planted alternative: what Python does by default for such a class.
    class Named(Exception):
        def __init__(self, what: str, *, left: int) -> None:
            super().__init__(what)
            self.left = left

    with pytest.raises(TypeError, match="left"):
        copy.copy(Named("no", left=1))


def test_a_subclass_of_a_budget_error_stays_one() -> None:
    assert type(sent(Narrower("No.", spent=ONE, asked=ONE, left=ONE, blocked_by="cap"))) is Narrower


ONE = Pure(1)


class Narrower(BudgetExceeded):
    """A cap within a cap, in some other program."""
