"""Who can't be a member of a consumer group, and that the member machine sees it in the same way."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bridge.migration.translatable import find_obstacle
from tests.support.embedded_world import join_request
from translators.classic_member.profile import Profile, read_profile
from translators.dialects.classic import JoinGroup, Protocol

GOOD = join_request("").protocols[0].metadata


@pytest.mark.parametrize(
    ("request_", "word"),
    [
        (replace(join_request(""), protocol_type="connect"), "connect"),
        (replace(join_request(""), protocols=(Protocol("custom", GOOD),)), "custom"),
        (replace(join_request(""), protocols=()), "none"),
        (replace(join_request(""), protocols=(Protocol("range", b"\xff"),)), "range"),
    ],
)
def test_obstacle_is_named(request_: JoinGroup, word: str) -> None:
    """An operator reads what the client sent."""
    assert word in (find_obstacle(request_) or "")


def test_member_with_one_known_assignor_is_translated() -> None:
    """Clients that offer several are in the middle of a change."""
    both = (Protocol("custom", b""), Protocol("range", GOOD))
    assert find_obstacle(replace(join_request(""), protocols=both)) is None


@given(
    kind=st.sampled_from(["consumer", "connect", ""]),
    protocols=st.lists(
        st.builds(Protocol, st.sampled_from(["range", "sticky", "mine"]), st.sampled_from([GOOD, b"", b"\x00"])),
        max_size=3,
    ),
)
def test_there_is_an_obstacle_exactly_where_the_machine_refuses(kind: str, protocols: list[Protocol]) -> None:
    """Else a member would be refused for good, or passed on although it could be translated."""
    request = replace(join_request(""), protocol_type=kind, protocols=tuple(protocols))
    assert (find_obstacle(request) is None) is isinstance(read_profile(request), Profile)
