"""The owner's secret look at a source: exact facts, for whoever already holds the data.

The one exception to the rule that nothing tells exact counts.  It is no part of a run: it spends
nothing and changes no stream, position or sink, and nothing that it finds changes what a run does.
"""
