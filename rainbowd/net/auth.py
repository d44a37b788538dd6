"""Who a credential belongs to. Only hashes are kept; a credential is looked up by its hash.

Secrets are 256 random bits, so a plain SHA-256 is enough and finding one by
timing a look-up of hashes is hopeless.
"""

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass

from rainbowd.core.state import Cluster


@dataclass(frozen=True, slots=True)
class Registrar:
    """Holds the registration secret: may register clusters, and nothing else."""


@dataclass(frozen=True, slots=True)
class AgentOf:
    cluster: str


@dataclass(frozen=True, slots=True)
class UserOf:
    """Holds a cluster's submit token."""

    cluster: str


Principal = Registrar | AgentOf | UserOf


def fingerprint(credential: str) -> bytes:
    # A header's bytes that are not ASCII come as surrogates; they are no credential of ours, and no accident either.
    return hashlib.sha256(credential.encode(errors="surrogateescape")).digest()


class Credentials:
    def __init__(self, registration_secret: str | None, clusters: Iterable[Cluster]) -> None:
        self._principals: dict[bytes, Principal] = {}
        if registration_secret is not None:
            self._principals[fingerprint(registration_secret)] = Registrar()
        for cluster in clusters:
            self.add(cluster)

    def add(self, cluster: Cluster) -> None:
        self._principals[cluster.secret_hash] = AgentOf(cluster.name)
        self._principals[cluster.token_hash] = UserOf(cluster.name)

    def identify(self, credential: str) -> Principal | None:
        return self._principals.get(fingerprint(credential))


def bearer(header: str | None) -> str | None:
    """The credential of an `Authorization: Bearer …` header."""
    scheme, _, credential = (header or "").partition(" ")
    return credential.strip() or None if scheme.lower() == "bearer" else None


def owner_of(grants: frozenset[str]) -> str:
    """A short stable name for a set of grants: jobs with the same are seen by the same people."""
    return hashlib.sha256("\n".join(sorted(grants)).encode()).hexdigest()[:16]
