"""A bucket of S3 for tests: a server in a thread that speaks what readers need of the protocol.

It lists objects page by page, gives ranges of bytes under the condition of a tag, and looks at who
asks.  It can be away, and counts the bytes that it gave.
"""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import parse_qs, unquote, urlsplit
from xml.sax.saxutils import escape

USER, SIGN_IN = "AKIATEST", "hush-hush"
PAGE = 2  # objects in an answer


@dataclass
class Bucket:
    """The objects of a bucket."""

    objects: dict[str, tuple[bytes, datetime]] = field(default_factory=dict)
    address: str = ""
    given: int = 0  # bytes of objects
    away: bool = False
    careless: bool = False  # it ignores conditions
    _clock: datetime = datetime(2026, 1, 1, tzinfo=UTC)

    def put(self, name: str, content: bytes | str) -> None:
        """A new upload; it has a time of its own."""
        self._clock += timedelta(seconds=1)
        content = content.encode() if isinstance(content, str) else content
        self.objects[name] = content, self._clock

    def connection(self, file: Path, sign_in: str = USER) -> Path:
        """A connection file that leads here."""
        file.touch(0o600)
        file.write_text(
            f'endpoint = "{self.address}"\nallow_http = true\nregion = "us-east-1"\n'
            f'access_key_id = "{sign_in}"\nsecret_access_key = "{SIGN_IN}"\n'
        )
        return file


def _tag(content: bytes) -> str:
    return f'"{hashlib.md5(content, usedforsecurity=False).hexdigest()}"'


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    bucket: Bucket

    def log_request(self, *_: object) -> None:
        """Says nothing."""

    def do_HEAD(self) -> None:
        self.do_GET()

    def do_GET(self) -> None:
        if self.bucket.away:
            self.close_connection = True
            return
        address = urlsplit(self.path)
        if f"Credential={USER}/" not in self.headers.get("Authorization", ""):
            self._answer(403, b"<Error><Code>AccessDenied</Code></Error>")
        elif "list-type=2" in address.query:
            asked = parse_qs(address.query)
            self._list(asked.get("prefix", [""])[0], asked.get("continuation-token", [""])[0])
        else:
            self._get(unquote(address.path).partition("/lake/")[2])

    def _list(self, prefix: str, after: str) -> None:
        names = sorted(name for name in self.bucket.objects if name.startswith(prefix))
        page = [name for name in names if name > after][:PAGE]
        more = bool(page) and page[-1] != names[-1]
        lines = [
            f"<Contents><Key>{escape(name)}</Key><LastModified>"
            f"{self.bucket.objects[name][1]:%Y-%m-%dT%H:%M:%S.000Z}</LastModified>"
            f"<ETag>{escape(_tag(self.bucket.objects[name][0]))}</ETag>"
            f"<Size>{len(self.bucket.objects[name][0])}</Size></Contents>"
            for name in page
        ]
        last = escape(page[-1]) if more else ""
        further = f"<NextContinuationToken>{last}</NextContinuationToken>" * more
        self._answer(
            200,
            f"<ListBucketResult><Name>lake</Name><IsTruncated>{str(more).lower()}</IsTruncated>"
            f"{further}{''.join(lines)}</ListBucketResult>".encode(),
        )

    def _get(self, name: str) -> None:
        if name not in self.bucket.objects:
            self._answer(404, b"<Error><Code>NoSuchKey</Code></Error>")
            return
        content, changed = self.bucket.objects[name]
        headers = {
            "ETag": _tag(content),
            "Last-Modified": format_datetime(changed, usegmt=True),
        }
        condition = self.headers.get("If-Match", headers["ETag"])
        if condition != headers["ETag"] and not self.bucket.careless:
            self._answer(412, b"<Error><Code>PreconditionFailed</Code></Error>")
            return
        code, asked = 200, self.headers.get("Range")
        if asked is not None:
            first, _, last = asked.removeprefix("bytes=").partition("-")
            end = min(int(last) + 1, len(content))
            headers["Content-Range"] = f"bytes {first}-{end - 1}/{len(content)}"
            code, content = 206, content[int(first) : end]
        if self.command == "GET":
            self.bucket.given += len(content)
        self._answer(code, content, headers)

    def _answer(self, code: int, content: bytes, headers: dict[str, str] | None = None) -> None:
        self.send_response(code)
        for name, value in {**(headers or {}), "Content-Length": str(len(content))}.items():
            self.send_header(name, value)
        self.end_headers()
        if self.command == "GET":
            self.wfile.write(content)


@contextmanager
def serving() -> Iterator[Bucket]:
    """A new bucket named lake."""
    bucket = Bucket()
    handler = type("Handler", (_Handler,), {"bucket": bucket})
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        server.daemon_threads = True
        bucket.address = f"http://127.0.0.1:{server.server_port}"
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        try:
            yield bucket
        finally:
            server.shutdown()
            thread.join()
