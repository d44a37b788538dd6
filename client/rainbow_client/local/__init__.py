"""A federation on one machine: a daemon and clusters as ordinary processes in one directory."""
