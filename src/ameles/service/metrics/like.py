"""The version of Prometheus with which the answers are compared."""

LIKE = "2.42.0"
