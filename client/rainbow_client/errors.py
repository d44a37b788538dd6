"""Everything the SDK raises on purpose, as one tree.

    RainbowError
    ├── ConfigError         the configuration cannot be used as it is
    ├── InvalidRequest      wrong on its face; it was not sent
    ├── ConnectionFailed    the daemon cannot be reached, or stopped answering
    │   └── SessionLost     the connection broke; the client mends it, callers see it only when that failed
    ├── Refused             the daemon answered: no, with a stable code
    │   ├── Unauthorized    no credential opened a session
    │   └── UnknownJob      no such job, or not one that these tokens may see
    └── FederationError     a process of `rainbow up` did not start, stop or stay

Each carries a stable `code`, a sentence, and a hint that says what to do next.
"""

# ruff: noqa: N818 - the names say what happened; an Error at the end of each would say it twice
from collections.abc import Sequence
from typing import Any

from rainbow_protocol.errors import HINTS, ErrorCode


class RainbowError(Exception):
    code = "error"

    def __init__(self, message: str, hint: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint


class ConfigError(RainbowError):
    code = "config"


class InvalidRequest(RainbowError):
    code = "invalid"


class ConnectionFailed(RainbowError):
    code = "unreachable"


class SessionLost(ConnectionFailed):
    code = "connection_lost"

    def __init__(self, message: str, reconnect: bool = True) -> None:
        super().__init__(message)
        self.reconnect = reconnect


class Refused(RainbowError):
    def __init__(self, code: str, message: str, hint: str = "") -> None:
        super().__init__(message, hint)
        self.code = code


class Unauthorized(Refused):
    def __init__(self, message: str) -> None:
        super().__init__(ErrorCode.UNAUTHORIZED, message, HINTS[ErrorCode.UNAUTHORIZED])


class UnknownJob(Refused):
    """`found` is what the daemon said about the other jobs of the same request."""

    def __init__(self, jobs: Sequence[str], found: Sequence[Any] = ()) -> None:
        words = f"there is no job {jobs[0]}" if len(jobs) == 1 else f"there are no jobs {', '.join(jobs)}"
        super().__init__(ErrorCode.UNKNOWN_JOB, f"{words} that you can see", HINTS[ErrorCode.UNKNOWN_JOB])
        self.jobs = list(jobs)
        self.found = list(found)


class FederationError(RainbowError):
    code = "federation"
