"""Where alerts go: a sender per kind of receiver, the words it sends, and the order and pace in which it does."""
