"""Whether a text is JSON, however deep it is nested and however large its numbers are.

Parsers refuse some valid JSON: orjson what is nested in more than 1024 levels, and numbers that are
too large for it; the one of Python what is deeper than its stack.  This check (RFC 8259) keeps its
own stack, and reads no value.

>>> is_json(b"[" * 5000 + b"]" * 5000), is_json(b'{"a": 1e999}'), is_json(b"[1}")
(True, True, False)
"""

from __future__ import annotations

import re

_SPACE = rb"[ \t\r\n]*+"
_TEXT = rb'"(?:[^"\\\x00-\x1f]++|\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4}))*+"'
_NUMBER = rb"-?(?:0|[1-9][0-9]*+)(?:\.[0-9]++)?+(?:[eE][+-]?[0-9]++)?+"
_KEY = _TEXT + _SPACE + rb":"
_WHOLE = rb"|".join((_TEXT, _NUMBER, rb"true|false|null", rb"\[%b\]|\{%b\}" % (_SPACE, _SPACE)))
# A value without others in it, or the beginning of one with others.
_VALUE = re.compile(rb"%b(?:%b|(\[)|(\{)%b%b)" % (_SPACE, _WHOLE, _SPACE, _KEY))
# After a value: the end of a list or of an object; the next value in a list or in an object.
_REST = re.compile(rb"%b(?:(\])|(\})|,%b(?:(%b)|()))" % (_SPACE, _SPACE, _KEY))
_END = re.compile(_SPACE + rb"\Z")


def is_json(text: bytes) -> bool:
    """Whether a text, which is UTF-8, is one value of JSON."""
    in_lists = []  # of each list or object that is open: whether it is a list
    place = 0
    while found := _VALUE.match(text, place):
        place = found.end()
        if found.lastindex is not None:
            in_lists.append(found.lastindex == 1)
            continue
        while in_lists and (found := _REST.match(text, place)):
            place = found.end()
            if in_lists[-1] != (found.lastindex in (1, 4)):
                return False
            if found.lastindex in (3, 4):
                break
            in_lists.pop()
        else:
            return not in_lists and _END.match(text, place) is not None
    return False
