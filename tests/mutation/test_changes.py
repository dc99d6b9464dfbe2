"""The changes are those that are meant, each is one, and they are known again later."""

from __future__ import annotations

import ast
import re
import textwrap
from functools import cache
from itertools import chain, groupby
from typing import NamedTuple

import pytest

from tests.mutation.changes import Change, changes
from tests.mutation.packages import PACKAGES, modules
from tests.mutation.reached import block_of, blocks, names, noting

TEXT = '''
"""A docstring with 7 in it."""

LIMIT: int = 3


class Purse:
    def take(self, amount: int, *, sure: bool = False) -> None:
        """Also 8."""
        if amount < 0 or self.left is None:
            raise ValueError(f"{amount < 0}")
        elif amount in (1, 2):
            self.note(amount)
        else:
            self.left -= amount
        zip([], [], strict=True)
'''


def made(text: str = TEXT) -> list[tuple[str, str, str]]:
    return [(change.kind, change.before, change.after) for change in changes("m", text)]


def test_what_is_changed_and_what_is_not() -> None:
    condition = "amount < 0 or self.left is None"
    assert made() == [
        ("constant", "3", "4"),
        ("constant", "False", "True"),
        ("check", condition, f"({condition}) and False"),
        ("check", condition, f"not ({condition})"),
        ("comparison", "<", "<="),
        ("constant", "0", "1"),
        ("comparison", "is", "is not"),
        ("comparison", "in", "not in"),
        ("constant", "1", "2"),
        ("constant", "2", "3"),
        ("call", "self.note(amount)", "pass"),
        ("call", "zip([], [], strict=True)", "pass"),
    ]


def test_functions_that_wait_are_functions() -> None:
    text = "async def f():\n    await g(1)\n    async with h():\n        return\n"
    assert made(text) == [("call", "await g(1)", "pass"), ("constant", "1", "2")]
    assert {change.place for change in changes("m", text)} == {"f"}
    assert [block.name for block in blocks("m", ast.parse(text))] == ["m:f#0", "m:f#1"]
    assert block_of("m", text, 4) == "m:f#1"


def test_a_call_of_several_lines_leaves_the_others_where_they_are() -> None:
    text = "f(\n    1,\n)\ng()\n"
    (call, *_) = changes("m", text)
    assert call.apply(text).splitlines()[3] == "g()"
    ast.parse(call.apply(text))


def keys(text: str) -> dict[str, Change]:
    return {change.key: change for change in changes("m", text)}


def test_a_change_is_known_again_when_its_file_grows() -> None:
    grown = TEXT.replace("LIMIT", "OTHER = 5\nLIMIT")
    assert keys(TEXT).keys() < keys(grown).keys()
    assert len(keys(TEXT)) == len(changes("m", TEXT)), "no two have the same key"


def test_its_function_is_known_to_have_changed() -> None:
    other = TEXT.replace("self.left -= amount", "self.left -= 2 * amount")
    before, after = keys(TEXT), keys(other)
    same = [before[key].code == after[key].code for key in before.keys() & after.keys()]
    assert not any(same)


@pytest.mark.parametrize("package", PACKAGES)
def test_every_change_of_a_package_is_a_program(package: str) -> None:
    """And none is the one that is there; one in eleven, since there are thousands."""
    every = list(
        chain.from_iterable(
            ((change, text) for change in changes(module, text))
            for module, file in modules(package).items()
            for text in [file.read_text(encoding="utf-8")]
        )
    )
    assert len({change.key for change, _ in every}) == len(every) > 50
    for (text, part), some in groupby(every[::11], key=lambda one: (one[1], part_of(*one))):
        before = ast.parse(part.code)
        for change, _ in some:
            changed = change.apply(text)
            assert changed != text
            assert changed.count("\n") == text.count("\n")
            # Only the part that was changed is parsed again; around it, all is as before.
            end = part.end + len(changed) - len(text)
            assert changed[: part.start] + changed[end:] == text[: part.start] + text[part.end :]
            after = ast.parse(changed[part.start : end])
            place = change.line - part.line + 1
            same = [ast.dump(statement_at(tree, place)) for tree in (before, after)]
            assert same[0] != same[1]


class Part(NamedTuple):
    """A statement of a module itself, with its decorators: where it is, and its text."""

    line: int
    start: int
    end: int
    code: str


def part_of(change: Change, text: str) -> Part:
    """The one that a change is in."""
    return next(part for part in parts(text) if part.start <= change.start < part.end)


@cache
def parts(text: str) -> list[Part]:
    starts = [0, *(newline.end() for newline in re.finditer("\n", text))]
    made = []
    for node in ast.parse(text).body:
        decorated = [each.lineno for each in getattr(node, "decorator_list", [])]
        line = min([node.lineno, *decorated])
        start, end = starts[line - 1], starts[node.end_lineno or 0]
        made.append(Part(line, start, end, text[start:end]))
    return made


def statement_at(tree: ast.AST, line: int) -> ast.AST:
    """The innermost statement at a line; changes leave all lines where they are."""
    for node in ast.iter_child_nodes(tree):
        first, last = getattr(node, "lineno", 0), getattr(node, "end_lineno", 0)
        if isinstance(node, ast.stmt | ast.excepthandler) and first <= line <= last:
            return statement_at(node, line)
    return tree


def test_the_innermost_statement_is_found() -> None:
    tree = ast.parse(TEXT)
    line = TEXT.splitlines().index("            self.note(amount)") + 1
    assert ast.unparse(statement_at(tree, line)) == "self.note(amount)"
    assert isinstance(statement_at(tree, line - 1), ast.If)


def test_blocks_are_those_of_functions() -> None:
    text = textwrap.dedent(TEXT)
    names = [block.name for block in blocks("m", ast.parse(text))]
    assert names == [f"m:Purse.take#{number}" for number in range(5)]
    line = text.splitlines().index("            self.note(amount)") + 1
    assert block_of("m", text, line) == "m:Purse.take#3"
    assert block_of("m", text, 1) == ""


def test_a_module_notes_what_is_entered() -> None:
    before = len(names)
    module = noting("m", TEXT)
    assert names[before:] == [block.name for block in blocks("m", ast.parse(TEXT))]
    assert "Also 8." in ast.unparse(module).replace("\n", " ")
    assert ast.unparse(module).count("__reached__[") == 5
    del names[before:]
