"""The names of locks: a stream's is its own name, a question's is made of the entry that paid.

>>> question_lock("visitors", 17)
'question/visitors/17'
"""

from __future__ import annotations

from ameles.core.exceptions import StoreRefused
from ameles.store.unavailable import StreamInUse

_QUESTION = "question/"  # no stream has a slash in its name


def question_lock(population: str, entry: int) -> str:
    """The name of the lock of a paid question: who holds it computes the answer."""
    return f"{_QUESTION}{population}/{entry}"


def is_question(name: str) -> bool:
    """Whether a lock is that of a question."""
    return name.startswith(_QUESTION)


def in_use(name: str, holder: str) -> StoreRefused:
    """The refusal of a lock that another process, or this one, holds."""
    if is_question(name):
        return StoreRefused(
            f"The question '{name.removeprefix(_QUESTION)}' is being answered by another "
            f"process{holder}.",
            why="only one answer to a question is stored, and that process computes it",
            tip="ask again when it is done; a process that died holds no lock",
        )
    return StreamInUse(
        f"The stream '{name}' is run by another process{holder}.",
        why="two at once would publish two values for one step",
        tip="run again when it is done; a process that died holds no lock",
    )
