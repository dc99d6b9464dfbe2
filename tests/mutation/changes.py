"""The changes that a tester of tests makes: one at a time, in the text of one module.

A check is a condition whose body refuses: it is left out, or turned around.  Comparisons become
their neighbours, calls that stand alone are left out, whole numbers grow by one, and True and False
change places.  Lines keep their numbers, so a traceback fits the file.

>>> found = changes("m", "if a < 1:\\n    raise ValueError\\n")
>>> [(change.kind, change.before, change.after) for change in found]
[('check', 'a < 1', '(a < 1) and False'), ('check', 'a < 1', 'not (a < 1)'),
 ('comparison', '<', '<='), ('constant', '1', '2')]
"""

from __future__ import annotations

import ast
import hashlib
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import lru_cache

KINDS = ("check", "comparison", "call", "constant")
_OPERATORS: dict[type[ast.cmpop], tuple[str, str]] = {
    ast.Lt: ("<", "<="),
    ast.LtE: ("<=", "<"),
    ast.Gt: (">", ">="),
    ast.GtE: (">=", ">"),
    ast.Eq: ("==", "!="),
    ast.NotEq: ("!=", "=="),
    ast.Is: ("is", "is not"),
    ast.IsNot: (r"is\s+not", "is"),
    ast.In: ("in", "not in"),
    ast.NotIn: (r"not\s+in", "in"),
}
# What only says how a class is made, how it is shown, or what a linter wants.
_FORMAL = {"strict", "slots", "frozen", "repr", "kw_only", "compare", "init", "eq", "order"}


@dataclass(frozen=True, slots=True)
class Change:
    """One change of a module; ``key`` is the same when lines above it come and go."""

    module: str
    place: str  # the function, with the classes around it; empty: the module itself
    kind: str
    line: int
    before: str
    after: str
    code: str = field(repr=False)  # the function as it is now, hashed
    key: str
    start: int = field(repr=False)
    end: int = field(repr=False)

    def apply(self, text: str) -> str:
        """The module with this change."""
        return text[: self.start] + self.after + text[self.end :]

    @property
    def shown(self) -> str:
        """The change in one line."""
        return f"{_flat(self.before)} → {_flat(self.after)}"


def changes(module: str, text: str) -> list[Change]:
    """All changes of a module, in the order of its lines."""
    finder = _Finder(module, text)
    finder.visit(ast.parse(text))
    return sorted(finder.changes, key=lambda change: (change.start, KINDS.index(change.kind)))


class _Finder(ast.NodeVisitor):
    def __init__(self, module: str, text: str) -> None:
        self.changes: list[Change] = []
        self._module = module
        self._text = text
        self._starts = [0, *(newline.end() for newline in re.finditer("\n", text))]
        self._lines = text.splitlines(keepends=True)
        self._places: list[str] = []
        self._codes = [_hashed(text)]
        self._statement: ast.stmt | None = None
        self._same: Counter[tuple[str, ...]] = Counter()

    def visit(self, node: ast.AST) -> None:
        if isinstance(node, ast.stmt):
            self._statement = node
        super().visit(node)

    def visit_FunctionDef(self, node: ast.FunctionDef | ast.AsyncFunctionDef) -> None:
        self._inside(node, [node.args.defaults, node.args.kw_defaults, node.body])

    def visit_AsyncFunctionDef(self, node: ast.AsyncFunctionDef) -> None:
        self.visit_FunctionDef(node)

    def visit_ClassDef(self, node: ast.ClassDef) -> None:
        self._inside(node, [node.body])

    def visit_AnnAssign(self, node: ast.AnnAssign) -> None:
        if node.value is not None:
            self.visit(node.value)

    def visit_JoinedStr(self, node: ast.JoinedStr) -> None:
        """Before Python 3.12 what is inside has no place in the text."""

    def visit_If(self, node: ast.If) -> None:
        if ast.unparse(node.test) in ("TYPE_CHECKING", "__name__ == '__main__'"):
            return
        if isinstance(node.body[-1], ast.Raise):
            condition = self._source(node.test)
            self._add("check", node.test, f"({condition}) and False")
            self._add("check", node.test, f"not ({condition})")
        self.generic_visit(node)

    def visit_Expr(self, node: ast.Expr) -> None:
        if isinstance(node.value, ast.Constant):
            return  # a docstring
        called = node.value.value if isinstance(node.value, ast.Await) else node.value
        if isinstance(called, ast.Call):
            lines = self._source(node).count("\n")
            self._add("call", node, "pass" + "\n" * lines if lines else "pass")
        self.generic_visit(node)

    def visit_Compare(self, node: ast.Compare) -> None:
        left = node.left
        for operator, right in zip(node.ops, node.comparators, strict=True):
            pattern, other = _OPERATORS[type(operator)]
            start, end = self._span(left)[1], self._span(right)[0]
            if sign := re.search(pattern, self._text[start:end]):
                self._put("comparison", start + sign.start(), start + sign.end(), other)
            left = right
        self.generic_visit(node)

    def visit_keyword(self, node: ast.keyword) -> None:
        if node.arg not in _FORMAL or not isinstance(node.value, ast.Constant):
            self.visit(node.value)

    def visit_Constant(self, node: ast.Constant) -> None:
        if isinstance(node.value, bool):
            self._add("constant", node, str(not node.value))
        elif isinstance(node.value, int):
            self._add("constant", node, str(node.value + 1))

    def _inside(
        self,
        node: ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef,
        parts: list[Sequence[ast.AST | None]],
    ) -> None:
        self._places.append(node.name)
        if not isinstance(node, ast.ClassDef):
            self._codes.append(_hashed(ast.dump(node)))
        for part in parts:
            for inner in part:
                if inner is not None:
                    self.visit(inner)
        if not isinstance(node, ast.ClassDef):
            self._codes.pop()
        self._places.pop()

    def _add(self, kind: str, node: ast.expr | ast.stmt, after: str) -> None:
        start, end = self._span(node)
        self._put(kind, start, end, after)

    def _put(self, kind: str, start: int, end: int, after: str) -> None:
        before, place = self._text[start:end], ".".join(self._places)
        same = (self._module, place, kind, _head(self._statement), _flat(before), after)
        self._same[same] += 1
        key = _hashed(*same, str(self._same[same]))
        line = self._text.count("\n", 0, start) + 1
        self.changes.append(
            Change(self._module, place, kind, line, before, after, self._codes[-1], key, start, end)
        )

    def _span(self, node: ast.expr | ast.stmt) -> tuple[int, int]:
        return self._offset(node.lineno, node.col_offset), self._offset(
            node.end_lineno or 0, node.end_col_offset or 0
        )

    def _offset(self, line: int, column: int) -> int:
        """Columns count bytes."""
        inside = self._lines[line - 1].encode()[:column].decode()
        return self._starts[line - 1] + len(inside)

    def _source(self, node: ast.expr | ast.stmt) -> str:
        start, end = self._span(node)
        return self._text[start:end]


@lru_cache(maxsize=1)  # the changes of a statement come in a row
def _head(statement: ast.stmt | None) -> str:
    """The first line of a statement, as Python writes it."""
    return _flat(ast.unparse(statement).partition("\n")[0]) if statement is not None else ""


def _flat(text: str) -> str:
    return " ".join(text.split())


def _hashed(*parts: str) -> str:
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()[:12]
