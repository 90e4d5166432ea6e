"""Which clients commit in a version that Kafka 4 does not take."""

import pytest

from bridge.session.old_commits import OldCommits
from bridge.wire.apis import ApiKey
from translators.dialects.ids import ClientIdentity


def client(client_id: str, host: str = "/10.0.0.9") -> ClientIdentity:
    """Some client."""
    return ClientIdentity(client_id=client_id, client_host=host)


@pytest.mark.parametrize(
    ("api_key", "version", "is_old"),
    [(ApiKey.OFFSET_COMMIT, 1, True), (ApiKey.OFFSET_COMMIT, 2, False), (ApiKey.OFFSET_FETCH, 1, False)],
)
def test_only_commits_in_the_version_before_the_first_are_remembered(api_key: int, version: int, is_old: bool) -> None:
    """By whoever it is that commits, from where."""
    heard = OldCommits()
    heard.note(api_key, version, client("sarama"))
    assert heard.are_of("sarama", "/10.0.0.9") is is_old
    assert not heard.are_of("sarama", "/10.0.0.8")
    assert not heard.are_of("other", "/10.0.0.9")


def test_client_that_was_silent_for_longest_makes_room() -> None:
    """Names of clients are their own to choose, as many as they like, each 32 kB long."""
    heard = OldCommits(remembered_max=2)
    for name in ("a", "b", "a", "c"):
        heard.note(ApiKey.OFFSET_COMMIT, 1, client(name * 32_000))
    assert [name for name in "abc" if heard.are_of(name * 32_000, "/10.0.0.9")] == ["a", "c"]
    assert sum(len(name) for key in heard._clients for name in key) < 2_000
