"""Polling: providers are asked for balances, which go to Kafka as readings. Start reading at poller.py.

Boundaries: `rules.polling` decides when to ask, `rules.providers` what an answer means. This package asks, holds the
lease that makes one poller of many, and sends.
"""
