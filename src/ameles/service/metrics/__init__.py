"""Releases for Prometheus and Grafana; it imports the nouns of ``core``, FastAPI and numpy only."""
