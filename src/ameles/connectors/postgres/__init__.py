"""Tables of Postgres, as a source and as a sink."""
