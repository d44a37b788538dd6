"""Small documents of every form, to be read as they are or with one thing changed."""

import copy
import json
from pathlib import Path
from typing import Any

import pytest

from rainbow_protocol.jobspec import JobspecError, Reading, read
from rainbow_protocol.resources import Resource

Document = dict[str, Any]

FLUX: Document = {
    "version": 1,
    "resources": [
        {
            "type": "node",
            "count": 4,
            "with": [{"type": "slot", "count": 2, "label": "default", "with": [{"type": "core", "count": 3}]}],
        }
    ],
    "tasks": [{"command": ["app", "--fast"], "slot": "default", "count": {"per_slot": 1}}],
    "attributes": {
        "system": {
            "duration": 3600.0,
            "cwd": "/home/ada",
            "environment": {"HOME": "/home/ada"},
            "queue": "debug",
            "job": {"name": "engine"},
        }
    },
}
NEXTGEN: Document = {
    "version": 1,
    "name": "two steps",
    "requires": {
        "compiler": [{"name": "spack", "field": "type", "match": "package", "attribute": "name", "value": "gcc"}]
    },
    "resources": {
        "small": {"type": "node", "count": 1, "with": [{"type": "core", "count": 4}]},
        "large": {"type": "node", "count": 8, "with": [{"type": "cores", "count": 16}, {"type": "gpu", "count": 2}]},
    },
    "tasks": [
        {"name": "build", "command": ["make"], "resources": "small", "requires": "compiler"},
        {"name": "run", "command": ["./run"], "resources": "large", "depends_on": ["build"]},
    ],
}
RAINBOW: Document = {
    "version": 1,
    "resources": {"ior": {"type": "node", "replicas": 2, "with": [{"type": "core", "count": 2}]}},
    "task": {"command": ["ior"], "resources": {"io": {"match": [{"type": "shm"}]}}},
    "attributes": {"parameter": {"seconds_per_gb": 0.4}},
}
KUBERNETES: Document = {
    "apiVersion": "batch/v1",
    "kind": "Job",
    "metadata": {"name": "pi"},
    "spec": {
        "parallelism": 3,
        "activeDeadlineSeconds": 600,
        "template": {
            "spec": {
                "restartPolicy": "Never",
                "nodeSelector": {"kubernetes.io/arch": "amd64"},
                "containers": [
                    {
                        "name": "pi",
                        "image": "docker.io/library/perl:5.34",
                        "command": ["perl", "-e"],
                        "args": ["print 3.14"],
                        "workingDir": "/data",
                        "env": [{"name": "DIGITS", "value": "200"}],
                        "resources": {
                            "requests": {"cpu": 2, "memory": "4Gi"},
                            "limits": {"cpu": 8, "nvidia.com/gpu": 1},
                        },
                    }
                ],
            }
        },
    },
}
ALL = {"flux": FLUX, "nextgen": NEXTGEN, "rainbow": RAINBOW, "kubernetes": KUBERNETES}


def changed(document: Document, path: str, value: Any) -> Document:
    """A copy with another value at `tasks.0.slot`; with ... as the value, without it."""
    document = copy.deepcopy(document)
    *way, last = [int(step) if step.isdigit() else step for step in path.split("/")]
    place: Any = document
    for step in way:
        place = place[step]
    if value is ...:
        del place[last]
    else:
        place[last] = value
    return document


def reading(document: Document | str, **options: Any) -> Reading:
    return read(document if isinstance(document, str) else json.dumps(document), **options)


def refusal(document: Document | str, **options: Any) -> str:
    with pytest.raises(JobspecError) as caught:
        reading(document, **options)
    return str(caught.value)


def only_forest(found: Reading) -> list[Resource]:
    assert found.request.needs is not None
    [need] = found.request.needs
    [forest] = need.alternatives
    return forest


def shared_data() -> Path:
    """Public documents beside the repository, where there are some."""
    folder = Path(__file__).resolve().parents[5] / "shared" / "data"
    if not folder.is_dir():
        pytest.skip(
            "the folder shared/data with public jobspecs is not beside this repository", allow_module_level=True
        )
    return folder
