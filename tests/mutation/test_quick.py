"""In the quick way the functions that a change is in get their new code, and nothing else does."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path

from ameles.accounting import arguments
from ameles.core.exceptions import BadInput
from tests.mutation.changes import Change, changes
from tests.mutation.measured import UNKNOWN, by_name, seconds_of
from tests.mutation.packages import imports, mentions, modules, words_of
from tests.mutation.quick import changed_codes, placed, swap

MODULE = "ameles.accounting.arguments"
TEXT = """
LIMIT = 3

class Purse:
    most = 4

    @property
    def left(self):
        def inner():
            return 5
        return inner()

    def take(self, amount=6):
        return 7
"""


def changed(number: int) -> set[tuple[str, int]]:
    return set(changed_codes(TEXT, TEXT.replace(str(number), str(number + 10)), "m.py"))


def test_functions_get_their_code() -> None:
    assert changed(5) == {("Purse.left", 7)}
    assert changed(7) == {("Purse.take", 13)}


def test_what_a_module_runs_when_it_is_loaded_needs_more() -> None:
    assert not changed(3)
    assert not changed(4)
    assert not changed(6)


def first_check() -> Change:
    text = modules("accounting")[MODULE].read_text(encoding="utf-8")
    return next(
        change
        for change in changes(MODULE, text)
        if change.place == "probability" and change.kind == "check" and "False" in change.after
    )


def test_a_swap_is_real() -> None:
    """In a fork, as always: here the function stays as it is."""
    child = os.fork()
    if not child:
        code = 1
        try:
            if swap(first_check()):
                arguments.probability(-1, "delta")
                code = 0
        finally:
            os._exit(code)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert swap(first_check(), sure=False)
    try:
        arguments.probability(-1, "delta")
    except BadInput:
        return
    raise AssertionError("it was swapped here, too")


def test_what_is_the_same_is_not_swapped() -> None:
    same = replace(first_check(), after=first_check().before)
    assert not swap(same)


def test_tests_on_postgres_are_for_its_modules() -> None:
    order = {"tests/store/test_store.py": 4}
    test = "tests/store/test_store.py::test_a[postgres]"
    assert placed(test, order, "ameles.store.postgres") == 4
    assert placed(test, order, "ameles.store.sqlite") is None
    assert placed(test.replace("postgres", "sqlite"), order, "ameles.store.sqlite") == 4
    assert placed("tests/engine/test_engine.py::test_a", order, "ameles.store.sqlite") is None
    one = {"tests/noise/test_law.py::test_a": 0, "tests/noise/test_law.py::test_b[2]": 1}
    places = [
        placed(f"tests/noise/test_law.py::test_{name}", one, "m") for name in ("a[1]", "b[2]")
    ]
    assert places == [0, 1]
    assert placed("tests/noise/test_law.py::test_b[3]", one, "m") is None


def test_tests_that_import_a_module_are_chosen_for_it() -> None:
    here = "tests/mutation/test_quick.py"
    assert imports(here, MODULE)
    assert imports(here, "ameles.core.exceptions")
    assert not imports(here, "ameles.accounting.search")
    known, other = f"{here}::test_a_swap_is_real", "tests/mutation/test_changes.py"
    reach = by_name([here], {MODULE}, [other], {known: 2.5})
    assert {known, f"{other}::{first_of(other)}"} < reach.by_module[MODULE]
    assert here not in reach.by_module[MODULE], "its tests are named one by one, also new ones"
    assert f"{here}::test_functions_get_their_code" in reach.by_module[MODULE]
    assert reach.seconds[known] == 2.5
    unknown = by_name([here], {MODULE}, [other], {})
    assert unknown.by_module[MODULE] == {here, other}
    assert unknown.seconds == {here: UNKNOWN, other: UNKNOWN}


def first_of(file: str) -> str:
    return next(name for name in words_of(file) if name.startswith("test"))


def test_tests_that_name_a_function_go_first() -> None:
    here = "tests/mutation/test_quick.py"
    assert mentions(f"{here}::test_a_swap_is_real", "probability")
    assert mentions(f"{here}::test_a_swap_is_real[a-b]", "Some.__init__.swap")
    assert not mentions(f"{here}::test_a_swap_is_real", "Some.__init__")
    assert mentions(f"{here}::test_a_swap_is_real[Some]", "Some.__init__")


def test_seconds_are_taken_from_a_report(tmp_path: Path) -> None:
    case = '<testcase classname="tests.mutation.test_quick{}" name="test_a" time="{}" />'
    report = tmp_path / "report.xml"
    report.write_text(case.format("", "0.5") + case.format(".TestClass", "1.25"), encoding="utf-8")
    here = "tests/mutation/test_quick.py"
    assert seconds_of(report) == {f"{here}::test_a": 0.5, f"{here}::TestClass::test_a": 1.25}
