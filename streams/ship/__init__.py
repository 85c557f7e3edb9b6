"""Shipping: lines of files and pipes become records on Kafka. Start reading at run.py.

Boundaries: `rules.intake` decides what a line means. This package reads, addresses, sends and remembers the place.
"""
