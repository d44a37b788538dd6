"""The one way in which a document is refused."""

from rainbow_protocol.limits import MISTAKE_PATH_CHARS_MAX, REASON_CHARS_MAX
from rainbow_protocol.wire import one_line


class JobspecError(Exception):
    """`path` leads into the document (`tasks[0].slot`), or is empty; `message` says what is wrong there."""

    def __init__(self, path: str, message: str) -> None:
        self.path = one_line(path)[:MISTAKE_PATH_CHARS_MAX]
        self.message = message if len(message) <= REASON_CHARS_MAX else f"{message[: REASON_CHARS_MAX - 1]}…"
        super().__init__(f"{self.path}: {self.message}" if self.path else self.message)
