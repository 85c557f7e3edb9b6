"""The shell of blastdoor: Kafka, Redis, HTTP. Start reading at pipeline.py."""
