"""The files of the page, read once, with their digests.

An address of a file holds the digest of all files together, so its answer can be kept for ever.
The modules that a page needs are sent as one (``module_bundle.py``), and so are its style sheets:
forty requests take longer than everything that is in them.
"""

from __future__ import annotations

import gzip
import hashlib
import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from ameles.service.dashboard.module_bundle import bundle

FOLDER = Path(__file__).with_name("static")
PAGES = ("index.html", "embed.html")
HEAD = "head.html"  # what stands in the head of both
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
        whole = {name: whole_page(plain, name) for name in PAGES}
        styles = {_style_of(name): one_style(plain, page) for name, page in whole.items()}
        pages = {name: with_style(page, _style_of(name)) for name, page in whole.items()}
        sources = {name: file.content.decode() for name, file in plain.items() if _is_ours(name)}
        bundles = {
            first: File(bundle(first, sources).encode(), MEDIA[".js"])
            for page in pages.values()
            for first in (found.decode() for found in _MODULE.findall(page))
        }
        self.loaded: Mapping[str, File] = {
            **{name: file for name, file in plain.items() if not name.endswith(".html")},
            **bundles,
            **styles,
        }
        made = (*plain.items(), *bundles.items(), *styles.items())
        together = "".join(f"{name}{file.tag}" for name, file in made)
        self.version = hashlib.sha256(together.encode()).hexdigest()[:16]
        place = f"/static/{self.version}/".encode()
        self.pages: Mapping[str, File] = {
            name: File(page.replace(PLACE, place), plain[name].media)
            for name, page in pages.items()
        }


_MODULE = re.compile(rb'<script src="/static/-/([^"]+)" type="module">')
_STYLE = re.compile(rb' *<link rel="stylesheet" href="/static/-/([^"]+)">\n')


def _style_of(page: str) -> str:
    return page.replace(".html", ".css")


def one_style(files: Mapping[str, File], page: bytes) -> File:
    """The style sheets of a page as one, in their order."""
    sheets = [files[name.decode()].content for name in _STYLE.findall(page)]
    return File(b"\n".join(sheets), MEDIA[".css"])


def with_style(page: bytes, name: str) -> bytes:
    """A page with one style sheet in the place of all of its own."""
    link = f'  <link rel="stylesheet" href="/static/-/{name}">\n'.encode()
    return _STYLE.sub(b"", page).replace(b"  <script", link + b"  <script", 1)


def _is_ours(name: str) -> bool:
    return name.endswith(".js") and "/" not in name


def whole_page(files: Mapping[str, File], name: str) -> bytes:
    """A page with the beginning that it shares with others."""
    head = files[HEAD].content if HEAD in files else b""
    return files[name].content.replace(b"<!-- head -->\n", head)
