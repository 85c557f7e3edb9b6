"""What tenants used, as it is asked for: the index of the roll-ups, tables made of them, and CSV."""
