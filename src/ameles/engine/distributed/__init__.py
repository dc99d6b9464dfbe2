"""Gathering in tasks that somebody else schedules, such as the tasks of a Spark cluster."""
