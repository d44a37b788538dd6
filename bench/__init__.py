"""Benches: each prints its figures beside the machine's own limits, measured in the same run."""
