"""Settings: which source wins, and that every mistake is named by its key and where it was made."""

from pathlib import Path
from typing import Any

import pytest
from pydantic import BaseModel, ConfigDict, Field, model_validator
from pydantic_settings import SettingsConfigDict

from rainbow_protocol.service.settings import ConfigError, ServiceSettings


class Price(BaseModel):
    model_config = ConfigDict(extra="forbid")
    per_node_hour: float = Field(default=0, ge=0)
    per_core_hour: float = Field(default=0, ge=0)


class Example(ServiceSettings):
    model_config = SettingsConfigDict(env_prefix="RAINBOW_TEST_", env_nested_delimiter="__")
    listen: str = "default"
    bid_window_ms: int = Field(default=5, ge=1, le=100)
    price: Price = Price()
    low: int = 0
    high: int = 9

    @model_validator(mode="after")
    def _in_order(self) -> "Example":
        if self.low > self.high:
            raise ValueError("low must not exceed high")
        return self


class Strict(ServiceSettings):
    model_config = SettingsConfigDict(env_prefix="RAINBOW_TEST_")
    name: str


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "settings.yaml"


def load(file: Path, text: str, **flags: Any) -> Example:
    file.write_text(text)
    return Example.load(file, flags)


def mistakes(file: Path, text: str, **flags: Any) -> list[str]:
    with pytest.raises(ConfigError) as caught:
        load(file, text, **flags)
    return str(caught.value).splitlines()


def test_flags_win_over_variables_over_the_file_over_defaults(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert Example.load(None, {}).listen == "default"
    assert load(file, "").listen == "default"
    assert load(file, "listen: file").listen == "file"
    monkeypatch.setenv("RAINBOW_TEST_LISTEN", "variable")
    assert load(file, "listen: file").listen == "variable"
    assert load(file, "listen: file", listen="flag").listen == "flag"
    assert load(file, "listen: file", listen=None).listen == "variable"  # a flag that was not given


def test_parts_of_one_setting_may_come_from_different_sources(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RAINBOW_TEST_PRICE__PER_CORE_HOUR", "2")
    price = load(file, "price: {per_node_hour: 1, per_core_hour: 1}").price
    assert (price.per_node_hour, price.per_core_hour) == (1, 2)
    monkeypatch.setenv("RAINBOW_TEST_PRICE", '{"per_node_hour": 3}')
    assert load(file, "").price == Price(per_node_hour=3, per_core_hour=2)


def test_a_mistake_in_the_file_names_file_and_key(file: Path) -> None:
    assert mistakes(file, "bid_window_ms: soon") == [
        f"{file}: bid_window_ms: Input should be a valid integer, unable to parse string as an integer"
    ]


def test_a_mistake_in_a_variable_names_the_variable(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RAINBOW_TEST_BID_WINDOW_MS", "101")
    (mistake,) = mistakes(file, "bid_window_ms: 1")
    assert mistake == "$RAINBOW_TEST_BID_WINDOW_MS: Input should be less than or equal to 100"


def test_a_mistake_in_a_flag_names_the_flag(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RAINBOW_TEST_BID_WINDOW_MS", "1")
    (mistake,) = mistakes(file, "bid_window_ms: 1", bid_window_ms=0)
    assert mistake == "--bid-window-ms: Input should be greater than or equal to 1"


def test_a_mistake_in_a_part_names_the_source_of_that_part(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RAINBOW_TEST_PRICE__PER_CORE_HOUR", "-2")
    first, second = mistakes(file, "price: {per_node_hour: -1}")
    assert first.startswith(f"{file}: price.per_node_hour: ")
    assert second.startswith("$RAINBOW_TEST_PRICE__PER_CORE_HOUR: ")


def test_a_variable_that_should_be_json_and_is_not(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RAINBOW_TEST_PRICE", "cheap")
    assert mistakes(file, "") == ["$RAINBOW_TEST_PRICE: expected JSON, as its value has several parts"]


def test_unknown_keys_are_named_with_the_known_ones(file: Path) -> None:
    (mistake,) = mistakes(file, "lisen: x")
    assert mistake == f"{file}: lisen: unknown key; known are bid_window_ms, high, listen, low, price"
    (mistake,) = mistakes(file, "price: {per_nod_hour: 1}")
    assert mistake.startswith(f"{file}: price.per_nod_hour: ")


def test_all_mistakes_are_told_at_once(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RAINBOW_TEST_LOW", "x")
    told = mistakes(file, "a: 1\nb: 2\nlisten: 3", bid_window_ms=0)
    starts = ["a: unknown", "b: unknown", "listen: ", "$RAINBOW_TEST_LOW: ", "--bid-window-ms: "]
    for start in starts:
        assert sum(start in line for line in told) == 1, start
    assert len(told) == len(starts)


def test_a_mistake_between_two_settings_is_told_in_its_own_words(file: Path) -> None:
    assert mistakes(file, "low: 5\nhigh: 4") == ["low must not exceed high"]


def test_a_missing_setting_is_named() -> None:
    with pytest.raises(ConfigError, match=r"^name: Field required$"):
        Strict.load(None, {})


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("listen: [", "is not YAML"),
        ("a: b: c", "is not YAML"),
        ("\tlisten: x", "is not YAML"),
        ("listen: !!python/object/apply:os.system [true]", "is not YAML"),
        ("listen: \x00", "is not YAML"),
        ("- listen", "expected a mapping of settings, got list"),
        ("listen", "expected a mapping of settings, got str"),
        ("1: x", "1: expected a name as the key, got int"),
        ("listen: 2024-13-45", "has a value that YAML cannot read: month must be in 1..12"),
        ("listen: " + "[" * 50_000, "is nested too deeply"),
    ],
)
def test_files_that_are_not_settings(file: Path, text: str, words: str) -> None:
    (mistake,) = mistakes(file, text)
    assert mistake.startswith(f"{file}: {words}")


def test_a_file_that_is_not_text(file: Path) -> None:
    file.write_bytes(b"listen: \xff\xfe")
    with pytest.raises(ConfigError, match="is not a text file in UTF-8"):
        Example.load(file, {})


def test_a_file_in_utf_8_is_read_in_any_locale(file: Path) -> None:
    file.write_bytes("listen: größe".encode())
    assert Example.load(file, {}).listen == "größe"


def test_files_that_cannot_be_read(file: Path, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="cannot be read: No such file or directory"):
        Example.load(file, {})
    with pytest.raises(ConfigError, match="cannot be read: Is a directory"):
        Example.load(tmp_path, {})


def test_a_secret_with_a_mistake_is_not_repeated(file: Path) -> None:
    told = mistakes(file, "bid_window_ms: rbr_very-secret")
    assert "rbr_very-secret" not in "\n".join(told)
