"""rainbow-agent: describes a cluster to the daemon, bids on offers, runs what it wins, reports back."""

__version__ = "0.1.0"
