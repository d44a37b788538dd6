"""The directory in which jobs run that name none: where it cannot be entered, this cluster can run next to nothing."""

import os
from pathlib import Path


def why_not_enterable(path: Path) -> str | None:
    """None if a process of ours could run there. Asked of the system itself, as modes alone do not tell."""
    try:
        os.stat(f"{path}/.")  # noqa: PTH116 - a Path would drop the dot, which is what asks for the right to enter
    except OSError as cause:
        return cause.strerror
    except ValueError as cause:  # a character that no path can hold
        return str(cause)
    return None
