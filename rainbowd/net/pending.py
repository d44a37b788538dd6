"""What a client's request needs again when the core has answered it: refusals made at the edge, minted secrets."""

from rainbow_protocol.messages.client import SubmitResult
from rainbowd.core.commands import Origin
from rainbowd.net.session import Session


class PendingAnswers:
    def __init__(self) -> None:
        self._refused: dict[Origin, dict[int, SubmitResult]] = {}
        self._cancels: dict[Origin, tuple[dict[str, str], list[str]]] = {}
        self._minted: dict[Origin, tuple[str, str]] = {}

    def keep_refused(self, origin: Origin, refused: dict[int, SubmitResult]) -> None:
        if refused:
            self._refused[origin] = refused

    def merge_submit(self, origin: Origin, answered: list[SubmitResult]) -> list[SubmitResult]:
        """Put the edge's refusals back at their positions among the core's answers."""
        refused = self._refused.pop(origin, {})
        rest = iter(answered)
        total = len(answered) + len(refused)
        return [refused[position] if position in refused else next(rest) for position in range(total)]

    def keep_cancel(self, origin: Origin, states: dict[str, str], unknown: list[str]) -> None:
        self._cancels[origin] = (states, unknown)

    def cancel_states(self, origin: Origin) -> tuple[dict[str, str], list[str]] | None:
        return self._cancels.pop(origin, None)

    def keep_credentials(self, origin: Origin, secret: str, token: str) -> None:
        self._minted[origin] = (secret, token)

    def credentials(self, origin: Origin) -> tuple[str, str] | None:
        return self._minted.pop(origin, None)

    def forget(self, session: Session) -> None:
        """A session's requests in flight have nobody to answer any more."""
        for kept in (self._refused, self._cancels, self._minted):
            for origin in [origin for origin in kept if origin.session == session.id]:
                del kept[origin]
