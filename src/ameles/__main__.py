"""``python -m ameles``: the command, where its script is not on the path."""

from ameles.cli import main

main()
