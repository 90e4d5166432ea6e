"""Law: a command that is answered with an error writes nothing that outlives a restart.

Whoever may name a group may be refused as often as it likes: what each refusal writes fills the journal. The exceptions
are named, each with its reason; another one, or a command that nobody tries here, fails.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import assert_never, get_args

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bridge.coordinators.arrivals import MembershipRequest
from bridge.engine.assignors.interface import Assignor
from bridge.engine.assignors.registry import registry
from bridge.engine.commands import (
    AdoptGroup,
    AlterGroupConfigs,
    BecomeClassic,
    BeginCommit,
    ChangeTopics,
    ClassicHeartbeat,
    ClassicJoin,
    ClassicLeave,
    ClassicSync,
    Command,
    ConvertGroup,
    DeleteGroup,
    EndCommit,
    EndSessions,
    ForgetRegularExpressions,
    GiveUpGroup,
    GroupType,
    MemberHeartbeat,
    PassDeadlines,
    RemoveMembers,
    ResolveRegularExpression,
    Speaks,
    UnloadClassicGroups,
)
from bridge.engine.outcome import Converted, MemberAnswer, Message, NotConverted
from bridge.engine.records import (
    ClassicGenerationReserved,
    ClassicGroupCreated,
    ClassicGroupSynced,
    ClassicMemberForgotten,
    GroupCreated,
    GroupDeleted,
    GroupEpochBumped,
    MemberForgotten,
    MemberSubscribed,
    Record,
    TargetAssigned,
)
from bridge.engine.settings import EngineSettings
from tests.support import embedded_world, owned_group
from tests.support.classic_bench import commit_of, join_of, offer
from tests.support.engine_bench import GROUP, IDENTITY, Bench, ScriptedAssignor, beat_request, join_request
from translators.dialects.admin import DeletedGroup
from translators.dialects.classic import (
    Heartbeat,
    HeartbeatReply,
    JoinGroupReply,
    LeaveGroup,
    LeaveGroupReply,
    LeavingMember,
    MemberAssignment,
    Protocol,
    SyncGroup,
    SyncGroupReply,
)
from translators.dialects.configs import Alteration, AlteredResource, MigrationPolicy
from translators.dialects.coordinator import ClassicSeat, CommitAdmitted, CommitRefused
from translators.dialects.errors import ErrorCode
from translators.dialects.ids import LEAVE_EPOCH, GroupId, InstanceId, MemberId, RequestRef

UNANSWERED = (
    UnloadClassicGroups,
    EndSessions,
    ChangeTopics,
    ResolveRegularExpression,
    ForgetRegularExpressions,
    EndCommit,
    PassDeadlines,
)
"""What the shell says by itself: nobody is refused."""
EXCEPTIONS: dict[tuple[type[Command], ErrorCode], frozenset[type[Record]]] = {
    # Kafka begins the group that it tells a newcomer an id for, or refuses one in for its protocols, in place of an
    # empty consumer group (K1.9, K1.11); its name is weighed (decision 758).
    (ClassicJoin, ErrorCode.MEMBER_ID_REQUIRED): frozenset({GroupDeleted, ClassicGroupCreated}),
    (ClassicJoin, ErrorCode.INCONSISTENT_GROUP_PROTOCOL): frozenset({ClassicGroupCreated}),
    # A member that asks where there is no room loses its seat, which may be what the others waited for (K1.12).
    (ClassicJoin, ErrorCode.GROUP_MAX_SIZE_REACHED): frozenset(
        {ClassicMemberForgotten, ClassicGenerationReserved, ClassicGroupSynced}
    ),
    # An assignor of somebody else's that fails, which the log tells: what was joined or changed is turned back, and the
    # group stays, weighed as any other that nobody is in (K2.28; Kafka writes nothing).
    (MemberHeartbeat, ErrorCode.UNKNOWN_SERVER_ERROR): frozenset(
        {GroupDeleted, GroupCreated, GroupEpochBumped, MemberSubscribed, MemberForgotten, TargetAssigned}
    ),
}
NATIVE_IDS = st.sampled_from(["", "a", "a", "b", "stranger"])
CLASSIC_IDS = st.sampled_from(["", "", "client-1", "client-1", "client-2", "stranger"])
"""Those that newcomers are given here, among others."""
INSTANCES = st.sampled_from([None, None, None, "A"])
GENERATIONS = st.integers(-1, 3)
Maker = Callable[[RequestRef], Command]


def _instance(name: str | None) -> InstanceId | None:
    return None if name is None else InstanceId(name)


@st.composite
def heartbeats(draw: st.DrawFn) -> Maker:
    """KIP-848 members and translated ones, of all epochs, who say all kinds of things."""
    member, epoch, instance = draw(NATIVE_IDS), draw(st.integers(-2, 3)), draw(INSTANCES)
    request = join_request(member) if epoch == 0 or draw(st.booleans()) else beat_request(member, epoch)
    assignor = draw(st.sampled_from([None, None, "range", "nobody's"]))
    pattern = draw(st.sampled_from([None, None, None, "f.*", "("]))
    request = replace(request, member_epoch=epoch, instance_id=_instance(instance), server_assignor=assignor)
    request = replace(request, subscribed_topic_regex=pattern)
    speaks = draw(st.sampled_from([Speaks.CONSUMER, Speaks.CONSUMER, Speaks.CLASSIC]))
    return lambda ref: MemberHeartbeat(
        ref=ref, request=request, identity=IDENTITY, speaks=speaks, fresh_id=MemberId(member or f"new-{ref.sequence}")
    )


@st.composite
def joins(draw: st.DrawFn) -> Maker:
    """JoinGroups of all versions and ids, with protocols or without, and sessions that are too long."""
    request = replace(
        join_of(draw(CLASSIC_IDS), draw(INSTANCES)),
        protocols=offer(*draw(st.sampled_from([("range",), ("range",), ("range", "sticky"), ("own",), ()]))),
        needs_member_id=draw(st.booleans()),
        session_timeout_ms=draw(st.sampled_from([60_000, 60_000, 60_000, 99_999_999])),
        group_id=draw(st.sampled_from([GROUP, GROUP, GROUP, GroupId("")])),
    )
    fresh_id = MemberId(draw(st.sampled_from(["1", "2"])))
    return lambda ref: ClassicJoin(ref=ref, request=request, identity=IDENTITY, fresh_id=fresh_id)


@st.composite
def of_classic_members(draw: st.DrawFn) -> Maker:
    """Everything else that classic clients say."""
    member, instance, generation = MemberId(draw(CLASSIC_IDS)), _instance(draw(INSTANCES)), draw(GENERATIONS)
    leave = LeaveGroup(group_id=GROUP, members=(LeavingMember(member_id=member, instance_id=instance),))
    sync = SyncGroup(
        group_id=GROUP,
        generation=generation,
        member_id=member,
        instance_id=instance,
        assignments=(MemberAssignment(member, b"x"),),
    )
    makers: list[Maker] = [
        lambda ref: ClassicSync(ref, sync),
        lambda ref: ClassicHeartbeat(ref, Heartbeat(GROUP, generation, member, instance)),
        lambda ref: ClassicLeave(ref, leave),
        lambda ref: RemoveMembers(ref, leave),
        lambda ref: BeginCommit(ref, commit_of(member, generation)),
    ]
    return draw(st.sampled_from(makers))


def _seat(member: str) -> ClassicSeat:
    return ClassicSeat(
        member_id=MemberId(member),
        instance_id=None,
        identity=IDENTITY,
        session_timeout_ms=10_000,
        rebalance_timeout_ms=60_000,
        protocols=offer("range"),
        generation=1,
        using=frozenset(),
        session_deadline_ms=10_000,
    )


@st.composite
def of_admins(draw: st.DrawFn) -> Maker:
    """Orders and settings; a group is adopted that is there already, or with nobody in it."""
    seats = tuple(_seat(one) for one in draw(st.sampled_from([(), ("a",), ("a", "b"), ("other",)])))
    name, value = draw(st.sampled_from([("consumer.session.timeout.ms", "45000"), ("consumer.nonsense", "1")]))
    is_dry_run, to = draw(st.booleans()), draw(st.sampled_from(list(GroupType)))
    makers: list[Maker] = [
        lambda ref: ConvertGroup(ref=ref, group_id=GROUP, to=to, is_dry_run=is_dry_run),
        lambda ref: BecomeClassic(ref=ref, group_id=GROUP, seats=seats, is_dry_run=is_dry_run),
        lambda ref: AdoptGroup(
            ref=ref, group_id=GROUP, generation=1, protocol_name="range", leader=MemberId("a"), seats=seats
        ),
        lambda ref: GiveUpGroup(ref, GROUP),
        lambda ref: DeleteGroup(ref, GROUP),
        lambda ref: AlterGroupConfigs(ref=ref, group_id=GROUP, alterations=(Alteration(name, value),)),
    ]
    return draw(st.sampled_from(makers))


MAKERS = st.one_of(heartbeats(), joins(), joins(), of_classic_members(), of_classic_members(), of_admins())


def error_of(message: Message) -> ErrorCode:
    """What a message refuses by; NONE for one that does not. An order's reason is no code."""
    match message:
        case MemberAnswer(reply):
            return reply.error
        case JoinGroupReply() | SyncGroupReply() | HeartbeatReply() | DeletedGroup() | AlteredResource():
            return message.error
        case LeaveGroupReply():
            errors = [message.error, *(one.error for one in message.members)]
            went_well = [one for one in errors[1:] if one is ErrorCode.NONE]
            return ErrorCode.NONE if went_well else next((one for one in errors if one), ErrorCode.NONE)
        case CommitRefused(code):
            return code
        case NotConverted():
            return ErrorCode.UNKNOWN_SERVER_ERROR
        case Converted() | CommitAdmitted():
            return ErrorCode.NONE
        case _:
            assert_never(message)


