"""The SDK and the `rainbow` command. Imports only the protocol."""
