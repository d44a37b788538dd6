"""A job's output to this command's own: stdout to stdout, stderr to stderr, byte for byte."""

import codecs
import sys
from collections.abc import AsyncGenerator, Mapping
from contextlib import aclosing
from typing import Any

from rainbow_client.cli.documents import output_document
from rainbow_client.cli.json_lines import print_json
from rainbow_client.output import Output


async def pass_on(pieces: AsyncGenerator[Output, None], as_json: bool, whose: Mapping[str, Any] | None = None) -> bool:
    """Returns whether there was any. `whose` is told with each piece, as JSON, where there are several jobs."""
    # JSON holds text only; a character cut in two by a chunk's end is put together again.
    decoders = {stream: codecs.getincrementaldecoder("utf-8")("replace") for stream in ("stdout", "stderr")}
    any_came = False
    async with aclosing(pieces):
        async for piece in pieces:
            any_came = True
            if as_json:
                print_json({**(whose or {}), **output_document(piece, decoders[piece.stream].decode(piece.data))})
                continue
            file = sys.stdout if piece.stream == "stdout" else sys.stderr
            file.flush()
            file.buffer.write(piece.data)
            file.buffer.flush()
    return any_came
