"""The worker's HTTP face: metrics, readiness, and the way in for events. Start reading at server.py, then events.py.

Boundaries: `rules.intake` decides what a record means, `streams.ship` how it is addressed. This package guards the
door, cuts bodies into records, and answers when Kafka has acknowledged them.
"""
