"""From a decision in the history, or a recording, to an explanation that a person or a script can read."""
