"""In processes that tests start: the same stand-in for files, and the same changed module, as in
the tests (see conftest and mutation)."""

import os
import sys
from pathlib import Path

_TREE = str(Path(__file__).parents[2])

if "AMELES_MUTANT" in os.environ or "AMELES_REACHED" in os.environ:
    sys.path.append(_TREE)
    from tests.mutation import hook

    hook.install()

if server := os.environ.get("AMELES_TEST_SERVER"):
    sys.path.append(_TREE)
    from tests.stand_in import install

    install(server)
