"""Tests of the values a classic group is made of."""

from bridge.engine.model import ClassicMember, metadata_of, names_of
from tests.support.engine_bench import IDENTITY
from translators.dialects.classic import Protocol
from translators.dialects.ids import MemberId

OFFERS = (Protocol("sticky", b"s"), Protocol("range", b"r"))
MEMBER = ClassicMember(
    member_id=MemberId("a"),
    instance_id=None,
    identity=IDENTITY,
    session_timeout_ms=1,
    rebalance_timeout_ms=1,
    protocols=OFFERS,
)


def test_metadata_is_that_of_the_named_protocol() -> None:
    """The leader gets the bytes under the chosen name, nothing under another (K1.37)."""
    names = ("range", "sticky", "other", None)
    assert [metadata_of(MEMBER.protocols, name) for name in names] == [b"r", b"s", b"", b""]


def test_names_keep_the_order_of_preference() -> None:
    """Each member votes by its own order (K1.38)."""
    assert names_of(OFFERS) == ("sticky", "range")
