"""One sentence for each event of a job's history. Pure; `explain`, `--watch` and the demo say the same."""

from collections.abc import Callable

from rainbow_client.duration import format_duration
from rainbow_client.event_data import cluster_of, items, why_words, with_units
from rainbow_client.printable import printable
from rainbow_client.wording import cost_words, count, eta_words, number, reason_words, shape_words
from rainbow_protocol.messages.client import Event


def sentence(event: Event) -> str:
    """One event in words, without the time."""
    tell = _SENTENCES.get(event.event)
    return tell(event) if tell is not None else f"{printable(event.event)}{_reason(event)}"


def _submitted(event: Event) -> str:
    return f"submitted {printable(str(event.data.get('name') or event.job))}: {shape_words(event.data)}"


def _waiting(event: Event) -> str:
    words = with_units(reason_words(event.data))
    return words if words.startswith("waits ") else f"waits: {words}" if words else "waits"


def _offered(event: Event) -> str:
    asked = [cluster_of(item) for item in items(event, "clusters") if item.get("verdict") == "asked"]
    left_out = len(items(event, "clusters")) - len(asked)
    words = f"asked {', '.join(asked) or 'nobody'}"
    return words + (f"; left out {count(left_out, 'other')}" if left_out else "")


def _awarded(event: Event) -> str:
    bids = {cluster_of(bid): bid for bid in items(event, "bids")}
    winner = printable(str(event.data.get("winner")))
    bid = bids.get(winner, {})
    why = why_words(event, winner)
    return f"{winner} won: " + (
        why or f"starts {eta_words(number(bid.get('eta_s')))}, costs {cost_words(number(bid.get('cost')))}"
    )


def _late(event: Event) -> str:
    said = "No"
    if event.data.get("answer") != "no":
        eta, cost = number(event.data.get("eta_s")), number(event.data.get("cost"))
        said = f"Yes, {eta_words(eta)} for {cost_words(cost)}"
    return f"{cluster_of(event.data)} answered too late to count: {said}{_reason(event)}"


def _rejected(event: Event) -> str:
    reasons = [f"{cluster_of(item)}: {reason_words(item)}" for item in items(event, "clusters")]
    return "; ".join([f"rejected{_reason(event)}", *reasons])


def _ended(event: Event) -> str:
    words = event.event
    if event.data.get("cluster"):
        words += f" on {cluster_of(event.data)}"
    if event.data.get("exit_code") is not None:
        words += f" with exit code {printable(str(event.data['exit_code']))}"
    return words + _reason(event)


def _on_cluster(event: Event) -> str:
    native = event.data.get("native_id")
    return f"{event.event} on {cluster_of(event.data)}" + (
        f", known there as {printable(str(native))}" if native else ""
    )


def _returned(event: Event) -> str:
    words = f"{cluster_of(event.data)} gave it back without running it"
    if reason_words(event.data).startswith("withdrawn"):
        return f"{words}, so that it can go elsewhere"
    return words + _reason(event)


# --- a job that waits in a queue while there are better places -------------


def _reconsidered(event: Event) -> str:
    here, why = cluster_of(event.data, "from"), why_words(event, "")
    because = f": {why}" if why else ""
    if event.data.get("decision") == "move":
        return f"looked for a better place{because}; {here} is asked to give it back"
    return f"looked for a better place, and stayed on {here}{because}"


def _withdrawing(event: Event) -> str:
    to = f", so that it can go to {cluster_of(event.data, 'to')}" if event.data.get("to") else ""
    return f"{cluster_of(event.data)} is asked to give it back{to}"


def _moved(event: Event) -> str:
    return f"moved from {cluster_of(event.data, 'from')} to {cluster_of(event.data, 'to')}{gain_words(event)}"


def gain_words(event: Event) -> str:
    gain_s = number(event.data.get("gain_s"))
    return f", to start {format_duration(gain_s)} sooner" if gain_s and gain_s > 0 else ""


_SENTENCES: dict[str, Callable[[Event], str]] = {
    "submitted": _submitted,
    "rejected": _rejected,
    "waiting": _waiting,
    "offered": _offered,
    "declined": lambda event: f"nobody took it{_reason(event)}",
    "late": _late,
    "awarded": _awarded,
    "refused": lambda event: f"{cluster_of(event.data)} refused the award{_reason(event)}",
    "assigned": lambda event: f"{cluster_of(event.data)} accepted and was told to start it",
    "queued": _on_cluster,
    "running": _on_cluster,
    "returned": _returned,
    "reconsidered": _reconsidered,
    "withdrawing": _withdrawing,
    "moved": _moved,
    "stayed": lambda event: f"stayed on {cluster_of(event.data)}{_reason(event)}",
    "cancel_requested": lambda event: "somebody asked to cancel it",
    "disconnected": lambda event: f"lost the connection to {cluster_of(event.data)}; the job stays there",
    "reconnected": lambda event: f"{cluster_of(event.data)} is back",
    "completed": _ended,
    "failed": _ended,
    "cancelled": _ended,
    "lost": _ended,
}


def _reason(event: Event) -> str:
    words = reason_words(event.data)
    if words == f"exit code {event.data.get('exit_code')}":
        return ""  # it has just been said
    return f": {words}" if words else ""
