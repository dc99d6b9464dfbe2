"""Ameles on Spark: events are read, bounded and added up in Spark's tasks.

``release`` takes a data frame of your own session.  For files, ``ameles run --engine spark`` is
faster: its tasks open the files themselves.
"""

from ameles.spark.release import release

__all__ = ["release"]
