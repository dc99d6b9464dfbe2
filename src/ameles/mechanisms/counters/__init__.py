"""Continual counters: running counts of a stream, one noise process a file."""
