"""The files of the page, read once, with their digests.

An address of a file holds the digest of all files together, so its answer can be kept for ever,
and modules that import each other by relative addresses always are of the same version.
"""

from __future__ import annotations

import gzip
import hashlib
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

FOLDER = Path(__file__).with_name("static")
PAGES = ("index.html", "embed.html")
PLACE = b"/static/-/"  # what pages have in the place of the files' address
MEDIA = {
    ".css": "text/css; charset=utf-8",
    ".html": "text/html; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".svg": "image/svg+xml",
}


@dataclass(frozen=True)
class File:
    """A file of the page."""

    content: bytes
    media: str

    @cached_property
    def tag(self) -> str:
        """Its ``ETag``."""
        return f'"{hashlib.sha256(self.content).hexdigest()[:32]}"'

    @property
    def packed_tag(self) -> str:
        """The ``ETag`` of the same with gzip."""
        return f'{self.tag[:-1]}-gzip"'

    @cached_property
    def packed(self) -> bytes:
        """The same with gzip, equal for equal content."""
        return gzip.compress(self.content, mtime=0)


class Files:
    """All files of the page; licences and digests in the folder are not among them."""

    def __init__(self, folder: Path = FOLDER) -> None:
        paths = sorted(path for path in folder.rglob("*") if path.suffix in MEDIA)
        read = {path.relative_to(folder).as_posix(): path for path in paths}
        plain = {name: File(path.read_bytes(), MEDIA[path.suffix]) for name, path in read.items()}
        together = "".join(f"{name}{file.tag}" for name, file in plain.items())
        self.version = hashlib.sha256(together.encode()).hexdigest()[:16]
        self.pages: Mapping[str, File] = {
            name: File(self._page(plain[name].content, plain), plain[name].media) for name in PAGES
        }
        self.loaded: Mapping[str, File] = {
            name: file for name, file in plain.items() if name not in PAGES
        }

    def _page(self, page: bytes, files: Mapping[str, File]) -> bytes:
        """A page with the addresses of its files, and of all modules that it needs."""
        first = [name.decode() for name in _MODULE.findall(page)]
        needed = modules(first, {name: file.content for name, file in files.items()})
        links = b"".join(
            b'  <link rel="modulepreload" href="%s%s">\n' % (PLACE, name.encode())
            for name in needed
            if name not in first
        )
        whole = page.replace(b"</head>", links + b"</head>")
        return whole.replace(PLACE, f"/static/{self.version}/".encode())


_MODULE = re.compile(rb'<script src="/static/-/([^"]+)" type="module">')
_IMPORT = re.compile(rb'^(?:import|export|\}) .*from "\./([^"]+)";$', re.MULTILINE)


def modules(first: Iterable[str], files: Mapping[str, bytes]) -> list[str]:
    """Some modules, and all that these import.

    >>> modules(["a.js"], {"a.js": b'import { b } from "./b.js";\\n', "b.js": b"", "c.js": b""})
    ['a.js', 'b.js']
    """
    found = list(first)
    for name in found:  # grows meanwhile
        imported = (each.decode() for each in _IMPORT.findall(files[name]))
        found.extend(new for new in dict.fromkeys(imported) if new not in found)
    return found
