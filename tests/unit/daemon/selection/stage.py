"""Plays a golden file of the policies: lines that begin with `>` set the table, and `> rank` shows who wins and why.

    > policy NAME [OPTION=VALUE …]      lines that begin with | after it are the text of its option `priorities`
    > job ID/ATTEMPT [FACT=VALUE …]
    > bid CLUSTER ETA COST [load=N] [groups=a,b] [eta_low_s=…] [state.KEY=VALUE …] [match.KEY=VALUE …]
                                        ETA and COST are - where nobody was asked
    > no CLUSTER                        it answers No
    > away CLUSTER                      its bid is taken from the table
    > rank

A value is JSON if it can be, and a text otherwise.
"""

import json
from typing import Any

from rainbowd.core.selection.balanced import Balanced
from rainbowd.core.selection.base import Bid, JobFacts, Policy, Ranking, Value
from rainbowd.core.selection.cheapest import Cheapest
from rainbowd.core.selection.constraint import Constraint
from rainbowd.core.selection.earliest import Earliest
from rainbowd.core.selection.first import First
from rainbowd.core.selection.random import Random
from rainbowd.core.selection.spillover import Spillover

ALL: list[Policy] = [Earliest(), Cheapest(), Balanced(), Spillover(), Random(), First(), Constraint()]


class Table:
    def __init__(self) -> None:
        self.policy: Policy = Earliest()
        self.options: dict[str, Value] = {}
        self.job = JobFacts("j1", 1)
        self.bids: dict[str, Bid] = {}

    def do(self, verb: str, words: list[str]) -> list[str]:
        if verb == "rank":
            return self.rank()
        if verb == "policy":
            self.policy = next(policy for policy in ALL if policy.name == words[0])
            self.options = _values(words[1:])
        elif verb == "job":
            job, _, attempt = words[0].partition("/")
            self.job = JobFacts(job, int(attempt), {}, _values(words[1:]))
        elif verb == "bid":
            self.bids[words[0]] = _bid(*words)
        elif verb == "no":
            self.bids[words[0]] = Bid(words[0], 1, False, reason="busy")
        elif verb == "away":
            del self.bids[words[0]]
        else:
            raise AssertionError(f"nobody knows what {verb!r} means")
        return []

    def rank(self) -> list[str]:
        if (mistake := self.policy.mistake(self.options)) is not None:
            return [f"mistake: {mistake}"]
        job = JobFacts(self.job.id, self.job.attempt, self.options, self.job.facts)
        return _shown(self.policy.rank(list(self.bids.values()), job))


def play(text: str) -> str:
    table, lines = Table(), list[str]()
    for line in text.splitlines():
        if line.startswith("  "):
            continue
        lines.append(line)
        if line.startswith("|"):
            said = table.options.get("priorities", "")
            table.options["priorities"] = f"{said}{line[2:]}\n"
        elif line.startswith(">"):
            verb, *words = line[1:].split()
            lines += [f"  {shown}" for shown in table.do(verb, words)]
    return "\n".join(lines) + "\n"


def _bid(cluster: str, eta: str, cost: str, *more: str) -> Bid:
    known: dict[str, dict[str, Value]] = {"state": {}, "match": {}, "": {}}
    for name, value in _values(list(more)).items():
        where, _, key = name.rpartition(".")
        known[where][key] = value
    own: dict[str, Any] = known[""]
    groups = frozenset(str(own.pop("groups", "")).split(",")) - {""}
    answer: dict[str, Any] = {"asked": False} if eta == "-" else {"eta_s": float(eta), "cost": float(cost)}
    return Bid(cluster, 1, True, groups=groups, state=known["state"], match=known["match"], **answer, **own)


def _values(words: list[str]) -> dict[str, Value]:
    return {name: _value(value) for name, _, value in (word.partition("=") for word in words)}


def _value(word: str) -> Value:
    try:
        value = json.loads(word)
    except ValueError:
        return word
    return value if isinstance(value, bool | int | float | str) else word


def _shown(ranking: Ranking) -> list[str]:
    lines = [f"{place}. {bid.cluster}" for place, bid in enumerate(ranking.order, start=1)]
    lines += [f"not {cluster}: {reason}" for cluster, reason in sorted(ranking.passed_over.items())]
    return [*lines, f"because {ranking.why}"]
