"""Reconciling: a bill from a file, our books from the history of decisions. What they mean together is in
`rules.reconcile`."""
