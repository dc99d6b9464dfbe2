"""Pages as they are sent, kept for the next who asks: many readers ask for the same ones.

What was released never changes, so a page is true as long as nothing more was released; that is
part of what it is kept under.

>>> pages = WrittenPages(most=10)
>>> page = WrittenPage(b"12345678", following="", more=False, closed=True)
>>> pages.get("a", lambda: page) is pages.get("a", list) is page
True
"""

from __future__ import annotations

import hashlib
import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable
from concurrent.futures import Future
from dataclasses import dataclass, field
from functools import cached_property

MOST = 32 << 20  # bytes of all pages that are kept


@dataclass(frozen=True)
class WrittenPage:
    """The bytes of a page, and what its headers say."""

    body: bytes = field(repr=False)
    following: str  # the cursor after it
    more: bool
    closed: bool

    @cached_property
    def tag(self) -> str:
        """A strong tag: the digest of its bytes."""
        return f'"{hashlib.sha256(self.body).hexdigest()[:32]}"'


class WrittenPages:
    """The pages that were asked for last; every call may come from any thread."""

    def __init__(self, most: int = MOST) -> None:
        self._most = most
        self._lock = threading.Lock()
        self._pages: OrderedDict[Hashable, WrittenPage] = OrderedDict()
        self._bytes = 0
        self._under_way: dict[Hashable, Future[WrittenPage]] = {}

    def get(self, asked: Hashable, write: Callable[[], WrittenPage]) -> WrittenPage:
        """A page that is kept, or one that is written now; two who ask at once wait for one."""
        with self._lock:
            if (known := self._pages.get(asked)) is not None:
                self._pages.move_to_end(asked)
                return known
            under_way = self._under_way.get(asked)
            mine: Future[WrittenPage] = Future()
            if under_way is None:
                self._under_way[asked] = mine
        if under_way is not None:
            return under_way.result()
        try:
            page = write()
        except BaseException as problem:
            self._end(asked)
            mine.set_exception(problem)
            raise
        self._end(asked, page)
        mine.set_result(page)
        return page

    def _end(self, asked: Hashable, page: WrittenPage | None = None) -> None:
        with self._lock:
            del self._under_way[asked]
            if page is None:
                return
            self._pages[asked] = page
            self._bytes += len(page.body)
            while self._bytes > self._most:
                _, oldest = self._pages.popitem(last=False)
                self._bytes -= len(oldest.body)
