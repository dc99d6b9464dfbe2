"""Buckets of object stores: which objects a pattern names now, and bytes of one of them.

An object is written whole, and never changed: a new upload under its name is another object.  The
store tells them apart by a tag, and each request for bytes names the tag that was listed, so that
bytes of two objects are never mixed.  What the store says is not shown, because it may quote the
connection file; only the name of an error is.
"""

from __future__ import annotations

import glob
import importlib
import io
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import timedelta
from fnmatch import fnmatchcase
from functools import lru_cache
from pathlib import Path
from typing import Any, Self

from ameles.connectors.connection_file import read_connection
from ameles.connectors.files.identity import changed, vanished
from ameles.connectors.source import SourceAway
from ameles.connectors.text.lines import BLOCK
from ameles.core.exceptions import AmelesError, MissingExtra, PlanError

EXAMPLE = "s3://lake/visits/*.parquet"
SCHEMES = ("s3", "gs", "az")
_ADDRESS = re.compile(rf"({'|'.join(SCHEMES)})://([a-z0-9][a-z0-9._-]{{1,254}})/([^/].*)")
_SERVER = re.compile(r"https?://(\[[0-9A-Fa-f:.]+\]|[A-Za-z0-9._-]+)(:[0-9]{1,5})?(/[\w./-]*)?")
_SERVERS = ("endpoint", "endpoint_url")
# Options about the connection itself; all others are about the store.
_CLIENT = (
    "allow_http",
    "connect_timeout",
    "proxy_ca_certificate",
    "proxy_excludes",
    "proxy_url",
    "read_timeout",
    "root_certificate",
    "timeout",
)
_NAME = re.compile(r"(aws|google|azure)?_?[a-z][a-z0-9_]*")
_OTHERS = re.compile(r"(allow|http|http1|http2|pool|user|default_(content|headers)|randomize)_.*")
_TIMES = {"connect_timeout": "10s", "timeout": "60s"}
_RETRIES = {
    "max_retries": 3,
    "retry_timeout": timedelta(seconds=30),
    "backoff": {
        "base": 2,
        "init_backoff": timedelta(seconds=0.1),
        "max_backoff": timedelta(seconds=2),
    },
}
_STATUS = re.compile(r"status code: (\d{3})\b")
_FIRST = 64 << 10  # bytes of the first request of a reader; each next one asks for twice as many


@dataclass(frozen=True, slots=True)
class StoredObject:
    """An object at some moment; ``tag`` and ``modified`` differ from those of any other upload."""

    name: str  # inside its bucket
    tag: str
    modified: str
    size: int = field(repr=False)

    @property
    def identity(self) -> tuple[str, str]:
        """What another upload under its name does not have."""
        return self.tag, self.modified


@dataclass(frozen=True, slots=True)
class ObjectPattern:
    """A name or a pattern of objects in a bucket, and how its store is reached."""

    scheme: str
    bucket: str
    pattern: str
    connection: Path | None = None  # the file with passwords

    @classmethod
    def at(cls, text: str, connection: Path | None = None) -> Self:
        """The objects that an address in a plan names."""
        parts = _ADDRESS.fullmatch(text)
        if "@" in text.partition("://")[2].partition("/")[0]:
            raise PlanError(
                "The address of the bucket contains a user or a password.",
                why="plans are public",
                tip=f'"{EXAMPLE}", and connection = "file.toml" with what is secret',
            )
        if parts is None or "//" in parts[3] or ".." in parts[3].split("/"):
            raise PlanError(
                "The address does not name a bucket and objects in it.", tip=f'"{EXAMPLE}"'
            )
        return cls(parts[1], parts[2], parts[3], connection)

    def __str__(self) -> str:
        return f"{self.scheme}://{self.bucket}/{self.pattern}"

    def objects(self) -> dict[str, StoredObject]:
        """The objects that there are now, by their names, in order."""
        with self._reached():
            if not glob.has_magic(self.pattern):
                found = self._alone()
            else:
                fixed = re.split(r"[*?[]", self.pattern, maxsplit=1)[0]
                folder = fixed.rpartition("/")[0] or None
                pages = driver().list(self._client(), folder, chunk_size=1000)
                found = [each for page in pages for each in page]
        wanted = self.pattern.split("/")
        named = {each["path"]: each for each in found if _matches(each["path"].split("/"), wanted)}
        return {name: _stored(named[name]) for name in sorted(named)}

    def read(self, each: StoredObject, start: int, end: int) -> bytes:
        """Bytes of an object; refuses one that is gone, or was replaced since it was listed."""
        with self._reached(each):
            options = {"range": (start, end), "if_match": each.tag}
            got = driver().get(self._client(), each.name, options=options)
            content = bytes(got.bytes())
        # some stores ignore the condition
        if len(content) != end - start or _bare(got.meta["e_tag"]) not in ("", _bare(each.tag)):
            raise changed(each.name)
        return content

    def _alone(self) -> list[Any]:
        try:
            return [driver().head(self._client(), self.pattern)]
        except (FileNotFoundError, driver("exceptions").NotFoundError):
            return []

    def _client(self) -> Any:
        given = read_connection(self.connection)
        for name, value in given.items():
            if not _NAME.fullmatch(name) or (_OTHERS.fullmatch(name) and name not in _CLIENT):
                raise _unusable(name)
            if name.removeprefix("aws_") in _SERVERS and not _SERVER.fullmatch(str(value)):
                raise _unusable(name)
        try:
            return _opened(f"{self.scheme}://{self.bucket}", tuple(given.items()))
        except (driver("exceptions").BaseError, TypeError, ValueError) as problem:
            # its text may quote a password: of it only the names of options are shown
            said = str(problem)
        raise _unusable(*(name for name in given if name in said))

    @contextmanager
    def _reached(self, each: StoredObject | None = None) -> Iterator[None]:
        """Failures of the store as refusals that quote nothing of it."""
        errors = driver("exceptions")
        refusal: AmelesError
        try:
            yield
        except (FileNotFoundError, errors.NotFoundError):
            refusal = vanished(each.name) if each is not None else self._away("NotFoundError")
        except errors.PreconditionError:
            refusal = changed(each.name) if each is not None else self._away("PreconditionError")
        except errors.InvalidPathError:  # the list of objects ends there
            refusal = SourceAway(
                f"The bucket '{self.scheme}://{self.bucket}' has an object beside those of the "
                "plan whose name cannot be read.",
                why="a part of its name between slashes is empty, '.' or '..'",
                tip="remove it, or give it another name",
            )
        except (errors.BaseError, OSError) as problem:
            status = _STATUS.search(str(problem))
            refusal = self._away(type(problem).__name__ if status is None else f"HTTP {status[1]}")
        else:
            return
        raise refusal

    def _away(self, name: str) -> SourceAway:
        return SourceAway(
            f"The bucket '{self.scheme}://{self.bucket}' cannot be read now ({name}).",
            tip="mend the address and the connection file; its user must be allowed to list the "
            "bucket and to read its objects",
        )


