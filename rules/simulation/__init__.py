"""A provider, its users and a gate in one closed loop, to see what each formula costs. All chance is drawn up front."""
