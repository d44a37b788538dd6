"""Small made-up logs."""

from bench.easy import Ride
from bench.swf import Job


def job(number: int, processors: int, requested_s: float, run_s: float | None = None, submit_s: float = 0.0) -> Job:
    ran_s = requested_s if run_s is None else run_s
    return Job(number, submit_s, 0.0, ran_s, processors, requested_s, user=number % 3)


def ride(number: int, processors: int, requested_s: float, run_s: float | None = None) -> Ride:
    return Ride(number, f"job{number}", "home", job(number, processors, requested_s, run_s), "ada")
