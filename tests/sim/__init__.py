"""A seeded simulation of the federation: virtual time, an unreliable network, processes that crash anywhere."""
