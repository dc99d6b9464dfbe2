"""The one thing that can be asked: a selector, as ``ameles_release_value{key=~"north|south"}``.

>>> read_selector('up{job!="x", key=~`a+`,}')
(Matcher(label='__name__', sign='=', value='up'), Matcher(label='job', sign='!=', value='x'),
 Matcher(label='key', sign='=~', value='a+'))

There are no functions, operators, ranges or offsets: those are for a Prometheus server that
scrapes ``/metrics``.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

from ameles.service.metrics.refusals import QueryRefused
from ameles.service.metrics.regexes import full_matches

NAME = "__name__"
MOST_MATCHERS = 32
_SPACE = re.compile(r"(?:[ \t\r\n]|#[^\n]*)*")
_METRIC = re.compile(r"[a-zA-Z_:][a-zA-Z0-9_:]*")
LABEL = re.compile(r"[a-zA-Z_][a-zA-Z0-9_]*")
_SIGN = re.compile(r"=~|!~|!=|=")
_QUOTED = re.compile(r'"((?:[^"\\\n]|\\[^\n])*)"|\'((?:[^\'\\\n]|\\[^\n])*)\'|`([^`]*)`')
_ESCAPE = re.compile(
    r"\\(?:([abfnrtv\\'\"])|x([0-9a-fA-F]{2})|([0-7]{3})|u([0-9a-fA-F]{4})|U([0-9a-fA-F]{8})|(.))"
)
_ESCAPED = dict(zip("abfnrtv\\'\"", "\a\b\f\n\r\t\v\\'\"", strict=True))


@dataclass(frozen=True, slots=True)
class Matcher:
    """What one label must be."""

    label: str
    sign: str
    value: str

    def accepted(self, values: Iterable[str]) -> set[str]:
        """Those of the values that it accepts; a label that is missing is empty."""
        different = set(values)
        same = (
            full_matches(self.value, sorted(different))
            if self.sign in ("=~", "!~")
            else different & {self.value}
        )
        return different - same if self.sign.startswith("!") else same


def read_selector(text: str) -> tuple[Matcher, ...]:
    """The matchers of a selector, its name among them."""
    reader = _Reader(text)
    matchers: list[Matcher] = []
    if name := reader.take(_METRIC):
        matchers.append(Matcher(NAME, "=", name))
    if reader.skip("{"):
        while not reader.skip("}"):
            matchers.append(reader.matcher())
            if not reader.skip(",") and not reader.next_is("}"):
                raise _unreadable()
    if not reader.at_end or not matchers or len(matchers) > MOST_MATCHERS:
        raise _unreadable()
    if name and any(one.label == NAME for one in matchers[1:]):
        raise QueryRefused("A selector must have one metric name.")
    empty = [one.accepted([""]) for one in matchers]  # of all: any pattern may be wrong
    if all(empty):
        raise QueryRefused("A selector must have a matcher that does not match the empty text.")
    return tuple(matchers)


class _Reader:
    """The rest of a text, from a place on."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._place = 0
        self._skip_space()

    @property
    def at_end(self) -> bool:
        """Whether everything was read."""
        return self._place == len(self._text)

    def take(self, pattern: re.Pattern[str]) -> str:
        """What matches here; empty if nothing does."""
        found = pattern.match(self._text, self._place)
        if found is None:
            return ""
        self._place = found.end()
        self._skip_space()
        return found[0]

    def next_is(self, sign: str) -> bool:
        """Whether a sign comes next."""
        return self._text.startswith(sign, self._place)

    def skip(self, sign: str) -> bool:
        """Goes on after a sign, if it comes next."""
        if not self.next_is(sign):
            return False
        self._place += len(sign)
        self._skip_space()
        return True

    def matcher(self) -> Matcher:
        """A label, a sign and a text."""
        label, sign = self.take(LABEL), self.take(_SIGN)
        quoted = self.take(_QUOTED)
        if not (label and sign and quoted):
            raise _unreadable()
        return Matcher(label, sign, _unquoted(quoted))

    def _skip_space(self) -> None:
        space = _SPACE.match(self._text, self._place)
        self._place = self._place if space is None else space.end()


def _unquoted(quoted: str) -> str:
    inner = quoted[1:-1]
    return inner if quoted[0] == "`" else _ESCAPE.sub(lambda found: _plain(found, quoted[0]), inner)


def _plain(found: re.Match[str], quote: str) -> str:
    """The character that an escape stands for."""
    sign, hexadecimal, octal, short, long, unknown = found.groups()
    if unknown is not None or (sign in ("'", '"') and sign != quote):
        raise _unreadable()
    if sign is not None:
        return _ESCAPED[sign]
    number = int(octal, 8) if octal else int(hexadecimal or short or long, 16)
    if number > 0x10FFFF or 0xD800 <= number < 0xE000 or ((octal or hexadecimal) and number > 0x7F):
        raise _unreadable()  # no character; or a byte that is none by itself
    return chr(number)


def _unreadable() -> QueryRefused:
    return QueryRefused(
        'Only a selector can be asked, like ameles_release_value{stream="flu"}, and 1+1.'
    )
