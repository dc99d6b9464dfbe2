"""Why keys of the data need care, in the words that plans and questions about tables share."""

from __future__ import annotations

# Why keys are declared.
REVEALING = "a key that appears only when data arrives reveals who is in the data"
# Why keys that are not declared need a delta.
ONE_PERSON = (
    "a key that only one person has would reveal that person; delta is the probability of that"
)
