"""What a deleted cluster's grant is called: its name may be used again, by others, who must not see the old jobs."""

_MARK = "~"  # not in the name of any cluster


def retired(name: str, generation: int) -> str:
    return f"{name}{_MARK}{generation}"


def deleted_name(grant: str) -> str | None:
    """The name that the cluster had, if this is the grant of one that was deleted."""
    name, mark, _ = grant.partition(_MARK)
    return name if mark else None
