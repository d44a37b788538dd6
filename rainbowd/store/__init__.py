"""Durable state: SQLite in WAL mode, synchronous=FULL. All SQL of the daemon is in this package's .sql files."""
