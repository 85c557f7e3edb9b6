"""What `blastdoor demo` shows: two recorded incidents on their real way through Kafka and Redis, and what each formula
would have made of them. Start at run.py."""
