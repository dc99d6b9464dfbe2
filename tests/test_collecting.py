"""Doctests are found wherever there are some, and a file without any is not imported for them."""

from __future__ import annotations

import gc

import pytest

pytest_plugins = ["pytester"]

RIGHT = '"""\n>>> 1 + 1\n2\n"""'
WRONG = 'def f():\n    """\n    >>> 1 + 1\n    3\n    """'


def test_only_files_with_doctests_are_looked_through(pytester: pytest.Pytester) -> None:
    pytester.makeconftest("from tests.collecting import pytest_collect_file")
    pytester.makepyfile(
        has_one=RIGHT,
        has_a_wrong_one=WRONG,
        has_none="raise ImportError",
        test_has_none="def test_it(): pass",
    )
    result = pytester.runpytest_inprocess("-p", "no:cacheprovider", "--doctest-modules")
    result.assert_outcomes(passed=2, failed=1)


def test_garbage_is_collected_while_tests_run() -> None:
    assert gc.isenabled()
