"""Which rebalances of a record may be a frozen client's, and are not answered by its play."""

from dataclasses import replace

import pytest

from bridge.whatif.comparison import compare
from bridge.whatif.configuration import configure
from bridge.whatif.freezes import behind_freezes, unanswered_words
from bridge.whatif.inputs import Came, Client
from bridge.whatif.play import predict
from tests.support.whatif_history import GROUP, came, history, silent
from translators.dialects.ids import MemberId

CLASSIC = configure("classic", "cooperative-sticky", ["heartbeat.interval.ms=1000"])
CONSUMER = configure("consumer", None, ["group.consumer.heartbeat.interval.ms=1000"])
BEGIN = (came(0, "a"), came(10.5, "b"), silent(60, "b"))
BACK = frozenset({"b fell silent", "again came"})


def again(former: str, *, member_id: str = "again", seat: str | None = None) -> Came:
    """A client of an earlier one's name joins long after the session of that one."""
    one = came(200, "again", seat=seat)
    return replace(one, client=replace(one.client, member_id=MemberId(member_id), identity=of(former).identity))


def of(name: str) -> Client:
    """A client of this name."""
    return came(0, name).client


@pytest.mark.parametrize(
    ("last", "found"),
    [
        pytest.param(again("b"), BACK, id="under another id"),
        pytest.param(again("b", member_id="b"), BACK, id="under its id"),
        pytest.param(again("c"), frozenset(), id="somebody else"),
        pytest.param(again("b", seat="s"), frozenset(), id="a seat of its own"),
        pytest.param(None, frozenset(), id="nobody"),
    ],
)
def test_frozen_may_have_been_who_comes_back_after_its_session(last: Came | None, found: frozenset[str]) -> None:
    """By client.id, host and instance id: the member id of a classic client is another one each time."""
    assert behind_freezes(history(*BEGIN, *([] if last is None else [last])), is_classic=True) == found


def test_client_of_the_new_protocol_is_known_by_its_id_where_it_speaks_that_in_the_play() -> None:
    """Played as a classic one it is not."""
    modern = tuple(replace(one, client=replace(one.client, is_classic=False)) for one in BEGIN if isinstance(one, Came))
    back = again("b", member_id="b")
    record = history(*modern, BEGIN[-1], replace(back, client=replace(back.client, is_classic=False)))
    assert behind_freezes(record, is_classic=False) == frozenset()
    assert behind_freezes(record, is_classic=True) == BACK


def test_comparison_says_of_which_rebalances_it_has_no_answer() -> None:
    """A replay that is asked about a frozen classic member says that it does not know (issue 20, line 6)."""
    record = predict(history(*BEGIN, again("b")), CLASSIC).events
    found = compare(GROUP, record, CONSUMER)
    told = {row.recorded.rebalance_id: row.recorded.cause for row in found.rows if row.recorded is not None}
    assert [told[name] for name in found.unanswered] == ["session-expired", "join"]
    assert compare(GROUP, predict(history(*BEGIN), CLASSIC).events, CONSUMER).unanswered == ()


def test_sentence_names_some_rebalances_of_many() -> None:
    """Nobody reads hundreds."""
    assert unanswered_words(["r1", "r2"]).endswith("is not answered (of r1, r2)")
    assert unanswered_words([f"r{n}" for n in range(1, 9)]).endswith("(of r1, r2, r3, r4, r5 and 3 more)")
