"""What both endpoints share: the base of all messages, errors, farewells."""

from typing import Annotated, Literal

from pydantic import Field, StringConstraints

from rainbow_protocol import limits
from rainbow_protocol.errors import HINTS, ErrorCode
from rainbow_protocol.ids import JOB_ID_PATTERN
from rainbow_protocol.wire import WireModel

JobId = Annotated[str, StringConstraints(pattern=JOB_ID_PATTERN)]
Attempt = Annotated[int, Field(ge=1, le=limits.ATTEMPT_MAX)]
RequestId = Annotated[int, Field(ge=0, le=limits.REQUEST_ID_MAX)]
Offset = Annotated[int, Field(ge=0, le=limits.OFFSET_BYTES_MAX)]


class Error(WireModel):
    """Something was refused. `ref` is the request it answers, if it answers one."""

    type: Literal["error"] = "error"
    code: str
    message: str
    hint: str = ""
    ref: RequestId | None = None


class Goodbye(WireModel):
    """The sender is about to close, and why. The other side reconnects unless told not to."""

    type: Literal["goodbye"] = "goodbye"
    reason: str
    reconnect: bool = True


def error(code: ErrorCode, message: str, ref: int | None = None) -> Error:
    return Error(code=code.value, message=message, hint=HINTS[code], ref=ref)
