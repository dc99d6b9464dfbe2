"""The owner's secret look at a source: exact facts, for whoever already holds the data.

This is the one exception to the rule that Ameles shows no exact count.  It is not part of a run: it
spends nothing and changes no stream, position or sink, and no run depends on what it finds.
"""
