"""The SDK and the `rainbow` command. Imports only the protocol.

    async with rainbow_client.Client("ws://localhost:8642", tokens=[token]) as rainbow:
        job = await rainbow.submit(["hostname"], tasks=2)
        [status] = await rainbow.wait([job.job])

Names load on first use, so that `rainbow --version` does not pay for a WebSocket library.
"""

import os
from importlib import import_module
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rainbow_client.client import Client
    from rainbow_client.config import Config, ConfiguredCluster
    from rainbow_client.errors import ConfigError, ConnectionFailed, InvalidRequest, RainbowError, Refused, UnknownJob
    from rainbow_client.output import Output
    from rainbow_client.requests import job_request, read_jobspec
    from rainbow_protocol.job import JobRequest, Shape, Totals
    from rainbow_protocol.messages.client import (
        ClusterInfo,
        ClusterShown,
        Event,
        Explanation,
        JobStatus,
        SatisfyAnswer,
        SubmitResult,
    )
    from rainbow_protocol.wishes import After, Wishes

_HOMES = {
    "Client": "rainbow_client.client",
    "Config": "rainbow_client.config",
    "ConfiguredCluster": "rainbow_client.config",
    "ConfigError": "rainbow_client.errors",
    "ConnectionFailed": "rainbow_client.errors",
    "InvalidRequest": "rainbow_client.errors",
    "RainbowError": "rainbow_client.errors",
    "Refused": "rainbow_client.errors",
    "UnknownJob": "rainbow_client.errors",
    "Output": "rainbow_client.output",
    "job_request": "rainbow_client.requests",
    "read_jobspec": "rainbow_client.requests",
    "JobRequest": "rainbow_protocol.job",
    "Shape": "rainbow_protocol.job",
    "Totals": "rainbow_protocol.job",
    "ClusterInfo": "rainbow_protocol.messages.client",
    "ClusterShown": "rainbow_protocol.messages.client",
    "Event": "rainbow_protocol.messages.client",
    "Explanation": "rainbow_protocol.messages.client",
    "JobStatus": "rainbow_protocol.messages.client",
    "SatisfyAnswer": "rainbow_protocol.messages.client",
    "SubmitResult": "rainbow_protocol.messages.client",
    "After": "rainbow_protocol.wishes",
    "Wishes": "rainbow_protocol.wishes",
}

__all__ = [
    "After",
    "Client",
    "ClusterInfo",
    "ClusterShown",
    "Config",
    "ConfigError",
    "ConfiguredCluster",
    "ConnectionFailed",
    "Event",
    "Explanation",
    "InvalidRequest",
    "JobRequest",
    "JobStatus",
    "Output",
    "RainbowError",
    "Refused",
    "SatisfyAnswer",
    "Shape",
    "SubmitResult",
    "Totals",
    "UnknownJob",
    "Wishes",
    "job_request",
    "load_config",
    "read_jobspec",
]


def load_config(path: "str | PathLike[str] | None" = None) -> "Config":
    """The configuration that the command `rainbow` would use; with `path`, that file."""
    from rainbow_client.config_search import load_config as load

    return load(None if path is None else Path(path), os.environ, Path.cwd())


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_HOMES[name]), name)
