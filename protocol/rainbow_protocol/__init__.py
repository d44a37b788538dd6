"""Rainbow's wire protocol, version 1: messages, limits, error codes, ids.

Everything that daemon, agent and client must agree on lives here and nowhere
else. This package imports neither of them. `docs/protocol.md` is normative.
"""

PROTOCOL_VERSION = 1
SUBPROTOCOL = "rainbow.v1"
AGENT_PATH = "/v1/agent"
CLIENT_PATH = "/v1/client"
