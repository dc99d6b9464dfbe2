"""Which parts of a module a test reaches: every block of a function notes that it was entered.

A block is a list of statements that run one after the other: the body of a function, of an ``if``,
of a loop.  It is known by its function and its number there, so lines may come and go above it.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass

MOST = 1 << 17
hits = bytearray(MOST)  # by number of a block: whether it was entered since it was last set back
names: list[str] = []  # of the blocks of all modules that were loaded
# numba compiles what is here, and would not compile the notes.
COMPILED = (
    "ameles.noise.kernels",
    "ameles.mechanisms.counters.hats.kernel",
    "ameles.mechanisms.counters.siblings_kernel",
)


@dataclass(frozen=True, slots=True)
class Block:
    """A list of statements of a function; lines count from 1."""

    name: str
    first: int
    last: int
    statements: list[ast.stmt]
    whole: bool  # the body of the function


def blocks(module: str, tree: ast.Module) -> Iterator[Block]:
    """All blocks of all functions of a module."""
    counts: dict[str, int] = {}
    yield from _inside(module, tree, "", counts, within=False)


def _inside(
    module: str, node: ast.AST, place: str, counts: dict[str, int], *, within: bool
) -> Iterator[Block]:
    whole = isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
    for name in ("body", "orelse", "finalbody") if within or whole else ():
        statements = getattr(node, name, None)
        if isinstance(statements, list) and statements and isinstance(statements[0], ast.stmt):
            number = counts[place] = counts.get(place, -1) + 1
            first, last = statements[0].lineno, statements[-1].end_lineno or 0
            if whole:
                first = getattr(node, "lineno", first)
            yield Block(f"{module}:{place}#{number}", first, last, statements, whole)
    for child in ast.iter_child_nodes(node):
        inside = place
        if isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            inside = f"{place}.{child.name}".lstrip(".")
        deeper = within or whole
        yield from _inside(module, child, inside, counts, within=deeper)


def block_of(module: str, text: str, line: int) -> str:
    """The block that a line is in; empty where the module itself runs it."""
    around = [
        block for block in blocks(module, ast.parse(text)) if block.first <= line <= block.last
    ]
    return min(around, key=lambda block: block.last - block.first).name if around else ""


def noting(module: str, text: str) -> ast.Module:
    """The module, which notes the blocks that are entered."""
    tree = ast.parse(text)
    if module in COMPILED:
        return tree
    for block in list(blocks(module, tree)):
        note = ast.parse(f"__reached__[{len(names)}] = 1").body[0]
        for part in ast.walk(note):
            if isinstance(part, ast.expr | ast.stmt):
                part.lineno = part.end_lineno = block.statements[0].lineno
        names.append(block.name)
        block.statements.insert(_after_docstring(block), note)
    place = _after_future(tree)
    loading = ast.parse("from tests.mutation.reached import hits as __reached__").body
    tree.body[place:place] = loading
    return ast.fix_missing_locations(tree)


def reached() -> list[str]:
    """What was entered since the last time."""
    entered, place = [], hits.find(1)
    while place >= 0:
        entered.append(names[place])
        place = hits.find(1, place + 1)
    hits[:] = bytes(MOST)
    return entered


def _after_docstring(block: Block) -> int:
    first = block.statements[0]
    said = isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant)
    return 1 if block.whole and said and len(block.statements) > 1 else 0


def _after_future(tree: ast.Module) -> int:
    places = [
        place
        for place, statement in enumerate(tree.body)
        if isinstance(statement, ast.ImportFrom) and statement.module == "__future__"
    ]
    return places[-1] + 1 if places else 0
