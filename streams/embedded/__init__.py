"""The parts that come as wheels: broker and Redis on 127.0.0.1, for `up`, the demo and tests. Not for production."""
