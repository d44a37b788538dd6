"""Who a credential belongs to."""

import pytest

from rainbowd.net.auth import AgentOf, Credentials, Registrar, UserOf, bearer, fingerprint, owner_of
from tests.unit.daemon import made

SECRET = "registration-secret"


@pytest.fixture
def credentials() -> Credentials:
    return Credentials(SECRET, [made.cluster("red"), made.cluster("blue")])


def test_each_credential_opens_what_it_is_for(credentials: Credentials) -> None:
    assert credentials.identify(SECRET) == Registrar()
    assert credentials.identify("secret of red") == AgentOf("red")
    assert credentials.identify("token of red") == UserOf("red")
    assert credentials.identify("token of blue") == UserOf("blue")


@pytest.mark.parametrize("guess", ["", " ", "secret of", "SECRET OF RED", SECRET[:-1], SECRET + " ", "\udcff", "ü"])
def test_anything_else_opens_nothing(credentials: Credentials, guess: str) -> None:
    assert credentials.identify(guess) is None


def test_the_stored_hash_is_not_itself_a_credential(credentials: Credentials) -> None:
    stored = fingerprint("secret of red")
    assert credentials.identify(stored.hex()) is None
    assert credentials.identify(stored.decode("latin-1")) is None


def test_without_a_registration_secret_nobody_registers() -> None:
    credentials = Credentials(None, [])
    for guess in ("", "None", SECRET):
        assert credentials.identify(guess) is None


def test_a_secret_with_other_letters_is_recognised_in_the_bytes_of_a_header() -> None:
    secret = "geheim-und-größer-als-16"
    in_a_header = secret.encode().decode("ascii", "surrogateescape")
    assert Credentials(secret, []).identify(in_a_header) == Registrar()


@pytest.mark.parametrize(
    ("header", "credential"),
    [
        ("Bearer abc", "abc"),
        ("bearer abc", "abc"),
        ("BEARER   abc ", "abc"),
        ("Bearer ", None),
        ("Bearer", None),
        ("Basic abc", None),
        ("abc", None),
        ("", None),
        (None, None),
    ],
)
def test_the_credential_of_a_header(header: str | None, credential: str | None) -> None:
    assert bearer(header) == credential


def test_an_owner_is_the_set_of_grants_and_nothing_else() -> None:
    assert owner_of(frozenset({"red", "blue"})) == owner_of(frozenset({"blue", "red"}))
    sets = [frozenset[str](), frozenset({"a"}), frozenset({"b"}), frozenset({"a", "b"}), frozenset({"ab"})]
    assert len({owner_of(grants) for grants in sets}) == len(sets)
