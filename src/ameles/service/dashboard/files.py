"""The files of the page, read once, with their digests.

An address of a file holds the digest of all files together, so its answer can be kept for ever,
and modules that import each other by relative addresses always are of the same version.
"""

from __future__ import annotations

import gzip
import hashlib
from collections.abc import Mapping
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
            name: File(self._addressed(plain[name].content), plain[name].media) for name in PAGES
        }
        self.loaded: Mapping[str, File] = {
            name: file for name, file in plain.items() if name not in PAGES
        }

    def _addressed(self, page: bytes) -> bytes:
        return page.replace(PLACE, f"/static/{self.version}/".encode())
