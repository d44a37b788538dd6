"""`constraint`: prioritised steps (filter, calc, sort, select) over facts of job, clusters and bids.

The option `priorities` is YAML (see `steps`). The bids go through the steps of the first priority, the earliest first;
if nobody is left, all of them go through those of the second, and so on. A cluster for which a step cannot be
worked out, because it lacks a name or divides by zero, falls out there. The option `seed` adds to what `select: random`
draws from.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import ClassVar

from rainbowd.core.selection.arithmetic import ExpressionError, Number, number_of, truth_of
from rainbowd.core.selection.base import Bid, Facts, JobFacts, Ranking, Score, Value
from rainbowd.core.selection.bids import by_start, nobody, yeses
from rainbowd.core.selection.chance import drawn, seed_of, seed_option
from rainbowd.core.selection.expressions import CONSTANTS, Evaluator, Expression
from rainbowd.core.selection.options import MistakenOptionError, mistake_in, text, unknown
from rainbowd.core.selection.steps import TEXT_CHARS_MAX, Plan, Priority, Step, label, plan_of

WORK_MAX = 16_384  # parts of expressions evaluated in one ranking: a hundredth of a second or two
SHOWN_CHARS = 80  # of an expression, in a reason
REASON_CHARS = 400
_OPTIONS = ("priorities", "seed")


class Constraint:
    name: ClassVar[str] = "constraint"
    asks: ClassVar[bool] = True
    measures: ClassVar[bool] = True

    def __init__(self) -> None:
        self._evaluator = Evaluator()  # keeps nothing from one expression to the next

    def mistake(self, options: Facts) -> str | None:
        return unknown(options, _OPTIONS) or mistake_in(_read, options) or mistake_in(seed_option, options)

    def rank(self, bids: Sequence[Bid], job: JobFacts) -> Ranking:
        try:
            plan, seed = _read(job.options), seed_of(job)
        except MistakenOptionError as mistake:
            return nobody(bids, f"the policy's options are mistaken: {mistake}")
        candidates = sorted(yeses(bids), key=by_start)
        if not candidates:
            return Ranking((), "nobody said Yes")
        most = max(1, WORK_MAX // plan.work)
        too_many = f"only the {most} earliest were looked at: for more, the expressions are too long"
        fell_out = {bid.cluster: [too_many] for bid in candidates[most:]}
        entrants = [(bid, facts_of(bid, job)) for bid in candidates[:most]]
        empty: list[int] = []
        for priority in plan.priorities:
            run = _Run(priority, self._evaluator, [_Entrant(bid, dict(facts)) for bid, facts in entrants])
            run.go()
            for cluster, reason in run.fell_out.items():
                fell_out.setdefault(cluster, []).append(reason)
            if run.left:
                return _ranking(run, seed, fell_out, empty)
            empty.append(priority.number)
        return Ranking((), "no cluster passed the steps of any priority", {}, _passed_over(fell_out))


def facts_of(bid: Bid, job: JobFacts) -> dict[str, Value]:
    """Everything an expression can name. What is nearer to this bid hides what is further from it.

    So a job's parameter never hides what a cluster says of itself.
    """
    own: dict[str, Value | None] = {
        "cluster": bid.cluster,
        "eta_s": bid.eta_s,
        "eta_low_s": bid.eta_low_s,
        "eta_high_s": bid.eta_high_s,
        "cost": bid.cost,
        "load": bid.load,
        "round": bid.round,
    }
    known = {**job.facts, **bid.match, **bid.state, **own, **CONSTANTS}
    return {name: value for name, value in known.items() if isinstance(value, bool | int | float | str)}


@dataclass(slots=True)
class _Entrant:
    bid: Bid
    facts: dict[str, Value]
    sorted_by: tuple[Number, ...] = ()  # the last sort first, as it counts most


@dataclass(slots=True)
class _Run:
    """The steps of one priority, with who is left and why the others are not."""

    priority: Priority
    evaluator: Evaluator
    left: list[_Entrant]
    fell_out: dict[str, str] = field(default_factory=dict)
    last_sort: Step | None = None

    def go(self) -> None:
        for step in self.priority.steps:
            if step.expression is not None:
                self.left = [one for one in self.left if self._passes(step, step.expression, one)]
            if step.kind in ("sort_ascending", "sort_descending"):
                self.left.sort(key=lambda one: one.sorted_by[0], reverse=step.kind == "sort_descending")
                self.last_sort = step

    def _passes(self, step: Step, expression: Expression, one: _Entrant) -> bool:
        try:
            value = self.evaluator.value(expression, one.facts)
            if step.kind == "filter":
                if not truth_of(value):
                    raise ExpressionError(f"{_short(step.text, SHOWN_CHARS)} does not hold")
            elif step.kind == "calc":
                one.facts[step.name] = value
            else:
                one.sorted_by = (number_of(value), *one.sorted_by)
        except ExpressionError as reason:
            self.fell_out[one.bid.cluster] = f"{label(self.priority.number, step)}: {reason}"
            return False
        return True


def _ranking(run: _Run, seed: str, fell_out: Mapping[str, Sequence[str]], empty: Sequence[int]) -> Ranking:
    number, left = run.priority.number, run.left
    bids = [one.bid for one in left]
    if run.priority.select == "last":
        bids.reverse()  # so that, if it refuses, the last of the others comes next
    elif run.priority.select == "random":
        chosen = drawn(seed, bids)
        bids = [chosen, *(bid for bid in bids if bid is not chosen)]
    scores: dict[str, Score] = {one.bid.cluster: (number, *one.sorted_by, one.bid.cluster) for one in left}
    others = {cluster: reasons for cluster, reasons in fell_out.items() if cluster not in scores}
    return Ranking(tuple(bids), _why(run, bids[0], seed, empty), scores, _passed_over(others))


def _passed_over(fell_out: Mapping[str, Sequence[str]]) -> dict[str, str]:
    return {cluster: _short("; ".join(reasons), REASON_CHARS) for cluster, reasons in fell_out.items()}


def _short(words: str, chars: int) -> str:
    return words if len(words) <= chars else words[: chars - 1] + "…"


def _why(run: _Run, chosen: Bid, seed: str, empty: Sequence[int]) -> str:
    how, count = run.priority.select, len(run.left)
    if how == "random":
        words = f"drew {chosen.cluster} at random from {count} (seed {seed})"
    elif count == 1:
        words = f"left only {chosen.cluster}"
    else:
        by = "by their start" if run.last_sort is None else _sort_words(run, run.last_sort, chosen)
        words = f"chose {chosen.cluster}, the {how} of {count} {by}"
    skipped = ", ".join(map(str, empty))
    return f"priority {run.priority.number} {words}" + (f"; priority {skipped} left nobody" if empty else "")


def _sort_words(run: _Run, step: Step, chosen: Bid) -> str:
    value = next(one.sorted_by[0] for one in run.left if one.bid is chosen)
    direction = "smallest" if step.kind == "sort_ascending" else "largest"
    return f"by {_short(step.text, SHOWN_CHARS)}, {direction} first ({value:.6g})"


def _read(options: Facts) -> Plan:
    words = text(options, "priorities", chars_max=TEXT_CHARS_MAX)
    if not words.strip():
        raise MistakenOptionError("priorities: say which steps to take, as YAML (docs/policies.md)")
    return plan_of(words)
