"""Orders of an operator: what `blastdoor kill` and its like put onto Kafka, the log of them, and when they show.

Boundaries: `rules.intake` decides what an order means, the judge what follows from it. The topics are the only memory:
whoever asks whether an id was used reads them, so a crash between two writes leaves nothing half claimed.
"""
