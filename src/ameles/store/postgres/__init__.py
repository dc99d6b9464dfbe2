"""A store in a Postgres database."""
