"""The array types of the noise: names for numpy's, which core knows only while type checking."""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

IntArray: TypeAlias = NDArray[np.int64]
BoolArray: TypeAlias = NDArray[np.bool_]
Words: TypeAlias = NDArray[np.uint64]
Halves: TypeAlias = NDArray[np.uint16]
Places: TypeAlias = NDArray[np.intp]
Verdicts: TypeAlias = NDArray[np.uint8]
