"""The daemon's parts, one at a time."""
