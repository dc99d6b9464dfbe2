"""The kinds of the columns that a SELECT reads: declared, or clear from what is asked.

Nothing is looked up in the data.  A column with bounds is a number, and one with keys is text.  For
other columns a condition may allow only one kind, as for ``fever`` in ``WHERE fever``.

>>> from ameles.query.sql import parse
>>> parsed = parse("SELECT region, AVG(age) FROM t WHERE fever GROUP BY region")
>>> kinds_for(parsed, declared={}, bounded=["age"], keyed=["region"], user="id")
{'age': 'number', 'region': 'text', 'id': 'text', 'fever': 'boolean'}
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from itertools import product

from ameles.connectors.typed_columns import KINDS, check_kinds
from ameles.core.exceptions import BadInput, PlanError
from ameles.plan.condition import check_condition
from ameles.query.sql import Parsed

# More columns than these are not tried together.
_MOST_OPEN = 2


def kinds_for(
    parsed: Parsed,
    *,
    declared: Mapping[str, str],
    bounded: Iterable[str],
    keyed: Iterable[str],
    user: str | None,
) -> dict[str, str]:
    """The kind of every column; a column whose kind does not follow from anything is refused."""
    check_kinds(declared)
    known = {
        **dict.fromkeys([*parsed.numbers, *bounded], "number"),
        **dict.fromkeys(keyed, "text"),
        **({} if user is None else {user: "text"}),
        **declared,
    }
    wanted = {*parsed.columns, *([] if user is None else [user])}
    known = {name: kind for name, kind in known.items() if name in wanted}
    missing = [name for name in parsed.columns if name not in known]
    if missing and parsed.where is not None and len(missing) <= _MOST_OPEN:
        fitting = [
            dict(zip(missing, kinds, strict=True))
            for kinds in product(KINDS, repeat=len(missing))
            if _reads(parsed.where, {**known, **dict(zip(missing, kinds, strict=True))})
        ]
        if len(fitting) == 1:
            return {**known, **fitting[0]}
    if missing:
        raise BadInput(
            f"The kind of the column '{missing[0]}' must be declared.",
            why="types are never guessed from the data",
            tip=f"--columns {missing[0]}=integer, or one of {', '.join(KINDS)}",
        )
    return known


def _reads(where: str, kinds: Mapping[str, str]) -> bool:
    try:
        check_condition(where, kinds)
    except PlanError:
        return False
    return True
