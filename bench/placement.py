"""Where jobs go, and what that is worth: real workloads in virtual time over a federation of simulated clusters.

    python bench/placement.py --trace CTC-SP2.swf.gz=338 --trace KTH-SP2.swf.gz=100 [--json] [--plot FILE]

The jobs of all logs arrive, as they did, at a federation of all the machines; each may go to any that is large
enough. Machines queue in the order of arrival with EASY backfill. `first`, `earliest`, `earliest+move` and
`clairvoyant` go through the daemon's real core and the agent's real forecast; the others only choose a machine:

    stay-home       its own
    random          any, by size
    round-robin     in turn
    least-loaded    the least work for each processor, by what those who run or wait have asked for
    first           the policy `first`: by what the daemon knows, nobody is asked
    earliest        the policy `earliest`: every job goes to its cluster at once, and stays there
    earliest+move   the same as the daemon is shipped: it keeps jobs until somebody can start them, and moves them
    clairvoyant     the same again, but forecasts know how long every job will run

Costs are those of the time that jobs ran. Logs have no prices: the largest machine asks 1 for a processor's hour,
every other one 1.25.
"""

import argparse
import gc
import multiprocessing
import os
import re
import sys
import time
from collections.abc import Mapping, Sequence
from concurrent.futures import Future, ProcessPoolExecutor
from pathlib import Path
from typing import Any

import orjson

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))  # also as a script, from anywhere

from bench import bars, swf
from bench.federation import Machine, replay, rides_of
from bench.outcome import TARGETS, Outcome, outcome
from bench.policies import WAYS, made

TRACES = Path(__file__).resolve().parents[2] / "shared" / "data" / "traces"
PRICE, PRICE_OF_OTHERS = 1.0, 1.25
REFERENCE_SHARE_MAX = 0.05
HEADER_LINES_MAX = 200


def machines_of(traces: Sequence[tuple[Path, int]], first: int | None = None) -> list[Machine]:
    """With `first`, only so many jobs of each log."""
    largest = max(processors for _, processors in traces)
    found = []
    for path, processors in traces:
        jobs = swf.read(path)[:first]
        if (too_big := max(job.processors for job in jobs)) > processors:
            raise swf.LogError(f"{path}: a job needs {too_big} processors; the machine cannot have only {processors}")
        price = PRICE if processors == largest else PRICE_OF_OTHERS
        found.append(Machine(path.name.partition(".")[0].lower(), processors, price, jobs))
    if len({machine.name for machine in found}) < len(found):
        raise swf.LogError("two logs have the same name; give one of the files another")
    return found


def measured(name: str, machines: list[Machine]) -> Outcome:
    """One whole replay."""
    rides = rides_of(machines)
    replay(rides, made(name, machines))
    return outcome(rides, machines)


def compared(machines: list[Machine], names: Sequence[str], workers: int) -> dict[str, Outcome]:
    """All of them, the longest first, each in a process of its own."""
    in_order = sorted(names, key=lambda name: -WAYS[name].toil)
    _Shared.machines = machines
    context = multiprocessing.get_context("fork")  # the logs are read once
    with ProcessPoolExecutor(min(workers, len(names)), mp_context=context) as pool:
        running: dict[str, Future[Outcome]] = {name: pool.submit(_in_worker, name) for name in in_order}
        return {name: running[name].result() for name in names}


class _Shared:
    machines: list[Machine]


def _in_worker(name: str) -> Outcome:
    gc.disable()  # there are no cycles worth a walk over a hundred thousand jobs
    begun = time.monotonic()
    found = measured(name, _Shared.machines)
    print(f"{name}: {time.monotonic() - begun:.0f} s", file=sys.stderr, flush=True)
    return found


def shares(results: Mapping[str, Outcome]) -> list[dict[str, Any]]:
    """How the targets are met, as far as both sides were measured."""
    rows = []
    for target in TARGETS:
        if target.policy in results and target.of in results:
            share = results[target.policy].mean_bsld / results[target.of].mean_bsld
            row = {"policy": target.policy, "of": target.of, "share": round(share, 3), "target": target.share}
            rows.append(row | {"met": share <= target.share})
    return rows


def references(results: Mapping[str, Outcome], machines: Sequence[Machine]) -> dict[str, dict[str, float]]:
    """The simulated machines, each with its own log alone, against the waits that the log itself tells."""
    alone = results.get("stay-home")
    if alone is None:
        return {}
    rows = {}
    for machine in machines:
        told = sum(job.wait_s for job in machine.jobs) / len(machine.jobs)
        rows[machine.name] = {"simulated_mean_wait_s": alone.mean_wait_s_of[machine.name], "log_mean_wait_s": told}
    return rows


