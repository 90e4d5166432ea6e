"""Members are heard as they pass, and whoever else listens hears them as before."""

from bridge.coordinators.catalog import Catalog
from bridge.coordinators.moving.roster_watch import RosterWatch
from bridge.coordinators.moving.sight import GroupEars
from bridge.migration.roster import Roster
from bridge.session.contracts import PassingRequest
from bridge.wire.apis import ApiKey
from bridge.wire.codec.registry import Request, encode_request
from bridge.wire.frames import read_request_header
from tests.support.embedded_world import leave_request
from tests.support.moving_world import GENERATION, classic_join
from tests.support.owned_group import CLIENT, GROUP, TOPIC
from tests.support.proxy import SeenGroups
from translators.dialects.classic import Heartbeat, SyncGroup
from translators.dialects.ids import MemberId, RequestRef, TopicPartition
from translators.dialects.offsets import OffsetCommit, PartitionCommit, TopicCommit

SYNC = SyncGroup(group_id=GROUP, generation=GENERATION, member_id=MemberId("a"), instance_id=None)
VERSIONS = {
    ApiKey.JOIN_GROUP: 5,
    ApiKey.SYNC_GROUP: 3,
    ApiKey.LEAVE_GROUP: 3,
    ApiKey.HEARTBEAT: 3,
    ApiKey.OFFSET_COMMIT: 8,
}

ZERO = TopicPartition(TOPIC, 0)
COMMIT = OffsetCommit(
    group_id=GROUP,
    generation=GENERATION,
    member_id=MemberId("a"),
    instance_id=None,
    topics=(TopicCommit(name=TOPIC, partitions=(PartitionCommit(partition=0, offset=7),)),),
)


def test_roster_hears_who_joins_syncs_and_leaves() -> None:
    """What can't be read is the broker's to judge."""
    roster, passing = Roster(), SeenGroups()
    ears = GroupEars(Catalog())
    watch = RosterWatch(passing, roster, ears)

    def overhear(api_key: ApiKey, request: Request, cut: int = 0) -> None:
        frame = encode_request(api_key, VERSIONS[api_key], 1, "c", request)
        header = read_request_header(frame)
        assert header is not None
        watch.overhear(RequestRef(0, 1, 1), PassingRequest(header, frame[: len(frame) - cut], (GROUP,)), CLIENT, 1)

    overhear(ApiKey.JOIN_GROUP, classic_join("a"), cut=9)
    overhear(ApiKey.SYNC_GROUP, SYNC)
    assert roster.members_of(GROUP) == {}
    overhear(ApiKey.JOIN_GROUP, classic_join("a"))
    overhear(ApiKey.SYNC_GROUP, SYNC)
    overhear(ApiKey.HEARTBEAT, Heartbeat(GROUP, GENERATION, MemberId("a"), None))
    (spoken,) = roster.members_of(GROUP).values()
    assert (spoken.generation, spoken.request.protocols) == (GENERATION, classic_join("a").protocols)
    overhear(ApiKey.LEAVE_GROUP, leave_request("a"))
    assert roster.members_of(GROUP) == {}
    overhear(ApiKey.OFFSET_COMMIT, COMMIT)
    with ears.listen(GROUP, {MemberId("a"), MemberId("b")}, {ZERO}) as heard:
        assert not heard.explain(ZERO, 7)
        overhear(ApiKey.OFFSET_COMMIT, COMMIT)
        assert heard.explain(ZERO, 7)
        overhear(ApiKey.HEARTBEAT, Heartbeat(GROUP, GENERATION, MemberId("b"), None))
        assert heard.vias.keys() == {"a", "b"}
