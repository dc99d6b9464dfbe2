"""A stream that this process has locked: its launch, its steps, its releases and its sinks."""
