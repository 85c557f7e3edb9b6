"""Delivery: how records, state and positions travel, in one place."""
