"""Files that hold secrets: readable by their owner only, and never seen half-written."""

import os
import secrets
import stat
from pathlib import Path

OWNER_ONLY = 0o600


def write_private(path: Path, text: str) -> None:
    """Replaces the file as a whole: a crash leaves the old one or the new one."""
    target = path.resolve()  # a config that is a link stays one
    target.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    beside = target.with_name(f".{target.name}.{secrets.token_hex(4)}")
    descriptor = os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, OWNER_ONLY)
    try:
        with os.fdopen(descriptor, "w", encoding="utf-8") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        beside.replace(target)
    except BaseException:
        beside.unlink(missing_ok=True)
        raise


def readable_by_others(path: Path) -> bool:
    return bool(path.stat().st_mode & (stat.S_IRWXG | stat.S_IRWXO))
