"""One name is one group across all kinds, before a broker that has share groups: who comes second is refused.

It must not know how the bridge finds out.
"""

import time
from pathlib import Path

from tests.support.bridge_process import bridge_process
from tests.support.kafka import KafkaUnderTest, TopicFactory
from tests.support.talker import talk
from translators.dialects.errors import ErrorCode
from translators.dialects.ids import GroupId

SHARED, CONSUMED = GroupId("one-name-shared"), GroupId("one-name-consumed")
PATIENCE_S = 60.0
NOT_YET = {ErrorCode.COORDINATOR_NOT_AVAILABLE, ErrorCode.COORDINATOR_LOAD_IN_PROGRESS, ErrorCode.NOT_COORDINATOR}


def test_second_kind_of_a_name_is_refused_as_by_kafka(
    kafka_43: KafkaUnderTest, topic_factory: TopicFactory, tmp_path: Path
) -> None:
    """A share group at the broker closes its name here, and a group of ours closes its name to the other kinds."""
    topic = topic_factory(kafka_43.bootstrap, 1)
    with talk(kafka_43.bootstrap) as direct, bridge_process(kafka_43.bootstrap, ["one-name-*"], tmp_path) as bridge:
        give_up, code = time.monotonic() + PATIENCE_S, ErrorCode.COORDINATOR_NOT_AVAILABLE
        while (
            direct.coordinator(SHARED) in NOT_YET or (code := direct.share(SHARED, topic)[0]) in NOT_YET
        ) and time.monotonic() < give_up:
            time.sleep(0.5)
        assert code is ErrorCode.NONE
        with talk(bridge.bootstrap) as through:
            for talker in (direct, through):
                assert talker.native(SHARED, topic) is ErrorCode.GROUP_ID_NOT_FOUND
                assert talker.classic(SHARED, topic) is ErrorCode.INCONSISTENT_GROUP_PROTOCOL
            assert through.native(CONSUMED, topic) is ErrorCode.NONE
            assert through.share(SHARED, topic)[0] is ErrorCode.NONE, "other groups pass"
            refused = through.share(CONSUMED, topic)
            assert through.streams(CONSUMED)[0] is ErrorCode.GROUP_ID_NOT_FOUND
            plain = GroupId("plain-consumed")
            assert direct.native(plain, topic) is ErrorCode.NONE
            as_kafka = direct.share(plain, topic)
            assert refused[0] is as_kafka[0] is ErrorCode.GROUP_ID_NOT_FOUND
            assert len(refused[1]) - len(CONSUMED) == len(as_kafka[1]) - len(plain)
            assert refused[1].replace(CONSUMED.encode(), b"")[20:] == as_kafka[1].replace(plain.encode(), b"")[20:]
            for talker, group_id in ((direct, plain), (through, CONSUMED)):
                code, answer = talker.streams(group_id)
                assert code is ErrorCode.GROUP_ID_NOT_FOUND, (group_id, answer)
