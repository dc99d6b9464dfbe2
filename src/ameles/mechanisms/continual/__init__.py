"""From one-shot to continual: sparse vector, monitors, the transformation, and its limits."""
