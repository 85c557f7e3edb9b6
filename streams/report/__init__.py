"""What a replayed recording shows: tables, a report on each formula, a picture."""
