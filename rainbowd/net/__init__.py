"""Sockets: sessions of agents and clients, credentials, and the translation between wire and core."""
