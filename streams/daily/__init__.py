"""Usage that stands in `daily_usage` counters only: a task that calls the provider past every gateway counts there.

Boundaries: the counters are somebody else's and only read; what was told of them is remembered beside them in Redis.
"""
