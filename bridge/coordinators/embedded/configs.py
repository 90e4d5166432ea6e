"""What admins ask about the settings of embedded groups: the bridge's own, and what the broker has for groups of other
kinds; whether somebody may ask or alter is the broker's word, asked by the client's own connection.

Kafka 4 has settings of groups and says of a group itself who may do what. A broker of before has none: there the right
to the settings of the cluster's brokers stands for it.
"""

from collections import Counter, defaultdict, deque
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass, replace

from bridge.engine.commands import AlterGroupConfigs
from bridge.engine.configuring import NOTHING, judge_alteration
from bridge.engine.settings import GROUP_KEYS, EngineSettings, GroupKey, base_text, configured_settings, is_elsewhere
from bridge.engine.state import Shard
from bridge.session.contracts import BrokerAccess
from translators.dialects.configs import (
    BROKER,
    GROUP,
    AlterConfigs,
    AlterConfigsReply,
    AlteredResource,
    AskedResource,
    ConfigReply,
    ConfigRequest,
    ConfigSource,
    DescribeConfigs,
    DescribeConfigsReply,
    DescribedConfig,
    DescribedResource,
    IncrementalAlterConfigs,
    ListConfigResources,
    ListConfigResourcesReply,
    Resource,
    ResourceAlterations,
    Synonym,
)
from translators.dialects.errors import ErrorCode, Refusal
from translators.dialects.ids import NO_MEMBER_ID, GroupId, MemberRef, RequestRef
from translators.dialects.messages import GroupReply

Answer = Callable[[ConfigReply], None]
Altering = AlterConfigs | IncrementalAlterConfigs
ALL_BROKERS = Resource(BROKER, "")
"""The settings of all brokers together: the right to them is one to the cluster."""
A_SETTING = ("group.initial.rebalance.delay.ms",)
"""What is asked where only the right to ask is of interest."""
DESCRIBED_MAX = 500
"""Of so many groups the settings are told in one answer: each is some 20 values, and 25,000 kept everybody waiting."""
_LOST = ErrorCode.COORDINATOR_NOT_AVAILABLE
_NO_RIGHT = "Group authorization failed."
_DOUBLED = "Each resource must appear at most once."
_DEFAULTS = EngineSettings()


@dataclass(frozen=True, slots=True)
class _Judged:
    """What is to become of one group: what the bridge would do, or why not, and what is the broker's to do."""

    asked: ResourceAlterations
    command: AlterGroupConfigs
    refusal: Refusal | None

    @property
    def elsewhere(self) -> ResourceAlterations:
        """What is said of settings of other kinds of groups."""
        resource, alterations = self.asked.resource, self.asked.alterations
        return ResourceAlterations(resource, tuple(one for one in alterations if is_elsewhere(one.name)))