@dataclass(slots=True, kw_only=True)
class Life:
    """What a shard is told, and how it is set up; an assignor of somebody else's may fail every time."""

    scene: str
    makers: list[Maker]
    most: int
    policy: MigrationPolicy
    waits_ms: list[int]
    assignor_fails: bool

    def refusals(self) -> Iterator[tuple[Command, Message, frozenset[type[Record]]]]:
        """Each command that is refused as soon as it is told, with the kinds of durable records that it wrote."""
        chosen = EngineSettings(
            departure_wait_ms=0,
            group_max_size=self.most,
            group_consumer_max_size=self.most,
            group_consumer_migration_policy=self.policy,
        )
        bench = Bench(settings=chosen, assignors=FAILING if self.assignor_fails else registry)
        bench.tell(ResolveRegularExpression("(", frozenset(), "missing )"))
        _set(bench, self.scene)
        for maker, wait_ms in zip(self.makers, self.waits_ms, strict=False):
            if wait_ms:
                bench.pass_time(wait_ms)
            command = maker(bench.ref())
            assert not isinstance(command, UNANSWERED)
            outcome = bench.tell(command)
            written = frozenset(type(record) for record in outcome.records if record.durable)
            for ref, message in outcome.replies:
                if ref == command.ref and error_of(message) is not ErrorCode.NONE:
                    yield command, message, written


