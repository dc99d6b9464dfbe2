"""Named arrays as bytes: a checksum, a list of the arrays, and their content."""

from __future__ import annotations

import json
import math
import struct
import zlib
from collections.abc import Mapping
from itertools import pairwise
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

Arrays: TypeAlias = dict[str, NDArray[Any]]
_TEXTS = "texts"
_HEAD = struct.Struct("<II")  # the checksum of the rest, and the length of the list of arrays


def pack(arrays: Mapping[str, NDArray[Any]], made_by: str = "") -> bytes:
    """Named arrays as bytes; ``made_by`` is the version of DuckDB that computed their hashes."""
    named, parts = [], []
    for name, array in arrays.items():
        if array.dtype == object:  # texts
            texts = [text.encode() for text in array.tolist()]
            lengths = np.array([len(text) for text in texts], dtype="<i8")
            named.append((name, _TEXTS, array.shape))
            parts += [lengths.tobytes(), *texts]
        else:
            named.append((name, array.dtype.str, array.shape))
            parts.append(array.tobytes())
    listed = json.dumps({"hashed_by": made_by, "arrays": named}).encode()
    body = b"".join([listed, *parts])
    return _HEAD.pack(zlib.crc32(body), len(listed)) + body


def unpack(stored: bytes) -> tuple[Arrays, str]:
    """The arrays that ``pack`` took, and their ``made_by``; fails if the bytes were changed.

    It raises ValueError, KeyError, TypeError or struct.error; their texts may quote the data.
    """
    check, length = _HEAD.unpack_from(stored)
    body = stored[_HEAD.size :]
    if zlib.crc32(body) != check:
        raise ValueError
    listed, place, arrays = json.loads(body[:length]), length, {}
    for name, kind, shape in listed["arrays"]:
        if kind == _TEXTS:
            arrays[name], place = _texts(body, place, *shape)
            continue
        dtype, count = np.dtype(kind), math.prod(shape)
        flat = np.frombuffer(body, dtype, count=count, offset=place)
        arrays[name] = flat.reshape(shape).copy()  # a writable copy
        place += count * dtype.itemsize
    if place != len(body):
        raise ValueError
    return arrays, listed["hashed_by"]


def _texts(body: bytes, place: int, count: int) -> tuple[NDArray[Any], int]:
    """Some texts in an array of objects, and the place after them."""
    lengths = np.frombuffer(body, "<i8", count=count, offset=place)
    edges = np.cumsum([place + lengths.nbytes, *lengths.tolist()]).tolist()
    texts = np.empty(count, dtype=object)
    texts[:] = [body[start:end].decode() for start, end in pairwise(edges)]
    return texts, int(edges[-1])


def stacked(parts: list[Arrays]) -> Arrays:
    """The rows of several parts, one below the other; parts without arrays have none."""
    some = [part for part in parts if part]
    if not some:
        return {}
    return {name: np.concatenate([part[name] for part in some]) for name in some[0]}
