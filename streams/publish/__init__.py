"""Decisions to Redis, newer over older only. Start reading at publisher.py; the .lua files say what Redis does."""
