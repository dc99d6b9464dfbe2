"""Docstrings as Markdown: their named lines, their doctests, their prose."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterable, Iterator


def sections(docstring: str) -> dict[str, str]:
    """The named lines of a mechanism's docstring; a line that is indented goes on."""
    texts: dict[str, str] = {}
    name = ""
    for line in inspect.cleandoc(docstring).splitlines():
        start = re.match(r"([A-Z][a-z]+)\s{2,}(\S.*)", line)
        if start:
            name = start[1]
            texts[name] = start[2]
        elif name and line.startswith(" "):
            texts[name] += " " + line.strip()
        else:
            name = ""
    return texts


def examples(docstring: str) -> str:
    """The doctests of a docstring, as they stand there."""
    blocks = re.split(r"\n\s*\n", inspect.cleandoc(docstring))
    return "\n".join(block for block in blocks if block.lstrip().startswith(">>>"))


def markdown(docstring: str) -> Iterator[str]:
    """A docstring as Markdown: paragraphs, lists and doctests."""
    for block in re.split(r"\n\s*\n", inspect.cleandoc(docstring)):
        if block.lstrip().startswith(">>>"):
            yield code("pycon", block)
        elif block.startswith("    "):
            yield code("text", inspect.cleandoc(block))
        else:
            yield prose(block)


def prose(text: str) -> str:
    """Plain text as Markdown: code stays code, and no other character has a meaning."""
    parts = re.split(r"``(.+?)``", text, flags=re.DOTALL)
    parts[::2] = [re.sub(r"([*$<_\[\]])", r"\\\1", part) for part in parts[::2]]
    parts[1::2] = [f"`{part}`" for part in parts[1::2]]
    return "".join(parts)


def code(language: str, text: str) -> str:
    return f"```{language}\n{text}\n```"


def table(heads: Iterable[str], rows: Iterable[Iterable[str]]) -> str:
    lines = [tuple(heads)]
    lines.append(("---",) * len(lines[0]))
    lines.extend(tuple(cell.replace("|", "\\|") for cell in row) for row in rows)
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)
