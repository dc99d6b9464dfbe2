"""All measures: what ``measure = ...`` in a plan can be, one line each."""

from __future__ import annotations

from ameles.measures.alert import Alert
from ameles.measures.count import Count
from ameles.measures.cropped_mean import CroppedMean
from ameles.measures.density import Density
from ameles.measures.distinct import Distinct
from ameles.measures.heavy import Heavy
from ameles.measures.histogram import Histogram
from ameles.measures.incidence import Incidence
from ameles.measures.mean import Mean
from ameles.measures.measure import Measure
from ameles.measures.modular import Modular
from ameles.measures.quantile import Quantile
from ameles.measures.reports import Reports
from ameles.measures.sum import Sum
from ameles.measures.top import Top

MEASURES: dict[str, type[Measure]] = {
    "count": Count,
    "sum": Sum,
    "mean": Mean,
    "histogram": Histogram,
    "distinct": Distinct,
    "quantile": Quantile,
    "top": Top,
    "alert": Alert,
    "density": Density,
    "cropped_mean": CroppedMean,
    "heavy": Heavy,
    "incidence": Incidence,
    "modular": Modular,
    "reports": Reports,
}
