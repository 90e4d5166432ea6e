"""One world: a fleet of clients, their lines, the bridge under test, a broker and topics, all in virtual time."""

from bridge.engine.settings import EngineSettings
from tests.support.simulation.actor import GROUP, Actor, Outside, Role
from tests.support.simulation.classic_actor import ClassicActor
from tests.support.simulation.cluster import USUAL_MS, Broker, Topics
from tests.support.simulation.native_actor import NativeActor
from tests.support.simulation.network import Network
from tests.support.simulation.oracle import InvariantBroken, Oracle
from tests.support.simulation.profiles import PROFILES, UNDRAWN
from tests.support.simulation.schedule import Conditions
from tests.support.simulation.shell import Shell
from tests.support.simulation.subject import MakeSubject, Surroundings
from tests.support.simulation.timeline import Timeline
from translators.dialects.classic import JoinGroupReply
from translators.dialects.consumer import ConsumerGroupHeartbeatReply
from translators.dialects.errors import ErrorCode
from translators.dialects.ids import InstanceId, MemberId, RequestRef, TopicName, TopicPartition
from translators.dialects.messages import GroupReply, GroupRequest
from translators.dialects.offsets import OffsetCommit

TOPIC, EXTRA_TOPIC = TopicName("orders"), TopicName("returns")
RESUME_GRACE_MS = 6_000
"""How long a bridge without memory waits for survivors: longer than any heartbeat interval of this world."""
TOPICS_REFRESH_MS = 1_000


class World:
    """Everything there is; `fleet` has the client process at each place, dead ones included."""

    def __init__(self, conditions: Conditions, seed: int, make_subject: MakeSubject) -> None:
        self.conditions, self.seed = conditions, seed
        self.timeline = Timeline()
        self.oracle = Oracle(lambda: self.timeline.now_ms)
        self.topics = Topics()
        self.network = Network(self.timeline, seed, conditions.latency_ms, self._arrive, self._lose_connection)
        self.broker = Broker(self.timeline, seed, self._land)
        self.fleet: dict[int, Actor] = {}
        self.commits_landed = 0
        self.deleted_ms: int | None = None
        self._actors: dict[int, Actor] = {}
        self._committers: dict[RequestRef, MemberId] = {}
        surroundings = Surroundings(
            settings=_settings(conditions),
            no_assignment_before_ms=0,
            first_id=0,
            now_ms=lambda: self.timeline.now_ms,
            answer=self._answer,
            ask_broker=self.broker.ask,
        )
        self.shell = Shell(self.timeline, make_subject, surroundings, seed)
        self.topics.create(TOPIC, conditions.partitions)
        self._show_topics()

    # ------------------------------------------------------------------ what can be done

    def living(self) -> list[Actor]:
        """The clients that are alive, in the order of their places."""
        return [self.fleet[place] for place in sorted(self.fleet) if self.fleet[place].is_alive]

    def start(self, place: int, name: str) -> None:
        """Start a client at a place where none lives."""
        if place in self.fleet and self.fleet[place].is_alive:
            return
        profile = PROFILES.get(name) or UNDRAWN[name]
        is_static = place in self.conditions.static_places and profile.may_be_static
        role = Role(
            number=len(self._actors) + 1,
            place=place,
            profile=profile,
            topics=(TOPIC, EXTRA_TOPIC) if place in self.conditions.curious_places else (TOPIC,),
            instance_id=InstanceId(f"instance-{place}") if is_static else None,
            session_ms=self.conditions.consumer_session_ms if profile.is_native else profile.session_ms,
        )
        outside = Outside(self.timeline, self.oracle, self.network, self.seed)
        actor = NativeActor(role, outside, self.topics) if profile.is_native else ClassicActor(role, outside)
        self.fleet[place] = self._actors[role.number] = actor
        actor.note("starts")
        actor.start()

    def restart_bridge(self) -> None:
        """Lose the bridge and all it knows; another takes its place."""
        self.oracle.note("bridge", "restarts without memory")
        self.network.cut_all()
        self.shell.restart(RESUME_GRACE_MS)
        self.oracle.lose_memory(self.timeline.now_ms + RESUME_GRACE_MS)
        self._show_topics()

    def change_topics(self, changed: bool) -> None:
        """The bridge's watcher notices after a while."""
        if changed:
            self.timeline.after(TOPICS_REFRESH_MS, self._show_topics)

    def create_topic(self, name: TopicName, partitions: int) -> None:
        """Make a topic; not while clients may still read one of that name that was deleted."""
        if self.deleted_ms is None:
            self.change_topics(self.topics.create(name, partitions))

    def delete_topic(self, name: TopicName) -> None:
        """Delete a topic under its readers."""
        if self.topics.delete(name):
            self.deleted_ms = self.timeline.now_ms
            self.oracle.forget_topic(name)
            self.change_topics(changed=True)

    def heal(self) -> None:
        """Faults stop."""
        self.deleted_ms = None
        self.broker.is_broken, self.broker.delay_ms = False, USUAL_MS
        for actor in self.living():
            self.network.lag(actor.role.number, 0, 0)

    # ------------------------------------------------------------------ what happens

    def _show_topics(self) -> None:
        self.oracle.note("topics", ", ".join(f"{topic.name}:{topic.partition_count}" for topic in self.topics.all()))
        self.shell.subject.change_topics(self.topics.all())
        self.shell.plan()

    def _arrive(self, ref: RequestRef, client: int, request: GroupRequest) -> None:
        if isinstance(request, OffsetCommit):
            self._committers[ref] = request.member_id
        else:
            self.oracle.hear(client)
        self.shell.arrive(ref, self._actors[client].identity, request)

    def _lose_connection(self, connection: int) -> None:
        self.shell.lose_connection(connection)

    def _answer(self, ref: RequestRef, reply: GroupReply) -> None:
        if isinstance(reply, JoinGroupReply | ConsumerGroupHeartbeatReply) and reply.error is ErrorCode.NONE:
            self.oracle.revive(self.network.client_of(ref.connection))
        self.network.answer(ref, reply)

    def _land(self, ref: RequestRef, request: OffsetCommit) -> None:
        """A commit is in the broker: nobody else may have been given its partitions (decision 2)."""
        self.commits_landed += 1
        committer, number = self._committers[ref], self.network.client_of(ref.connection)
        for topic in request.topics:
            for entry in topic.partitions:
                partition = TopicPartition(topic.name, entry.partition)
                self._check_landing(partition, committer, number)

    def _check_landing(self, partition: TopicPartition, committer: MemberId, number: int) -> None:
        rivals = [
            self.oracle.standings[holder].name
            for holder in self.oracle.holders(partition)
            if holder != number and not self.oracle.is_excused(holder)
        ]
        owner = self._owner_of(partition)
        if rivals or owner not in {None, committer}:
            seen = f"{partition} of {self.oracle.standings[number].name} while {owner!r} owns and {rivals} process it"
            raise InvariantBroken("no commit lands after its partition's release", seen)

    def _owner_of(self, partition: TopicPartition) -> MemberId | None:
        group = self.shell.subject.shard.groups.get(GROUP)
        ids = self.topics.to_ids({partition})
        return None if group is None else next((group.owners.get(one) for one in ids), None)


def _settings(conditions: Conditions) -> EngineSettings:
    return EngineSettings(
        group_initial_rebalance_delay_ms=conditions.initial_delay_ms,
        group_consumer_session_timeout_ms=conditions.consumer_session_ms,
        group_consumer_heartbeat_interval_ms=conditions.consumer_heartbeat_ms,
    )
