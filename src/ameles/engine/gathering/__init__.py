"""From the rows of a source to exact, bounded totals of steps."""