def _set(bench: Bench, scene: str) -> None:
    """Who is there already: nobody, two KIP-848 members, or as many classic ones, who may have left again."""
    if "native" in scene:
        bench.tell(*(bench.command(join_request(one)) for one in "ab"))
    for number in "12" if "classic" in scene else "":
        request = replace(join_of(), needs_member_id=False, session_timeout_ms=60_000)
        bench.tell(ClassicJoin(ref=bench.ref(), request=request, identity=IDENTITY, fresh_id=MemberId(number)))
    for _ in range(3):
        bench.pass_time(3_000)
    leader = MemberId("client-1")
    sync = SyncGroup(
        group_id=GROUP,
        generation=1,
        member_id=leader,
        instance_id=None,
        assignments=(MemberAssignment(leader, b"x"),),
    )
    bench.tell(ClassicSync(bench.ref(), sync))
    if "gone" in scene:
        leaving = tuple(LeavingMember(member_id=MemberId(one)) for one in ("a", "b", "client-1", "client-2"))
        bench.tell(RemoveMembers(bench.ref(), LeaveGroup(group_id=GROUP, members=leaving)))


FAILING: Mapping[str, Assignor] = {name: ScriptedAssignor(name) for name in registry}
LIVES = st.builds(
    Life,
    scene=st.sampled_from(["nobody", "native", "classic", "classic", "native gone", "classic gone"]),
    makers=st.lists(MAKERS, min_size=5, max_size=25),
    most=st.sampled_from([1, 2, 2, 100]),
    policy=st.sampled_from(list(MigrationPolicy)),
    waits_ms=st.lists(st.sampled_from([0] * 12 + [3_000, 3_000, 60_000]), min_size=25, max_size=25),
    assignor_fails=st.sampled_from([False, False, True]),
)


