"""The last lines of every help text: two commands that can be pasted and run."""

from __future__ import annotations


def examples(first: str, second: str) -> str:
    """The closing paragraph of a help text.

    >>> examples("ameles --version", "ameles doctor").splitlines()[1:]
    ['Examples:', '  ameles --version', '  ameles doctor']
    """
    keep_lines = "\b"  # tells the formatter not to fill the paragraph
    return f"{keep_lines}\nExamples:\n  {first}\n  {second}"