class ConfigViews:
    """The answers to requests about settings; `alter` carries out what was judged before."""

    def __init__(self, shard: Shard, alter: Callable[[AlterGroupConfigs], AlteredResource]) -> None:
        self._shard = shard
        self._alter = alter

    def submit(self, ref: RequestRef, via: BrokerAccess, request: ConfigRequest, answer: Answer) -> None:
        """Answer one request, when the broker has said what is to be said of it."""
        match request:
            case DescribeConfigs():
                self._describe(ref, via, request, answer)
            case AlterConfigs() | IncrementalAlterConfigs():
                self._alter_all(ref, via, request, answer)
            case ListConfigResources():
                self._list(ref, via, request, answer)

    # ------------------------------------------------------------------ described

    def _describe(self, ref: RequestRef, via: BrokerAccess, request: DescribeConfigs, answer: Answer) -> None:
        def merge(reply: GroupReply | None) -> None:
            found = reply.results if isinstance(reply, DescribeConfigsReply) else ()
            if found and all(one.error is ErrorCode.INVALID_REQUEST for one in found):
                self._describe_alone(ref, via, request, answer, found[0])
                return
            told: defaultdict[Resource, deque[DescribedResource]] = defaultdict(deque)
            for each in found:
                told[each.resource].append(each)
            lost = (DescribedResource(resource=one.resource, error=_LOST) for one in request.resources)
            theirs = (
                told[one.resource].popleft() if told[one.resource] else untold
                for one, untold in zip(request.resources, lost, strict=True)
            )
            results = self._all_described(request, theirs)
            answer(DescribeConfigsReply(results=results, throttle_time_ms=_throttle(reply)))

        asked = tuple(AskedResource(one.resource, _keys_at_broker(one.keys)) for one in request.resources)
        via.ask(ref, replace(request, resources=asked), merge)

    def _describe_alone(
        self, ref: RequestRef, via: BrokerAccess, request: DescribeConfigs, answer: Answer, refused: DescribedResource
    ) -> None:
        """The broker has no settings of groups: whoever may see those of brokers may see these.

        What it refused else is that of a group without a name, which Kafka 4 refuses the same way.
        """

        def judge(reply: GroupReply | None) -> None:
            results = reply.results if isinstance(reply, DescribeConfigsReply) else ()
            error = results[0].error if results else _LOST
            theirs = (
                _broker_says(one.resource, error) if one.resource.name else replace(refused, resource=one.resource)
                for one in request.resources
            )
            results = self._all_described(request, theirs)
            answer(DescribeConfigsReply(results=results, throttle_time_ms=_throttle(reply)))

        via.ask(ref, DescribeConfigs(resources=(AskedResource(ALL_BROKERS, A_SETTING),)), judge)

    def _all_described(
        self, request: DescribeConfigs, theirs: Iterable[DescribedResource]
    ) -> tuple[DescribedResource, ...]:
        return tuple(
            self._described(one, request, said) if place < DESCRIBED_MAX else _too_many(one.resource)
            for place, (one, said) in enumerate(zip(request.resources, theirs, strict=True))
        )

    def _described(
        self, asked: AskedResource, request: DescribeConfigs, theirs: DescribedResource
    ) -> DescribedResource:
        if theirs.error is not ErrorCode.NONE:
            return theirs
        group_id = GroupId(asked.resource.name)
        keys = [key for key in GROUP_KEYS.values() if not asked.keys or key.name in asked.keys]
        ours = tuple(self._config(group_id, key, request) for key in keys)
        others = tuple(one for one in theirs.configs if one.name not in GROUP_KEYS)
        return replace(theirs, configs=ours + others)

    def _config(self, group_id: GroupId, key: GroupKey, request: DescribeConfigs) -> DescribedConfig:
        own = dict(self._shard.configs.get(group_id, NOTHING).values).get(key.name)
        synonyms = [] if own is None else [Synonym(key.name, own, ConfigSource.GROUP)]
        configured = base_text(configured_settings(self._shard.settings, group_id), key)
        default = base_text(_DEFAULTS, key)
        if configured != default:
            synonyms.append(Synonym(key.base, configured, ConfigSource.STATIC_BROKER))
        synonyms.append(Synonym(key.base, default, ConfigSource.DEFAULT))
        first = synonyms[0]
        return DescribedConfig(
            name=key.name,
            value=first.value,
            source=first.source,
            synonyms=tuple(synonyms) if request.include_synonyms else (),
            config_type=key.kind,
            documentation=key.text if request.include_documentation else None,
        )

    # ------------------------------------------------------------------ altered

    def _alter_all(self, ref: RequestRef, via: BrokerAccess, request: Altering, answer: Answer) -> None:
        doubled = _doubles(one.resource for one in request.resources)
        judged = tuple(self._judge(one, request) for one in request.resources if one.resource not in doubled)
        right = [one for one in judged if one.refusal is None]
        wrong = [one for one in judged if one.refusal is not None]

        def ask_rights(theirs: Sequence[AlteredResource]) -> None:
            # What is wrong here changes nothing there, but who has no right to it is told that, and no more.
            self._ask_broker(ref, via, replace(request, validate_only=True), wrong, lambda more: end((*theirs, *more)))

        def end(theirs: Sequence[AlteredResource]) -> None:
            named = {one.resource: one for one in theirs}
            done = {one.asked.resource: self._carry_out(one, named) for one in judged}
            results = (
                done.get(one.resource) or _refused(one.resource, ErrorCode.INVALID_REQUEST, _DOUBLED)
                for one in request.resources
            )
            answer(AlterConfigsReply(results=tuple(results)))

        self._ask_broker(ref, via, request, right, ask_rights)

    def _judge(self, asked: ResourceAlterations, request: Altering) -> _Judged:
        group_id = GroupId(asked.resource.name)
        command = AlterGroupConfigs(
            ref=MemberRef(group_id, NO_MEMBER_ID),
            group_id=group_id,
            alterations=asked.alterations,
            replaces_all=isinstance(request, AlterConfigs),
            validate_only=request.validate_only,
        )
        configs = judge_alteration(self._shard, command)
        return _Judged(asked, command, configs if isinstance(configs, Refusal) else None)

    def _ask_broker(
        self,
        ref: RequestRef,
        via: BrokerAccess,
        request: Altering,
        judged: Collection[_Judged],
        then: Callable[[Sequence[AlteredResource]], None],
    ) -> None:
        """Have the broker do its part, and say by it who has no right to do that or anything else to these groups."""
        if not judged:
            then(())
            return
        unnamed = {one.asked.resource for one in judged if not one.elsewhere.alterations}

        def hear(reply: GroupReply | None) -> None:
            results = reply.results if isinstance(reply, AlterConfigsReply) else ()
            heard = results or tuple(_refused(one.asked.resource, _LOST) for one in judged)
            # To nothing but a name it can only object that it has no settings of groups.
            unknown = {
                one.resource for one in heard if one.resource in unnamed and one.error is ErrorCode.INVALID_REQUEST
            }
            if unknown:
                self._ask_cluster(ref, via, lambda error: then(_instead(heard, unknown, error)))
            else:
                then(heard)

        via.ask(ref, replace(request, resources=tuple(one.elsewhere for one in judged)), hear)

    def _ask_cluster(self, ref: RequestRef, via: BrokerAccess, then: Callable[[ErrorCode], None]) -> None:
        def hear(reply: GroupReply | None) -> None:
            results = reply.results if isinstance(reply, AlterConfigsReply) else ()
            then(results[0].error if results else _LOST)

        nothing = IncrementalAlterConfigs(resources=(ResourceAlterations(ALL_BROKERS, ()),), validate_only=True)
        via.ask(ref, nothing, hear)

    def _carry_out(self, judged: _Judged, theirs: dict[Resource, AlteredResource]) -> AlteredResource:
        resource = judged.asked.resource
        said = theirs.get(resource) or _refused(resource, _LOST)
        if said.error is not ErrorCode.NONE:
            return said
        if judged.refusal is not None:
            return _refused(resource, judged.refusal.code, judged.refusal.reason or None)
        return self._alter(judged.command)

    # ------------------------------------------------------------------ listed

    def _list(self, ref: RequestRef, via: BrokerAccess, request: ListConfigResources, answer: Answer) -> None:
        def merge(reply: GroupReply | None) -> None:
            if not isinstance(reply, ListConfigResourcesReply):
                answer(ListConfigResourcesReply(error=_LOST))
                return
            ours = (Resource(GROUP, group_id) for group_id in self._shard.configs)
            listed = reply.resources if reply.error is not ErrorCode.NONE else (*reply.resources, *ours)
            answer(replace(reply, resources=tuple(dict.fromkeys(listed))))

        via.ask(ref, request, merge)


