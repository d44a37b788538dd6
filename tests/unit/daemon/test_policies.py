"""Policies by entry point: what is installed, what is refused, and what a site and its users may say."""

from collections.abc import Sequence
from importlib.metadata import EntryPoint
from typing import Any, ClassVar

import pytest

from rainbow_protocol.wishes import Wishes
from rainbowd import policies as edge
from rainbowd.core.selection.base import Bid, Facts, JobFacts, Ranking
from rainbowd.core.selection.earliest import Earliest
from rainbowd.core.selection.spillover import Spillover
from rainbowd.policies import GROUP, Policies, PolicyRefusedError, Site, why_not

OURS = ("balanced", "cheapest", "constraint", "earliest", "first", "random", "spillover")


class Lucky:
    name: ClassVar[str] = "lucky"
    asks: ClassVar[bool] = True
    measures: ClassVar[bool] = False

    def mistake(self, options: Facts) -> str | None:
        return None

    def rank(self, bids: Sequence[Bid], job: JobFacts) -> Ranking:
        return Ranking(tuple(bids), "luck")


class Broken(Lucky):
    name: ClassVar[str] = "broken"

    def __init__(self) -> None:
        raise RuntimeError("no luck today")


class Misnamed(Lucky):
    name: ClassVar[str] = "other"


class Silent:
    name: ClassVar[str] = "silent"


class Idle(Lucky):
    name: ClassVar[str] = "idle"
    rank: Any = None


A_READY_ONE = Lucky()


def installed(monkeypatch: pytest.MonkeyPatch, **named: str) -> Policies:
    points = [EntryPoint(name.replace("_", "-"), value, GROUP) for name, value in named.items()]
    monkeypatch.setattr(edge, "entry_points", lambda group: points if group == GROUP else [])
    return Policies.installed()


def here(name: str) -> str:
    return f"{__name__}:{name}"


def test_ours_are_installed_and_a_site_that_says_nothing_gets_the_earliest() -> None:
    found = Policies.installed()
    assert set(found.names) >= set(OURS)
    assert found.check(Site()).name == "earliest"
    assert [policy.asks for policy in found if policy.name in ("first", "earliest")] == [True, False]
    assert found.by_name()["random"] is found.get("random")
    assert found.get("nothing") is None


def test_others_may_add_theirs(monkeypatch: pytest.MonkeyPatch) -> None:
    assert installed(monkeypatch, lucky=here("Lucky")).names == ("lucky",)
    assert installed(monkeypatch, lucky=here("A_READY_ONE")).get("lucky") is A_READY_ONE


@pytest.mark.parametrize(
    ("name", "value", "words"),
    [
        ("gone", "no_such_package:Policy", "cannot be loaded: ModuleNotFoundError: No module named 'no_such_package'"),
        ("gone", here("Nothing"), "cannot be loaded: AttributeError: "),
        ("broken", here("Broken"), "cannot be loaded: RuntimeError: no luck today"),
        ("misnamed", here("Misnamed"), "calls itself 'other'; mend the package that brings it, or uninstall it"),
        ("silent", here("Silent"), "does not say whether it asks (True or False); mend the package"),
        ("idle", here("Idle"), "has no method 'rank'; mend the package"),
        ("Lucky", here("Lucky"), "must have a name of lower-case letters, digits and -, at most 63 of them; mend"),
        ("x" * 64, here("Lucky"), "must have a name of lower-case letters"),
    ],
)
def test_what_is_not_fit_is_refused_at_start(
    monkeypatch: pytest.MonkeyPatch, name: str, value: str, words: str
) -> None:
    with pytest.raises(PolicyRefusedError) as caught:
        installed(monkeypatch, **{name: value})
    assert str(caught.value).startswith(f"the policy {name!r} ({value}) {words}")


def test_two_of_one_name_are_one_too_many() -> None:
    with pytest.raises(PolicyRefusedError, match="two policies of the name 'lucky'; uninstall one"):
        Policies([Lucky(), Lucky()])


@pytest.mark.parametrize(
    ("site", "words"),
    [
        (Site("erliest"), "the default policy: there is no policy 'erliest'; did you mean 'earliest'?"),
        (
            Site(allowed=frozenset({"xyz"})),
            "an allowed policy: there is no policy 'xyz'; there are earliest, spillover",
        ),
        (
            Site(options={"spilover": {}}),
            "a policy with options: there is no policy 'spilover'; did you mean 'spillover'?",
        ),
        (Site(options={"earliest": {"a": 1}}), "the options of the default policy 'earliest': there is no option 'a'"),
        (Site("spillover"), "the options of the default policy 'spillover': order: list the clusters"),
    ],
)
def test_what_a_site_cannot_mean_is_refused_at_start(site: Site, words: str) -> None:
    with pytest.raises(PolicyRefusedError) as caught:
        Policies([Earliest(), Spillover()]).check(site)
    assert str(caught.value).startswith(words)


def test_a_site_may_leave_the_rest_of_the_options_to_its_users() -> None:
    site = Site(options={"spillover": {"threshold_s": 60}})
    both = Policies([Earliest(), Spillover()])
    assert both.check(site).name == "earliest"
    assert why_not(Wishes(policy="spillover", options={"order": "blue"}), both, site) is None
    assert why_not(Wishes(policy="spillover"), both, site) == (
        "the options of the policy 'spillover': order: list the clusters and @groups to prefer, "
        "as in order=blue,@cloud,red"
    )


def test_a_users_options_go_over_the_sites() -> None:
    site = Site(options={"spillover": {"threshold_s": 60, "order": "blue"}})
    assert site.options_for("spillover", {"threshold_s": 5}) == {"threshold_s": 5, "order": "blue"}
    assert site.options_for("earliest", {}) == {}


@pytest.mark.parametrize(
    ("wishes", "words"),
    [
        (Wishes(), None),
        (Wishes(policy="earliest"), None),
        (Wishes(policy="cheapest"), None),
        (Wishes(policy="chepest"), "there is no policy 'chepest'; did you mean 'cheapest'?"),
        (
            Wishes(policy="random"),
            "this site does not let users choose the policy 'random'; it allows cheapest, earliest",
        ),
        (Wishes(options={"a": 1}), "the options of the policy 'earliest': there is no option 'a'; it has none"),
    ],
)
def test_what_users_may_choose(wishes: Wishes, words: str | None) -> None:
    assert why_not(wishes, Policies.installed(), Site(allowed=frozenset({"cheapest"}))) == words
