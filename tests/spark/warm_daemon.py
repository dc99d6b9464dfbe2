"""The process from which Spark forks those that run tasks in Python, with everything loaded.

Spark's own loads nothing, so each process of its tasks would load numpy, DuckDB and Ameles again.
"""

from __future__ import annotations

import importlib

LOADED = (
    "duckdb",
    "pandas",
    "pyarrow",
    "pyspark.worker",
    "ameles.spark.frame_tasks",
    "ameles.spark.task_entry",
    "ameles.spark.task_programs",
    "ameles.engine.distributed.map_job",
    "ameles.engine.distributed.reduce_job",
)

if __name__ == "__main__":
    for name in LOADED:
        importlib.import_module(name)
    importlib.import_module("pyspark.daemon").manager()
