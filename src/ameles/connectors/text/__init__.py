"""Lines of text: how they are cut, parsed and handed to DuckDB."""
