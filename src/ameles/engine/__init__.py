"""The engine: plans, their clock, and the runs that turn events into private releases."""
