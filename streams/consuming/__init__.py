"""The plan of what may be used up before packages expire: from decisions to numbers, once a day.

Boundaries: `rules.consumption` says how many tokens; nothing here or there sends a call.
"""
