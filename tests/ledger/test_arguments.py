"""What a ledger is given must be what it takes, and is checked before anything is bought."""

from __future__ import annotations

from typing import Any

import pytest

from ameles.core.exceptions import BadInput
from ameles.core.loss import Pure
from ameles.ledger.arguments import check_recipe
from tests.ledger.populations import Promise, promise

PARTS = ("to_json", "start", "resume")


def with_parts(*parts: str) -> Any:
    """Something with a guarantee, and with these methods of a recipe."""
    made = type("Made", (), {name: vars(Promise)[name] for name in parts})()
    made.guarantee = promise(Pure(1))
    return made


def test_what_has_all_parts_of_a_recipe_can_be_bought() -> None:
    check_recipe(with_parts(*PARTS))


@pytest.mark.parametrize("missing", PARTS)
def test_what_lacks_a_part_cannot(missing: str) -> None:
    with pytest.raises(BadInput, match="Got a Made instead"):
        check_recipe(with_parts(*(part for part in PARTS if part != missing)))