def test_refused_command_writes_nothing_durable() -> None:
    """Whatever happened before; every command that is answered is refused now and then."""
    refused = set[type[Command]]()

    @settings(deadline=None, max_examples=400)
    @given(life=LIVES)
    def holds(life: Life) -> None:
        for command, message, written in life.refusals():
            case = (type(command), error_of(message))
            refused.add(type(command))
            surplus = written - EXCEPTIONS.get(case, frozenset())
            assert not surplus, f"{command} was refused by {message} and wrote {surplus}"

    holds()
    assert refused == set(get_args(Command)) - set(UNANSWERED)


REQUESTS = (
    embedded_world.join_request(""),
    replace(embedded_world.join_request("a"), session_timeout_ms=1),
    replace(embedded_world.join_request(""), protocols=()),
    replace(embedded_world.join_request(""), protocols=(Protocol("range", b"torn"),)),
    replace(embedded_world.join_request(""), protocol_type="connect"),
    replace(embedded_world.join_request("a"), instance_id=InstanceId("A")),
    SyncGroup(group_id=owned_group.GROUP, generation=1, member_id=MemberId("a"), instance_id=None),
    Heartbeat(owned_group.GROUP, 1, MemberId("a"), None),
    embedded_world.leave_request("a"),
    replace(embedded_world.native_join("b"), member_epoch=5),
    replace(embedded_world.native_join("b"), member_epoch=LEAVE_EPOCH),
    replace(embedded_world.native_join("b"), rebalance_timeout_ms=-1),
    replace(embedded_world.native_join("b"), server_assignor="nobody's"),
)
"""What is refused of clients, by their machines or by the engine, whoever is there."""


@pytest.mark.parametrize("begins_classic", [False, True])
@pytest.mark.parametrize("is_there", [False, True])
@pytest.mark.parametrize("request_", REQUESTS, ids=lambda one: type(one).__name__)
def test_refused_request_leaves_no_entry(request_: MembershipRequest, *, begins_classic: bool, is_there: bool) -> None:
    """Of the engine, of a machine or of the bridge, but for the group that begins so (K1.11)."""
    chosen = EngineSettings(
        group_initial_rebalance_delay_ms=0, departure_wait_ms=0, group_begins_classic=begins_classic
    )
    group = owned_group.OwnedGroup(settings=chosen)
    group.owner.revive((), 0)
    if is_there:
        group.send(embedded_world.native_join("n"))
        assert group.owner.entries()
    (ref,) = group.send(request_)
    reply, entries = group.replies[ref], group.owner.entries()
    code = reply.members[0].error if isinstance(reply, LeaveGroupReply) else reply.error
    assert code is not ErrorCode.NONE
    may_begin = not is_there and code in {ErrorCode.MEMBER_ID_REQUIRED, ErrorCode.INCONSISTENT_GROUP_PROTOCOL}
    assert len(entries) <= may_begin
