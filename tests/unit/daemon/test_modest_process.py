"""The process that reads documents starts where its unit forbids it to be nice, too."""

from typing import NoReturn

import pytest

from rainbowd.resources import workshop_process


def test_a_process_that_may_not_lower_its_priority_reads_all_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    def forbidden(_: int) -> NoReturn:
        raise PermissionError(1, "Operation not permitted")

    limited: list[int] = []
    monkeypatch.setattr(workshop_process.os, "nice", forbidden)
    monkeypatch.setattr(workshop_process.resource, "setrlimit", lambda what, _: limited.append(what))
    monkeypatch.setattr(workshop_process.Path, "write_text", lambda *_: 0)
    workshop_process._be_modest(workshop_process.Bounds(1, 1))
    assert workshop_process.resource.RLIMIT_AS in limited