def _keys_at_broker(keys: tuple[str, ...] | None) -> tuple[str, ...] | None:
    """What the broker is asked of a group: for nothing it would tell all, which is only asked for that."""
    others = tuple(name for name in keys or () if name not in GROUP_KEYS)
    return (others or A_SETTING) if keys else keys


def _too_many(resource: Resource) -> DescribedResource:
    told = f"More than {DESCRIBED_MAX} groups are asked about in one request; ask about fewer."
    return DescribedResource(resource=resource, error=ErrorCode.INVALID_REQUEST, error_message=told)


def _broker_says(resource: Resource, error: ErrorCode) -> DescribedResource:
    """What the right to the settings of brokers means for those of a group."""
    if error is ErrorCode.CLUSTER_AUTHORIZATION_FAILED:
        return DescribedResource(resource=resource, error=ErrorCode.GROUP_AUTHORIZATION_FAILED, error_message=_NO_RIGHT)
    return DescribedResource(resource=resource, error=error, error_message="")


def _instead(
    heard: Iterable[AlteredResource], resources: Collection[Resource], error: ErrorCode
) -> tuple[AlteredResource, ...]:
    """What was heard, with the answer of the cluster for these groups."""
    is_denied = error is ErrorCode.CLUSTER_AUTHORIZATION_FAILED
    code = ErrorCode.GROUP_AUTHORIZATION_FAILED if is_denied else error
    message = _NO_RIGHT if is_denied else None
    return tuple(_refused(one.resource, code, message) if one.resource in resources else one for one in heard)


def _refused(resource: Resource, error: ErrorCode, message: str | None = None) -> AlteredResource:
    return AlteredResource(resource=resource, error=error, error_message=message)


def _doubles(resources: Iterable[Resource]) -> frozenset[Resource]:
    """What is named more than once: that is refused, and nothing else for it."""
    return frozenset(resource for resource, count in Counter(resources).items() if count > 1)


def _throttle(reply: GroupReply | None) -> int:
    return reply.throttle_time_ms if isinstance(reply, DescribeConfigsReply) else 0
