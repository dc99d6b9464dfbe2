"""What the benchmark of the service consists of: servers, senders, readers."""
