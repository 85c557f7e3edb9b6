"""Delivery of records to steps: exact under crashes, rebalances, zombies and replaced logs, a whole batch at a time.

Start with `step`, the contract. `rows` holds the rules that make state and position one, `lease` is the heart,
`transport` the part that knows Faust's insides. Steps are declared with `deliver` on an app of `build_app`, and run
with `run`.

A limit of the embedded broker (tansu 0.6.0), not of this package: two members that leave a group in the same instant
wedge the group for good. Stop such workers one after another, or start over under another name.
"""
