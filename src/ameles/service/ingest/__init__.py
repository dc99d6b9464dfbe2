"""Events that are posted: the framing of a body, the way to the engine, the answer."""
