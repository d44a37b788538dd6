"""What the tokens of a session open: clusters that it may use, and jobs of clusters that are no more."""

from rainbowd.net.auth import UserOf, UserOfDeleted, owner_of


class Grants:
    def __init__(self) -> None:
        self._users: dict[str, UserOf] = {}
        self._deleted: set[str] = set()
        self._work_out()

    def add(self, principal: UserOf | UserOfDeleted) -> None:
        if isinstance(principal, UserOf):
            self._users[principal.cluster] = principal
        else:
            self._deleted.add(principal.grant)
        self._work_out()

    def cluster_deleted(self, name: str, generation: int, grant: str) -> None:
        if self._users.get(name) == UserOf(name, generation):
            del self._users[name]
            self.add(UserOfDeleted(grant))

    def owner(self, clusters: frozenset[str]) -> tuple[str, tuple[str, ...]]:
        """To whom a job belongs that may go to these clusters, and these in order."""
        if clusters == self.usable:
            return self._owner, self.in_order
        return owner_of(frozenset(self._users[name].identity for name in clusters)), tuple(sorted(clusters))

    def _work_out(self) -> None:
        self.usable = frozenset(self._users)
        self.seeing = self.usable | self._deleted
        self.in_order = tuple(sorted(self.usable))
        self._owner = owner_of(frozenset(user.identity for user in self._users.values()))
