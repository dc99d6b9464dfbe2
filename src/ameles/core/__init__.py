"""The nouns: guarantees, losses, errors, mechanisms, runs, releases, refusals.

Only the standard library; everything else in Ameles stands on these.
"""
