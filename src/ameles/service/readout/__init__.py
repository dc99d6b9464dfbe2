"""Routes that read what was published; they import the nouns of ``core`` and FastAPI only."""
