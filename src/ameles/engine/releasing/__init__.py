"""A stream that this process holds, and its releases from exact totals to published values."""
