"""The influenza site of the demo and a health survey, as test data of any size.

Nothing here is private and nothing here protects anybody: the people are made up.

>>> autumn = season(days=28, visitors=500, seed=7)
>>> sum(len(block) for block in autumn)
1500
"""

from ameles.simulate.files import write_csv, write_hourly_csv, write_parquet
from ameles.simulate.flaws import Flaws
from ameles.simulate.health_survey import HealthSurvey, health_survey
from ameles.simulate.visits import Season, Visits, season
from ameles.simulate.wave import REGIONS

__all__ = [
    "REGIONS",
    "Flaws",
    "HealthSurvey",
    "Season",
    "Visits",
    "health_survey",
    "season",
    "write_csv",
    "write_hourly_csv",
    "write_parquet",
]
