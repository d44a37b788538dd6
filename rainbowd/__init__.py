"""rainbowd, the daemon: sessions, auctions, the resource model, durable state."""

__version__ = "0.1.0"
