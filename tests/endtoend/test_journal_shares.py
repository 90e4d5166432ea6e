"""What a group and an address may hold of the journal is the same after kill -9: it follows from its entries.

It must not know what a member weighs.
"""

import time
from itertools import count
from pathlib import Path

import pytest

from bridge.wire.apis import ApiKey
from tests.support.bridge_process import QUICK_SETTINGS
from tests.support.kafka import KafkaUnderTest
from tests.support.restarted_bridge import RestartedBridge
from tests.support.talker import Talker, talk
from translators.dialects.consumer import ConsumerGroupHeartbeat, ConsumerGroupHeartbeatReply
from translators.dialects.errors import ErrorCode
from translators.dialects.ids import JOIN_EPOCH, LEAVE_EPOCH, GroupId, MemberId, TopicName

FULL, OTHER = GroupId("shares-full"), GroupId("shares-other")
SETTINGS = {
    **QUICK_SETTINGS,
    "bridges.group": "off",
    "journal.bytes.max": "1048576",
    "group.consumer.session.timeout.ms": "120000",
    "group.consumer.max.session.timeout.ms": "120000",
}
NAMES = tuple(TopicName(f"{number:03}-{'x' * 200}") for number in range(100))
"""What a member subscribes to: some 20 kB, so that a quarter of the journal is a dozen members."""
MEMBERS_MAX, PATIENCE_S = 40, 60.0
REFUSED = ErrorCode.COORDINATOR_NOT_AVAILABLE
NOT_YET = {REFUSED, ErrorCode.COORDINATOR_LOAD_IN_PROGRESS, ErrorCode.NOT_COORDINATOR}


def heartbeat(talker: Talker, group_id: GroupId, member: str, epoch: int) -> ConsumerGroupHeartbeatReply:
    """What a member is told that joins with all these names, or leaves."""
    request = ConsumerGroupHeartbeat(
        group_id=group_id,
        member_id=MemberId(member),
        member_epoch=epoch,
        rebalance_timeout_ms=60_000 if epoch == JOIN_EPOCH else -1,
        subscribed_topic_names=NAMES if epoch == JOIN_EPOCH else None,
        owned=frozenset() if epoch == JOIN_EPOCH else None,
    )
    reply = talker.ask(ApiKey.CONSUMER_GROUP_HEARTBEAT, 1, request)
    assert isinstance(reply, ConsumerGroupHeartbeatReply)
    return reply


def is_let_in(bridge: RestartedBridge, group_id: GroupId, member: str) -> bool:
    """Whether a newcomer gets in, where groups are served."""
    with talk(bridge.bootstrap) as talker:
        code = heartbeat(talker, group_id, member, JOIN_EPOCH).error
    assert code in {ErrorCode.NONE, REFUSED}
    return code is ErrorCode.NONE


def wait_served(bridge: RestartedBridge, member: str, epoch: int) -> None:
    """Wait until the group's requests are judged; of a member that is there, whom no share refuses, at any epoch."""
    give_up = time.monotonic() + PATIENCE_S
    with talk(bridge.bootstrap) as talker:
        while heartbeat(talker, FULL, member, epoch).error in NOT_YET:
            assert time.monotonic() < give_up
            time.sleep(0.2)


@pytest.mark.parametrize("whose", ["group", "client"])
def test_shares_are_the_same_after_kill_9(whose: str, kafka_43: KafkaUnderTest, tmp_path: Path) -> None:
    """Who was refused is refused, who has room has it, and one that leaves makes room for exactly one."""
    free = {"group": "journal.share.client", "client": "journal.share.group"}[whose]
    bridge = RestartedBridge(kafka_43.bootstrap, "shares-*", tmp_path, {**SETTINGS, free: "100"})
    names = (f"member-{number:04}" for number in count())
    bridge.start()
    try:
        members = [next(names)]
        wait_served(bridge, members[0], JOIN_EPOCH)
        members.append(next(names))
        while is_let_in(bridge, FULL, members[-1]):
            assert len(members) < MEMBERS_MAX, "nobody was refused"
            members.append(next(names))
        refused = members.pop()
        assert "EB-JOURNAL-014" in bridge.log.read_text(encoding="utf-8"), "it was refused for another reason"
        bridge.kill()
        bridge.start()
        wait_served(bridge, members[0], JOIN_EPOCH + 1)
        assert not is_let_in(bridge, FULL, refused), "it forgot what the others hold"
        assert is_let_in(bridge, OTHER, next(names)) is (whose == "group"), "a share is its group's, or its address's"
        with talk(bridge.bootstrap) as talker:
            assert heartbeat(talker, FULL, members[0], LEAVE_EPOCH).error is ErrorCode.NONE
        bridge.kill()
        bridge.start()
        wait_served(bridge, members[1], JOIN_EPOCH + 1)
        assert is_let_in(bridge, FULL, refused), "who left holds nothing"
        assert not is_let_in(bridge, FULL, next(names))
    finally:
        bridge.kill()
