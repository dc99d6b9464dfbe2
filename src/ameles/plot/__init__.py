"""Pictures of tables that callers computed: nothing here knows a mechanism or a true value.

Needs matplotlib (the ``plot`` extra), which is loaded by the first picture.  A file's ending
says what it becomes: ``.png`` or ``.svg``.
"""

from ameles.plot.against import error_against_epsilon, error_against_horizon
from ameles.plot.answers import answers
from ameles.plot.attack import attack
from ameles.plot.canvas import check_picture
from ameles.plot.matrix import noise_matrices
from ameles.plot.nodes import node_shapes
from ameles.plot.releases import releases
from ameles.plot.side_by_side import side_by_side
from ameles.plot.stream import error_within_stream
from ameles.plot.table import PlotTable
from ameles.plot.tree import covering_nodes

__all__ = [
    "PlotTable",
    "answers",
    "attack",
    "check_picture",
    "covering_nodes",
    "error_against_epsilon",
    "error_against_horizon",
    "error_within_stream",
    "node_shapes",
    "noise_matrices",
    "releases",
    "side_by_side",
]
