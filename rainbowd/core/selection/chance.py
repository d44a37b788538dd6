"""Chance that anybody can repeat: drawn from a seed that is said in words, and from nothing else."""

import hashlib
from collections.abc import Sequence

from rainbowd.core.selection.base import Bid, Facts, JobFacts
from rainbowd.core.selection.options import text

SEED_CHARS_MAX = 64
_BITS = 53  # as many as a float holds exactly


def seed_option(options: Facts) -> str:
    return text(options, "seed", chars_max=SEED_CHARS_MAX)


def seed_of(job: JobFacts) -> str:
    """Another attempt draws again; the same attempt never does."""
    own = seed_option(job.options)
    return f"{job.id}/{job.attempt}/{own}" if own else f"{job.id}/{job.attempt}"


def draw(seed: str, cluster: str) -> float:
    """From 0 up to 1. Each cluster draws for itself: who else takes part does not change what it draws."""
    digest = hashlib.sha256(f"{seed}\n{cluster}".encode(errors="surrogatepass")).digest()
    return (int.from_bytes(digest[:8], "big") >> (64 - _BITS)) / float(1 << _BITS)


def drawn(seed: str, bids: Sequence[Bid]) -> Bid:
    """One of them, each as likely as any other."""
    return min(bids, key=lambda bid: (draw(seed, bid.cluster), bid.cluster))
