"""Results for programs on stdout: one JSON document a line."""

import sys
from typing import Any

import orjson


def print_json(document: Any) -> None:
    sys.stdout.flush()
    sys.stdout.buffer.write(orjson.dumps(document, option=orjson.OPT_APPEND_NEWLINE))
    sys.stdout.buffer.flush()