class ObjectReader(io.RawIOBase):
    """Reads an object from one byte to another, ahead and in ever larger parts."""

    def __init__(self, place: ObjectPattern, each: StoredObject, start: int, end: int) -> None:
        self._place, self._each = place, each
        self._next, self._end = start, end
        self._held = memoryview(b"")
        self._ahead = _FIRST

    def readable(self) -> bool:
        """It can be read."""
        return True

    def readinto(self, buffer: Any) -> int:
        """Some of the bytes that come next."""
        if not self._held and self._next < self._end:
            end = min(self._next + self._ahead, self._end)
            self._held = memoryview(self._place.read(self._each, self._next, end))
            self._next, self._ahead = end, min(2 * self._ahead, BLOCK)
        view = memoryview(buffer)
        some = min(len(view), len(self._held))
        view[:some] = self._held[:some]
        self._held = self._held[some:]
        return some


def driver(part: str = "") -> Any:
    """The module obstore or a part of it; if it is missing, the refusal says how to install it."""
    try:
        return importlib.import_module(f"obstore.{part}".rstrip("."))
    except ImportError:
        raise MissingExtra(
            "A bucket of an object store needs obstore, which is not installed.",
            tip="pip install '.[objects]' in the clone of Ameles",
        ) from None


@lru_cache(maxsize=8)
def _opened(url: str, given: tuple[tuple[str, Any], ...]) -> Any:
    """A client; to make one takes longer than most requests."""
    options = {name: value for name, value in given if name in _CLIENT}
    return driver("store").from_url(
        url,
        config={name: _text(value) for name, value in given if name not in _CLIENT},
        client_options={**_TIMES, **options},
        retry_config=_RETRIES,
    )


def _matches(parts: list[str], wanted: list[str]) -> bool:
    """Whether a name matches a pattern, as with files: a star stays inside one folder, two stars go
    through any, and neither finds a name that begins with a dot.

    >>> [_matches(name.split("/"), ["a", "**", "*.csv"]) for name in ("a/b.csv", "a/b/c/d.csv")]
    [True, True]
    >>> [_matches(name.split("/"), ["a", "*.csv"]) for name in ("a/b/c.csv", "a/.b.csv", "a/b.csv")]
    [False, False, True]
    """
    if not wanted or not parts:
        return wanted in ([], ["**"]) and not parts
    hidden = parts[0].startswith(".") and not wanted[0].startswith(".")
    if wanted[0] == "**":
        return _matches(parts, wanted[1:]) or (not hidden and _matches(parts[1:], wanted))
    return not hidden and fnmatchcase(parts[0], wanted[0]) and _matches(parts[1:], wanted[1:])


def _stored(about: Mapping[str, Any]) -> StoredObject:
    name, tag = about["path"], about["e_tag"]
    if not tag:
        raise PlanError(
            f"The store gives no tag (ETag) of the object '{name}'.",
            why="an object that was replaced could not be told from the one that was read",
            tip="a store that has tags, as S3 has",
        )
    return StoredObject(name, tag, about["last_modified"].isoformat(), about["size"])


def _bare(tag: str | None) -> str:
    """A tag without its quotes, which some stores leave out in lists."""
    return (tag or "").removeprefix("W/").strip('"')


def _text(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _unusable(*names: str) -> PlanError:
    keys = f": see {', '.join(names)}" if names else ""
    return PlanError(
        f"The object store cannot be reached with this connection file{keys}.",
        why="its keys are options of obstore about the store or the connection",
        tip="access_key_id, secret_access_key, region, and for a server of your own endpoint = "
        '"https://..."',
    )
