"""A stream that this process holds: its launch, its steps, its releases and its sinks."""
