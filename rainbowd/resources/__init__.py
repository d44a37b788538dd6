"""What clusters have and what jobs need. Pure: no I/O, no clock."""
