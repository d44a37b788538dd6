"""Amounts of resources in words, the same in what the daemon prepares for people and in what the command prints."""

_DECIMAL = ("B", "kB", "MB", "GB", "TB", "PB", "EB")
_BINARY = ("B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB")
# These types are told in bytes, unless the number is too small for that: then somebody counted modules.
_IN_BYTES = frozenset({"memory", "storage", "ram", "disk"})
_BYTES_MIN = 1_000_000
_WITHOUT_PLURAL = frozenset({"memory", "storage", "ram", "power", "bandwidth"})


def bytes_words(amount: int | float) -> str:
    """`64 GiB` if that is exactly what it is, else in powers of ten with three digits: `905 GB`."""
    if isinstance(amount, int) and amount:
        power = min((amount.bit_length() - 1) // 10, len(_BINARY) - 1)
        hundredths, rest = divmod(amount * 100, 1024**power)
        if power and not rest and hundredths < 100_000:
            return f"{hundredths / 100:g} {_BINARY[power]}"
    power, value = 0, float(amount)
    while value >= 999.5 and power < len(_DECIMAL) - 1:
        power, value = power + 1, value / 1000
    return f"{value:.3g} {_DECIMAL[power]}"


def number_words(kind: str, amount: int | float) -> str:
    """The number alone, for a column that stands beside the type."""
    if kind in _IN_BYTES and amount >= _BYTES_MIN:
        return bytes_words(amount)
    return str(amount) if isinstance(amount, int) else f"{amount:g}"


def amount_words(kind: str, amount: int | float) -> str:
    """`1 cluster`, `36 cores`, `905 GB memory`."""
    number = number_words(kind, amount)
    in_bytes = " " in number
    return f"{number} {kind if amount == 1 or in_bytes else plural(kind)}"


def plural(kind: str) -> str:
    """Only of what looks like a word: `nvidia.com/gpu` is a name and stays one."""
    if not kind.isalpha() or kind in _WITHOUT_PLURAL or kind.endswith("is"):
        return kind
    if kind.endswith(("s", "x", "ch", "sh")):
        return f"{kind}es"
    if kind.endswith("y") and kind[-2:-1] not in "aeiou":
        return f"{kind[:-1]}ies"
    return f"{kind}s"
