"""Counting."""

from bridge.session.close_reasons import CloseReason
from bridge.session.counters import ApiFigures, Counters, Statistics
from bridge.wire.apis import ApiKey


def test_picture_is_a_copy_of_what_was_counted() -> None:
    """Statistics are values: later counting does not change them."""
    counters = Counters(requests=2)
    counters.count_close(CloseReason.IDLE)
    counters.count_close(CloseReason.IDLE)
    counters.note_held(7)
    counters.note_held(3)
    picture = counters.picture(5)
    counters.count_close(CloseReason.BUG)
    assert picture == Statistics(
        connections_open=0,
        connections_accepted=0,
        requests=2,
        requests_relayed=0,
        requests_answered=0,
        bytes_from_clients=0,
        bytes_to_clients=0,
        late_replies=0,
        bytes_held=5,
        bytes_held_peak=7,
        closed={CloseReason.IDLE: 2},
    )


def test_apis_are_counted_one_by_one() -> None:
    """Those that went on with the time inside; repeated heartbeats are heartbeats, and requests were counted there."""
    counters = Counters(beats=3)
    for _ in range(2):
        counters.count_request(ApiKey.FETCH)
    counters.count_passed(ApiKey.FETCH, 700)
    counters.count_request(ApiKey.HEARTBEAT)
    picture = counters.picture(0)
    counters.count_passed(ApiKey.FETCH, 1)
    assert picture.requests == 3
    assert picture.apis == {ApiKey.FETCH: ApiFigures(2, 1, 700), ApiKey.HEARTBEAT: ApiFigures(4, 0, 0)}