def table(results: Mapping[str, Outcome], machines: Sequence[Machine]) -> str:
    lines = [f"{'':15}{'mean wait s':>13}{'mean bsld':>12}{'p95 bsld':>12}{'cost':>14}{'moves':>9}"]
    for name, one in results.items():
        numbers = f"{one.mean_wait_s:13,.0f}{one.mean_bsld:12,.2f}{one.p95_bsld:12,.1f}{one.cost:14,.0f}{one.moves:9,}"
        lines.append(f"{name:15}{numbers}")
    lines.append("")
    for row in shares(results):
        verdict = "met" if row["met"] else "MISSED"
        lines.append(
            f"{row['policy']} has {row['share']:.2f} of {row['of']}'s mean bsld (at most {row['target']}: {verdict})"
        )
    for name, row_ in references(results, machines).items():
        simulated, told = row_["simulated_mean_wait_s"], row_["log_mean_wait_s"]
        off = abs(simulated - told) / max(told, 1.0)
        verdict = "within" if off <= REFERENCE_SHARE_MAX else "MORE THAN"
        waits = f"mean wait {simulated:,.0f} s, its log says {told:,.0f} s"
        lines.append(f"{name} alone: {waits} ({verdict} {REFERENCE_SHARE_MAX:.0%})")
    return "\n".join(lines)


def as_json(results: Mapping[str, Outcome], machines: Sequence[Machine], seconds: float) -> bytes:
    data = {
        "policies": {name: one.as_data() for name, one in results.items()},
        "shares": shares(results),
        "references": references(results, machines),
        "seconds": round(seconds, 1),
    }
    return orjson.dumps(data, option=orjson.OPT_INDENT_2)


# --- the command ----------------------------------------------------------


def _trace(text: str) -> tuple[Path, int]:
    file, _, processors = text.rpartition("=")
    if not file or not processors.isdigit() or int(processors) < 1:
        raise argparse.ArgumentTypeError(f"expected FILE=PROCESSORS, as in KTH-SP2.swf.gz=100, got {text!r}")
    return Path(file), int(processors)


def _policies(text: str) -> list[str]:
    names = [name.strip() for name in text.split(",")]
    for name in names:
        if name not in WAYS:
            raise argparse.ArgumentTypeError(f"there is no {name!r}; there are {', '.join(WAYS)}")
    return names


def _usual_traces() -> list[tuple[Path, int]]:
    """The logs that lie beside the project, with the processors that their headers tell."""
    found = []
    for path in sorted(TRACES.glob("*.swf.gz")):
        told = re.search(r"^; *MaxProcs: *(\d+)", "".join(swf.header(path, HEADER_LINES_MAX)), re.MULTILINE)
        if told is not None:
            found.append((path, int(told.group(1))))
    return found


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--trace", type=_trace, action="append", metavar="FILE=PROCESSORS", help="a log, once for each")
    parser.add_argument("--policies", type=_policies, default=list(WAYS), metavar="A,B…", help="only these")
    parser.add_argument("--first", type=int, metavar="N", help="only the first N jobs of each log")
    parser.add_argument("--workers", type=int, default=os.cpu_count() or 1, help="processes (all cores)")
    parser.add_argument("--plot", nargs="?", const="placement.svg", metavar="FILE", help="draw it (placement.svg)")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    traces = options.trace or _usual_traces()
    if not traces:
        parser.error("name at least one log with --trace FILE=PROCESSORS")
    begun = time.monotonic()
    try:
        machines = machines_of(traces, options.first)
    except swf.LogError as mistake:
        parser.error(str(mistake))
    results = compared(machines, options.policies, options.workers)
    seconds = time.monotonic() - begun
    if options.json:
        print(as_json(results, machines, seconds).decode())
    else:
        jobs = sum(len(machine.jobs) for machine in machines)
        print(f"{jobs:,} jobs, {', '.join(f'{one.name} ({one.processors})' for one in machines)}, in {seconds:.0f} s\n")
        print(table(results, machines))
    if options.plot:
        title = "Mean bounded slowdown, " + " and ".join(machine.name for machine in machines)
        chart = bars.svg(title, "mean bounded slowdown", {name: one.mean_bsld for name, one in results.items()})
        Path(options.plot).write_text(chart)
        print(f"drawn into {options.plot}", file=sys.stderr)
    return 0


if __name__ == "__main__":
    sys.exit(main())
