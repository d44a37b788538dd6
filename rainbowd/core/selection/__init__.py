"""Policies: each orders the bids of an auction by a total order. One file a policy."""
