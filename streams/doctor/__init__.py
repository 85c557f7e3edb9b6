"""The doctor: looks at everything a worker stands on, and says of each finding what to do. Start reading at run.py."""
