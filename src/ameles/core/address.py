"""Texts that name a place: paths and addresses.  What may have a password in it is never shown.

Plans and command lines are public, and places are printed, logged and stored.  So a place with a
user or a password in it is refused, however it is written: as ``scheme://user:password@host``, as a
parameter of an address, or as the keywords of libpq.  The refusal does not repeat the text, because
nobody knows which part of it is secret.

>>> may_have_secret("s3://user:word@bucket/x"), may_have_secret("host=db password=word")
(True, True)
>>> may_have_secret("postgresql://me@db.example/flu?sslmode=require"), may_have_secret("a@b.csv")
(False, False)
"""

from __future__ import annotations

import re
import unicodedata
from urllib.parse import unquote

from ameles.core.exceptions import PlanError

WHERE_SECRETS_GO = (
    'a password goes into the file that connection = "server.toml" names, or for Postgres into '
    "~/.pgpass or PGPASSWORD; the secret of a webhook into the file that secret names"
)
_NAME = (
    r"(?:[\w.-]*(?:pass(?:word|wd|phrase|code)?|pwd|secrets?|token|api[_-]?key"
    r"|(?:access|secret|private)[_-]?key(?:[_-]?id)?|signature|credentials?)|key|sig|auth)"
)
_VALUE = r"(?:'(?:[^'\\]|\\.)*'|[^\s;]*)"
_SECRET = re.compile(
    "|".join(
        (
            # a user, perhaps with a password; in an address of Postgres a user alone is no secret
            r"(?<![\w+.-])(?!postgres(?:ql)?:/+[^\s/?#@:]*@)[a-z][\w+.:-]*:/+[^\s/?#]*@",
            r"(?:^|\s)//[^\s/?#]*@",
            r"^[^\s/:@]+:(?!/)[^\s@]+@[^\s@]",  # without a scheme
            # a password with a sign such as a slash, which ends the part before the @
            r":/+[^\s/?#@:\[]*:(?!\d+(?:[,/?#]|$))\S*@",
            rf"[?&;#]\s*{_NAME}\s*=\s*[^\s&;]",
            # keywords with values, as libpq and ODBC have them; a condition has words between them
            rf"^(?=(?:.*[\s;])?{_NAME}\s*=)\w[\w ]*=\s*{_VALUE}"
            rf"(?:(?:\s+\w+|\s*;\s*\w[\w ]*)\s*=\s*{_VALUE})+[\s;]*$",
            r"\bwhsec_[a-z0-9+/]{24}",  # what signs webhooks, in the place of its file
        )
    ),
    re.IGNORECASE | re.DOTALL,
)
_SERVER = re.compile(r"^[a-z][a-z0-9+.-]+(:[a-z0-9+.-]+)*:/|://|^//[^/]", re.IGNORECASE)
_KEYWORDS = re.compile(
    r"^(?:host|hostaddr|port|dbname|database|user|password|passfile|service|servicefile|sslmode"
    r"|sslpassword|server|data source|pwd|uid)\s*=",
    re.IGNORECASE,
)


def may_have_secret(text: str) -> bool:
    """Whether a text may be an address with a user or a password in it."""
    return _SECRET.search(_plain(text)) is not None


def check_public(*places: str) -> None:
    """Refuses a place that may have a secret in it."""
    if any(map(may_have_secret, places)):
        raise PlanError(
            "A path or an address may have a password or another secret in it.",
            why="plans are public, and a place is printed and stored",
            tip=WHERE_SECRETS_GO,
        )


def names_server(text: str) -> bool:
    """Whether a text is an address of a server, or an attempt at one, and not a path.

    >>> names_server(" postgresql://db/flu"), names_server("host=db"), names_server("a/b:c.csv")
    (True, True, False)
    """
    plain = _plain(text)
    bare = "".join(plain.split())
    return _SERVER.search(bare) is not None or _KEYWORDS.search(plain) is not None


def _plain(text: str) -> str:
    """A text as a lenient reader takes it: decoded, without characters that nobody sees."""
    for _ in range(8):
        decoded = unicodedata.normalize("NFKC", unquote(text))
        if decoded == text:
            break
        text = decoded
    seen = (one for one in text if one.isprintable() or one.isspace())
    return "".join(" " if one.isspace() else one for one in seen).strip(" \"'<>")
