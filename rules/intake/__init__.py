"""Intake: the bytes that others write become the records of `rules.records`, or a rejection that says why.

Reading order: fields, wire, own, litellm, cloudevents, log_line, faults, reader.
"""
