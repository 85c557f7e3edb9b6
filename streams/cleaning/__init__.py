"""Keys of ours in Redis that outlived their use: found by scanning, reported, and removed if the operator says so.

Boundaries: only families of keys that the contract names are ever touched; everything else in that Redis is foreign.
"""
