"""The counting core, compiled: what `rules` does for each event, done for many at once.

Where it is missing, `rules` does it alone, with the same answers."""
