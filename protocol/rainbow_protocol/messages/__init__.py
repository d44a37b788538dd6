"""The messages of rainbow.v1. `agent` and `client` hold one endpoint each, `common` what both share."""
