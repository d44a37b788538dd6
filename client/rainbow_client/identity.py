"""Who is asking, by their own account: the daemon shares fairly between users, and clusters may have rules for them."""

import getpass

from rainbow_protocol import limits
from rainbow_protocol.wire import one_line


def login_name() -> str | None:
    """The login name of this process, fit for a line of a table; None where the system has no name for it."""
    try:
        name = getpass.getuser()
    except (KeyError, OSError, ImportError):  # a container may run as a number that nobody gave a name
        return None
    # What is not valid in the environment comes as surrogates, which no frame can carry.
    clean = one_line(name.encode(errors="replace").decode()).strip()[: limits.USER_CHARS_MAX]
    return clean or None
