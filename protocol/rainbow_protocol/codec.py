"""Frames to messages and back. A frame that cannot be taken is a `ProtocolError`, never anything else."""

from typing import Any, Generic, TypeVar, cast

import orjson
from pydantic import BaseModel, TypeAdapter, ValidationError

from rainbow_protocol import limits
from rainbow_protocol.errors import ErrorCode, ProtocolError
from rainbow_protocol.messages.agent import FromAgent, ToAgent
from rainbow_protocol.messages.client import FromClient, ToClient
from rainbow_protocol.wire import one_line

M = TypeVar("M")

# Pydantic's common complaints in the words of a person; the rest keeps its own.
_WORDS = {
    "missing": "is missing",
    "greater_than_equal": "must be at least {ge}",
    "greater_than": "must be more than {gt}",
    "less_than_equal": "must be at most {le}",
    "less_than": "must be less than {lt}",
    "int_type": "must be a whole number",
    "int_parsing": "must be a whole number",
    "int_from_float": "must be a whole number",
    "float_type": "must be a number",
    "float_parsing": "must be a number",
    "finite_number": "must be a finite number",
    "string_type": "must be a text",
    "string_too_long": "must have at most {max_length} characters",
    "string_pattern_mismatch": "has characters that are not allowed there",
    "bool_type": "must be true or false",
    "list_type": "must be a list",
    "dict_type": "must be an object",
    "model_type": "must be an object",
    "literal_error": "must be {expected}",
    "too_long": "must have at most {max_length} entries",
}
_TOO_SHORT = {
    "string_too_short": "must have at least {min_length} characters",
    "too_short": "must have at least {min_length} entries",
}


class Decoder(Generic[M]):
    """Reads the messages of one endpoint in one direction."""

    def __init__(self, union: Any) -> None:
        self._adapter: TypeAdapter[M] = TypeAdapter(union)

    def decode(self, frame: str | bytes) -> M:
        if isinstance(frame, bytes):
            raise ProtocolError(ErrorCode.MALFORMED, "binary frames are not part of rainbow.v1")
        # `isascii` is a look at a flag: only text with other characters is encoded to be measured.
        size = len(frame) if frame.isascii() else len(frame.encode(errors="surrogatepass"))
        if size > limits.FRAME_BYTES_MAX:
            raise ProtocolError(ErrorCode.TOO_LARGE, f"a frame may have {limits.FRAME_BYTES_MAX} bytes")
        try:
            document = orjson.loads(frame)
        except orjson.JSONDecodeError as cause:
            raise ProtocolError(ErrorCode.MALFORMED, f"not JSON: {cause.msg} at character {cause.pos}") from None
        if not isinstance(document, dict) or not isinstance(document.get("type"), str):
            raise ProtocolError(ErrorCode.MALFORMED, "a message is a JSON object with a string field 'type'")
        try:
            return self._adapter.validate_python(document)
        except ValidationError as cause:
            raise _explain(cause, document) from None


def encode(message: BaseModel) -> bytes:
    return orjson.dumps(message.model_dump())


def describe(cause: ValidationError, skip: int = 0) -> str:
    """The first mistakes of a validation in words: `items.3.shape.tasks: must be at least 1`."""
    mistakes = []
    for mistake in cause.errors(include_url=False, include_input=False)[:3]:
        where = one_line(".".join(str(step) for step in mistake["loc"][skip:])[: limits.MISTAKE_PATH_CHARS_MAX])
        words = _in_words(mistake["type"], mistake.get("ctx", {}), mistake["msg"])
        mistakes.append(f"{where}: {words}" if where else words)
    more = cause.error_count() - len(mistakes)
    return "; ".join(mistakes) + (f"; and {more} more" if more > 0 else "")


def _in_words(kind: str, context: dict[str, Any], otherwise: str) -> str:
    context = {
        key: int(value) if isinstance(value, float) and value.is_integer() else value for key, value in context.items()
    }
    if kind in _TOO_SHORT:
        return "must not be empty" if context.get("min_length") == 1 else _TOO_SHORT[kind].format(**context)
    return _WORDS[kind].format(**context) if kind in _WORDS else otherwise.removeprefix("Value error, ")


def _explain(cause: ValidationError, document: dict[str, Any]) -> ProtocolError:
    ref = document.get("id")
    ref = ref if type(ref) is int and 0 <= ref <= limits.REQUEST_ID_MAX else None
    kind = str(document["type"])[:64]
    first = cause.errors(include_url=False, include_context=False, include_input=False)[0]
    if first["type"] == "union_tag_invalid":
        return ProtocolError(ErrorCode.UNKNOWN_TYPE, f"unknown message type {kind!r}", ref)
    # A list directly in the message is a batch, and a batch can be split.
    code = ErrorCode.TOO_LARGE if first["type"] == "too_long" and len(first["loc"]) == 2 else ErrorCode.INVALID
    return ProtocolError(code, f"{kind}: {describe(cause, skip=1)}", ref)


# The names say who speaks: `from_agent` is read by the daemon, `to_agent` by the agent.
from_agent = cast("Decoder[FromAgent]", Decoder(FromAgent))
to_agent = cast("Decoder[ToAgent]", Decoder(ToAgent))
from_client = cast("Decoder[FromClient]", Decoder(FromClient))
to_client = cast("Decoder[ToClient]", Decoder(ToClient))
