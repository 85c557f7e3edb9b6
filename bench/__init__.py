"""How fast it is, as ratios to a bare loop over the same log in the same run: `python -m bench`."""
