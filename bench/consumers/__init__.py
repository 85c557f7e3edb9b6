"""What the worker is compared with. Each runs in a process of its own and prints one line of JSON."""
