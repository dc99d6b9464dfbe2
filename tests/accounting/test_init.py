from __future__ import annotations

from types import FunctionType

import ameles.accounting as accounting


def test_every_public_name_exists_and_is_sorted() -> None:
    assert accounting.__all__ == sorted(accounting.__all__)
    for name in accounting.__all__:
        thing = getattr(accounting, name)
        assert isinstance(thing, FunctionType | type)
        assert thing.__module__.startswith("ameles.accounting.")
        assert thing.__doc__
