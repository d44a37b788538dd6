"""Replays one seed, or tries many: `python -m tests.sim --seed 17`, `python -m tests.sim --from 0 --count 100000`."""

import argparse

from tests.sim.federation import Federation


def main() -> None:
    parser = argparse.ArgumentParser(description="Replay a seed of the simulation, or try many.")
    parser.add_argument("--seed", type=int, help="replay this one and print every job's history")
    parser.add_argument("--agents", choices=["model", "real"], default="model")
    parser.add_argument("--from", type=int, default=0, dest="first")
    parser.add_argument("--count", type=int, default=1_000)
    given = parser.parse_args()
    if given.seed is None:
        for seed in range(given.first, given.first + given.count):
            try:
                Federation(seed, given.agents).run()
            except Exception:
                print(f"seed {seed} fails; replay with: python -m tests.sim --agents {given.agents} --seed {seed}")
                raise
        print(f"{given.count} seeds passed")
        return
    federation = Federation(given.seed, given.agents)
    try:
        federation.run()
    finally:
        for job, lines in sorted(federation.daemon.history.items()):
            print(f"\n{job}: runs {federation.runs.get(job, [])}")
            for line in lines:
                print(f"  {line.at:10.3f} {line.event:16} {line.state:10} {line.data}")


if __name__ == "__main__":
    main()
