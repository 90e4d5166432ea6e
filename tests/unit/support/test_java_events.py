"""What Kafka's VerifiableConsumer prints, as events; the lines are from a run of 4.3.1. It must not start Java."""

import pytest

from bridge.demo.events import Assigned, Committed, Consumed, Event, Failed, Mode, Partition, Revoked
from tests.support.clients.java_events import events_of

P0, P1 = Partition("t1", 0), Partition("t1", 1)
PARTITIONS = '"partitions":[{"topic":"t1","partition":0},{"topic":"t1","partition":1}]'
SPAN = '{"topic":"t1","partition":0,"count":500,"minOffset":500,"maxOffset":%d}'


@pytest.mark.parametrize(
    ("line", "events"),
    [
        ('{"timestamp":5,"name":"startup_complete"}', ()),
        (
            '{"timestamp":5,"name":"partitions_assigned",' + PARTITIONS + "}",
            (Assigned(at_ns=5000, partitions=(P0, P1), mode=Mode.EAGER),),
        ),
        (
            '{"timestamp":5,"name":"partitions_revoked",' + PARTITIONS + "}",
            (Revoked(at_ns=5000, partitions=(P0, P1), mode=Mode.EAGER),),
        ),
        (
            '{"timestamp":5,"name":"records_consumed","count":500,"partitions":[' + SPAN % 999 + "]}",
            (Consumed(at_ns=5000, partition=P0, first=500, last=999),),
        ),
        (
            '{"timestamp":5,"name":"offsets_committed","offsets":[{"topic":"t1","partition":0,"offset":7}],"success":true}',
            (Committed(at_ns=5000, offsets=((P0, 7),)),),
        ),
        (
            '{"timestamp":5,"name":"offsets_committed","offsets":[],"error":"no","success":false}',
            (Failed(at_ns=5000, reason="commit refused: no"),),
        ),
    ],
)
def test_line_becomes_events(line: str, events: tuple[Event, ...]) -> None:
    """Each kind of line has its event, stamped through the clock that is given."""
    assert events_of(line, Mode.EAGER, lambda wall_ms: wall_ms * 1000) == events


def test_batch_with_a_gap_or_an_unknown_line_is_a_failure() -> None:
    """What can't be placed is told, not dropped."""
    gap = '{"timestamp":5,"name":"records_consumed","count":500,"partitions":[' + SPAN % 1001 + "]}"
    for line in (gap, '{"timestamp":5,"name":"danced"}'):
        (event,) = events_of(line, Mode.EAGER, int)
        assert isinstance(event, Failed)


def test_line_without_a_stamp_is_refused() -> None:
    """An event without a time would order nothing."""
    with pytest.raises(ValueError, match="timestamp"):
        events_of('{"name":"partitions_revoked"}', Mode.EAGER, int)
