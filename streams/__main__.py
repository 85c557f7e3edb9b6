"""`python -m streams` is `blastdoor`: how a parent starts a worker with its own interpreter."""

from streams.cli import main

if __name__ == "__main__":
    main()
