"""The state of clusters: what is shown of it, and who may set it."""

from pathlib import Path

import orjson
import pytest

from rainbow_client.cluster_words import forecast_words, state_rows
from tests.unit.client.conftest import Rainbow
from tests.unit.client.fake_daemon import REGISTRATION, FakeDaemon, Message

FORECAST = {"forecast_n": 120, "forecast_error_p50_s": 12.0, "forecast_error_p90_s": 300.0, "forecast_bias_s": 30.0}
SHOWN: Message = {
    "type": "cluster",
    "name": "one",
    "state": "online",
    "described": "totals",
    "counts": {"node": 4, "core": 32},
    "keys": {"cost_per_node_hour": 0.5, "currency": "EUR", "spot": True, **FORECAST},
    "draining": "new cooling on Friday",
    "groups": ["cloud", "gpu"],
}


@pytest.mark.parametrize(
    ("keys", "words"),
    [
        ({}, None),
        ({"forecast_n": 0, "forecast_error_p50_s": 0}, None),
        ({"forecast_n": 1, "forecast_error_p50_s": 3.0}, "of 1 start, half came within 3s of what was said"),
        (
            FORECAST,
            "of 120 starts, half came within 12s of what was said, nine in ten within 5m; "
            "on average 30s later than said",
        ),
        (
            FORECAST | {"forecast_bias_s": -90},
            "of 120 starts, half came within 12s of what was said, nine in ten within 5m; "
            "on average 1m 30s earlier than said",
        ),
        (
            FORECAST | {"forecast_bias_s": 0.2},
            "of 120 starts, half came within 12s of what was said, nine in ten within 5m; "
            "neither too early nor too late on average",
        ),
        ({"forecast_n": "many", "forecast_error_p50_s": 1}, None),
    ],
)
def test_forecast_errors_in_words(keys: Message, words: str | None) -> None:
    assert forecast_words(keys) == words


def test_rows_tell_the_forecast_once() -> None:
    assert state_rows(SHOWN["keys"]) == [("cost_per_node_hour", "0.5"), ("currency", "EUR"), ("spot", "true")]
    assert state_rows({"forecast_n": 0}) == [("forecast_n", "0")]


async def test_show_tells_of_a_cluster_that_drains(rainbow: Rainbow, configured: Path, daemon: FakeDaemon) -> None:
    daemon.handlers["show_cluster"] = lambda _: [SHOWN]
    lines = (await rainbow("clusters", "show", "one")).out.splitlines()
    assert lines[1:4] == [
        "Draining: new cooling on Friday. It takes no new jobs; those it has go on.",
        "Groups cloud, gpu",
        "Forecasts of 120 starts, half came within 12s of what was said, nine in ten within 5m; "
        "on average 30s later than said",
    ]
    rows = [line.split() for line in lines[-4:]]
    assert rows == [["KEY", "VALUE"], ["cost_per_node_hour", "0.5"], ["currency", "EUR"], ["spot", "true"]]
    document = orjson.loads((await rainbow("clusters", "show", "--json", "one")).out)
    assert (document["draining"], document["groups"]) == (SHOWN["draining"], ["cloud", "gpu"])


async def test_the_list_marks_clusters_that_drain(rainbow: Rainbow, configured: Path, daemon: FakeDaemon) -> None:
    known = {"state": "online", "resources": None, "free": None}
    items = [known | {"name": "one", "draining": "cooling"}, known | {"name": "two"}]
    items.append(known | {"name": "three", "state": "offline", "draining": "cooling"})
    daemon.handlers["clusters"] = lambda _: [{"type": "cluster_list", "items": items}]
    lines = (await rainbow("clusters")).out.splitlines()
    assert [line.split()[1] for line in lines[1:]] == ["draining", "online", "offline"]
    [one, two, _] = orjson.loads((await rainbow("clusters", "--json")).out)
    assert (one["state"], one["draining"], two["draining"], two["keys"]) == ("online", "cooling", None, {})


async def test_state_shows(rainbow: Rainbow, configured: Path, daemon: FakeDaemon) -> None:
    daemon.handlers["show_cluster"] = lambda _: [SHOWN]
    told = await rainbow("state", "one")
    assert told.out.splitlines()[:3] == [
        "one  online, draining: new cooling on Friday",
        "KEY                 VALUE",
        "cost_per_node_hour  0.5",
    ]
    assert (await rainbow("state", "show", "one")).out == told.out
    document = orjson.loads((await rainbow("state", "--json", "one")).out)
    assert document == {"cluster": "one", "state": "online", "draining": SHOWN["draining"], "keys": SHOWN["keys"]}
    daemon.handlers["show_cluster"] = lambda _: [SHOWN | {"keys": {}, "draining": None}]
    assert "It has no keys." in (await rainbow("state", "one")).out


async def test_state_is_set_with_the_registration_secret(
    rainbow: Rainbow, configured: Path, daemon: FakeDaemon
) -> None:
    daemon.handlers["set_state"] = lambda _: [{"type": "done"}]
    done = await rainbow("state", "set", "one", "cost_per_node_hour=0.5", "spot=true", "zone=eu-1", 'tier="3"')
    assert (done.code, done.err) == (0, "")
    assert daemon.sessions[-1] == REGISTRATION
    [request] = daemon.of_type("set_state")
    assert request["keys"] == {"cost_per_node_hour": 0.5, "spot": True, "zone": "eu-1", "tier": "3"}
    done = await rainbow("state", "unset", "one", "spot", "--json")
    assert orjson.loads(done.out) == {"cluster": "one", "set": {}, "unset": ["spot"]}
    assert daemon.of_type("set_state")[-1]["unset"] == ["spot"]


@pytest.mark.parametrize(
    ("args", "words"),
    [
        (("set", "one"), "Missing argument 'K=V...'"),
        (("set", "one", "spot"), "'spot' is not of the form KEY=VALUE"),
        (("set", "one", "a-b=1"), "has characters that are not allowed"),
        (("set", "Not_A_Name", "a=1"), "cluster: has characters that are not allowed"),
        (("unset", "one"), "Missing argument 'K...'"),
        (("one", "two"), "unexpected extra argument"),
    ],
)
async def test_mistakes(rainbow: Rainbow, configured: Path, args: tuple[str, ...], words: str) -> None:
    done = await rainbow("state", *args)
    assert done.code == 2
    assert words in done.err
