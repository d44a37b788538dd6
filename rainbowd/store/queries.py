"""Reads queries.sql once: `QUERIES["save_job"]` is the text under `-- name: save_job`."""

import re
from importlib.resources import files


def _read() -> dict[str, str]:
    text = files("rainbowd.store").joinpath("queries.sql").read_text()
    parts = re.split(r"^-- name: (\w+)\n", text, flags=re.MULTILINE)
    return {name: body.strip() for name, body in zip(parts[1::2], parts[2::2], strict=True)}


QUERIES = _read()
