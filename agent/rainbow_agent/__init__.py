"""rainbow-agent: describes a cluster to the daemon, bids on offers, runs what it wins, reports back."""
