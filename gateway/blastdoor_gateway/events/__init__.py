"""Usage events on their way to the engine."""
