"""Numbers and times as Prometheus writes them.

>>> [number_text(x) for x in (17.0, 1e16, 1e21, 0.00001, 1e-7, -2.5)]
['17', '10000000000000000', '1e+21', '0.00001', '1e-07', '-2.5']
>>> time_text(1_767_225_600_000), time_text(1_767_225_600_050)
('1767225600', '1767225600.050')
"""

from __future__ import annotations

import numpy as np


def number_text(number: float) -> str:
    """The shortest text that is read as this number again."""
    size = abs(number)
    if size >= 1e21 or 0 < size < 1e-6:
        return repr(number)
    if number.is_integer():
        return str(int(number))
    text = repr(number)
    return np.format_float_positional(number, trim="-") if "e" in text else text


def time_text(milliseconds: int) -> str:
    """Seconds since 1970, with milliseconds if there are any."""
    seconds, rest = divmod(abs(milliseconds), 1000)
    return f"{'-' if milliseconds < 0 else ''}{seconds}{f'.{rest:03}' if rest else ''}"
