"""A real daemon: its process, its sockets, its database."""
