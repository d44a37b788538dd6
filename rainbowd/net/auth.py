"""Who a credential belongs to. Only hashes are kept; a credential is looked up by its hash.

Secrets are 256 random bits, so a plain SHA-256 is enough and finding one by
timing a look-up of hashes is hopeless.
"""

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass

from rainbowd.core.grants import retired
from rainbowd.core.state import Cluster


@dataclass(frozen=True, slots=True)
class Registrar:
    """Holds the registration secret: may register, describe and delete clusters, and nothing else."""


@dataclass(frozen=True, slots=True)
class AgentOf:
    cluster: str
    generation: int = 0


@dataclass(frozen=True, slots=True)
class UserOf:
    """Holds a cluster's submit token."""

    cluster: str
    generation: int = 0

    @property
    def identity(self) -> str:
        """What tells this cluster from others that had its name before."""
        return retired(self.cluster, self.generation) if self.generation else self.cluster


@dataclass(frozen=True, slots=True)
class UserOfDeleted:
    """Holds the token of a cluster that was deleted: sees the jobs of its time, by this grant, and that is all."""

    grant: str


Principal = Registrar | AgentOf | UserOf | UserOfDeleted


def fingerprint(credential: str) -> bytes:
    # A header's bytes that are not ASCII come as surrogates; they are no credential of ours, and no accident either.
    return hashlib.sha256(credential.encode(errors="surrogateescape")).digest()


class Credentials:
    def __init__(self, registration_secret: str | None, clusters: Iterable[Cluster]) -> None:
        self._principals: dict[bytes, Principal] = {}
        self._deleted: dict[UserOf, UserOfDeleted] = {}
        self.deletions = 0  # since the start
        if registration_secret is not None:
            self._principals[fingerprint(registration_secret)] = Registrar()
        for cluster in clusters:
            self.add(cluster)

    def add(self, cluster: Cluster) -> None:
        self._principals[cluster.secret_hash] = AgentOf(cluster.name, cluster.generation)
        self._principals[cluster.token_hash] = UserOf(cluster.name, cluster.generation)

    def retire(self, token_hash: bytes, grant: str) -> None:
        """The token of a cluster that was deleted."""
        self._principals[token_hash] = UserOfDeleted(grant)

    def delete(self, name: str, generation: int, secret_hash: bytes, token_hash: bytes, grant: str) -> None:
        """The cluster is deleted now: its secret opens nothing from here on."""
        self._principals.pop(secret_hash, None)
        self.retire(token_hash, grant)
        self._deleted[UserOf(name, generation)] = UserOfDeleted(grant)
        self.deletions += 1

    def identify(self, credential: str) -> Principal | None:
        return self._principals.get(fingerprint(credential))

    def as_of_now(self, principal: Principal) -> Principal:
        """Who that is now: between a handshake and its session the cluster may have been deleted."""
        return self._deleted.get(principal, principal) if isinstance(principal, UserOf) else principal


def bearer(header: str | None) -> str | None:
    """The credential of an `Authorization: Bearer …` header."""
    scheme, _, credential = (header or "").partition(" ")
    return credential.strip() or None if scheme.lower() == "bearer" else None


def owner_of(grants: frozenset[str]) -> str:
    """A short stable name for a set of grants: jobs with the same are seen by the same people."""
    return hashlib.sha256("\n".join(sorted(grants)).encode()).hexdigest()[:16]
