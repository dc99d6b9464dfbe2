"""In processes that tests start: the same stand-in for files as in the tests (see conftest)."""

import os
import sys
from pathlib import Path

if server := os.environ.get("AMELES_TEST_SERVER"):
    sys.path.append(str(Path(__file__).parents[2]))
    from tests.stand_in import install

    install(server)
