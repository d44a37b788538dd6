"""Mistakes in the words of the command line: `-n/--tasks`, where the request calls the field `tasks`."""

import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from rainbow_client.errors import InvalidRequest


@contextmanager
def naming_options(options: Mapping[str, str]) -> Iterator[None]:
    """Options by the field that they fill; what a message says about a part of a field is about the option."""
    try:
        yield
    except InvalidRequest as mistake:
        field = re.compile(rf"(^|; )({'|'.join(options)})(?:\.[^:;]*)?(?=: )")
        words = field.sub(lambda found: found[1] + options[found[2]], mistake.message)
        hint = "Correct the option that the message names." if words != mistake.message else mistake.hint
        raise InvalidRequest(words, hint) from None
