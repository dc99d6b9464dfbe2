"""Errors of Postgres as sentences: no message of the server itself reaches a user.

Its messages quote rows, statements and addresses.  Its error codes do not.
"""

from __future__ import annotations

import re

from ameles.core.exceptions import StoreRefused
from ameles.store.unavailable import StoreAway, StoreBusy

Sentence = tuple[str, str, str]

GONE: Sentence = (
    "cannot be reached",
    "no server answers there, or it ended the connection; an open transaction is not kept",
    "run again when the server runs; what was released before is safe",
)
LOCKED: Sentence = (
    "is locked",
    "another process is writing to it, and did not finish in time",
    "run again when that process is done",
)
READ_ONLY: Sentence = (
    "cannot be written",
    "the server is a replica, or the database was made read-only",
    "the address of the primary server",
)
_AT_ONCE: Sentence = (
    "refused a change",
    "another program changed the same rows at the same moment",
    "run again; only Ameles should write to its tables",
)
_FORBIDDEN: Sentence = (
    "cannot be used",
    "this database user lacks a privilege that is needed",
    "the user who created the store; for a new one: GRANT CREATE ON DATABASE ... TO ...",
)
_DAMAGED: Sentence = ("is damaged", "its pages do not fit together", "a backup of the database")
_UNFIT: Sentence = (
    "cannot keep this",
    "a number is beyond 64 bits, or a text is not valid Unicode or has a zero byte",
    "",
)
_FULL: Sentence = (
    "cannot grow",
    "the disk of the server is full; nothing of the last transaction was kept",
    "run again when there is space; what was released before is safe",
)
_MEMORY: Sentence = ("cannot be used", "the server does not have enough memory", "")
_CANCELLED: Sentence = ("was interrupted", "somebody cancelled the statement", "run again")
_DISK: Sentence = (
    "cannot be read or written",
    "the disk of the server reported an error",
    _FULL[2],
)
_BUSY: Sentence = (
    "cannot be opened",
    "the server has no connection left, or is starting or stopping",
    "run again in a while",
)
_ABSENT: Sentence = (
    "is not a store of Ameles",
    "its tables are gone, or were made by another program",
    "a backup of the database",
)
_REFUSED: Sentence = (
    "cannot be opened",
    "the server did not accept this user, the password or the kind of connection",
    "user in the address, password in ~/.pgpass or PGPASSWORD, and pg_hba.conf of the server",
)
_OTHER: Sentence = (
    "cannot be used",
    "its database failed in a way that Ameles does not know",
    "ameles doctor, and the log of the server",
)

# What may end by itself, or by something that is done to the server and not to Ameles.
_PASSING = (LOCKED, READ_ONLY, _AT_ONCE, _FULL, _MEMORY, _CANCELLED, _DISK)

# By error code, or by its class, the first two characters.
_SENTENCES: dict[str, Sentence] = {
    "08": GONE,
    "22": _UNFIT,
    "23": (
        "refused a change",
        "it would break a rule of the store, such as one value for one step",
        "",
    ),
    "25006": READ_ONLY,
    "25P02": (
        "cannot go on",
        "a statement in this transaction failed, and a transaction is all or nothing",
        "",
    ),
    "28": _REFUSED,
    "3D000": (
        "does not exist",
        "the server has no database of this name",
        "createdb with this name there, or another name in the address",
    ),
    "3F000": _ABSENT,
    "40": _AT_ONCE,
    "42501": _FORBIDDEN,
    "42703": _ABSENT,
    "42P01": _ABSENT,
    "53100": _FULL,
    "53200": _MEMORY,
    "53300": _BUSY,
    "54": (
        "cannot keep this",
        "it is larger than one value in the database can be: too many events wait for their step",
        "steps or a cut-off that leave fewer events waiting",
    ),
    "55P03": LOCKED,
    "57014": _CANCELLED,
    "57P01": GONE,
    "57P02": GONE,
    "57P03": _BUSY,
    "57P05": GONE,
    "58030": _DISK,
    "XX001": _DAMAGED,
    "XX002": _DAMAGED,
}

# Before there is a connection, the driver has no error code, only a message.
_WORDS: tuple[tuple[str, Sentence], ...] = (
    (r"starting up|shutting down|not yet accepting|too many|connection slots", _BUSY),
    (r'database ".*" does not exist', _SENTENCES["3D000"]),
    (
        r"password|authentication|pg_hba|role \".*\" does not exist|not permitted to log in",
        _REFUSED,
    ),
    (r"permission denied for database", _FORBIDDEN),
    (
        r"SSL|certificate",
        (
            "cannot be reached safely",
            "the server does not encrypt, or its certificate does not match",
            "sslmode=... and sslrootcert=... in the address, and ssl = on in the server",
        ),
    ),
)


def refusal(problem: Exception, where: str) -> StoreRefused:
    """The refusal for a failure of the server of the store at ``where``."""
    if isinstance(problem, OverflowError | UnicodeEncodeError):
        return sentence(_UNFIT, where)
    code = getattr(problem, "sqlstate", None)
    if code is None:
        # An error without a code is from the driver: data that it cannot encode, or a lost
        # connection.
        kinds = {kind.__name__ for kind in type(problem).__mro__}
        return sentence(
            _UNFIT if "DataError" in kinds else GONE if "OperationalError" in kinds else _OTHER,
            where,
        )
    return sentence(_SENTENCES.get(code) or _SENTENCES.get(code[:2]) or _OTHER, where)


def connection_refusal(problem: Exception, where: str) -> StoreRefused:
    """The refusal for a connection that was not made."""
    for words, own_words in _WORDS:
        if re.search(words, str(problem)):
            return sentence(own_words, where)
    return sentence(GONE, where)


def passing(problem: Exception) -> bool:
    """Whether the server will accept connections soon."""
    return re.search("starting up|not yet accepting", str(problem)) is not None


def is_double(problem: Exception) -> bool:
    """Whether a row was refused because there is one with the same key."""
    return getattr(problem, "sqlstate", None) == "23505"


def sentence(words: Sentence, where: str) -> StoreRefused:
    """A refusal about the store at ``where``."""
    what, why, tip = words
    away = words in (GONE, _BUSY)
    kind = StoreAway if away else StoreBusy if words in _PASSING else StoreRefused
    return kind(f"The store '{where}' {what}.", why=why, tip=tip)
