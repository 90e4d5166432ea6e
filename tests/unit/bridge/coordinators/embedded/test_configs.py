"""Settings of embedded groups: what is asked of the broker before anything is told or done, and what of its answer
counts.
"""

from functools import partial

import pytest
from trio.testing import MockClock

from bridge.coordinators.embedded.configs import A_SETTING, ALL_BROKERS, DESCRIBED_MAX
from bridge.engine.settings import GROUP_KEYS, PREFIX, SESSION_TIMEOUT
from bridge.wire.codec.registry import Reply, Request
from tests.support.embedded_world import World, embedded_world
from tests.support.memory_journal import MemoryJournal
from tests.support.owned_group import GROUP as ORDERS
from translators.dialects.configs import (
    CLIENT_METRICS,
    GROUP,
    Alteration,
    AlterConfigs,
    AlterConfigsReply,
    AlteredResource,
    AskedResource,
    ConfigSource,
    DescribeConfigs,
    DescribeConfigsReply,
    DescribedConfig,
    DescribedResource,
    IncrementalAlterConfigs,
    ListConfigResources,
    ListConfigResourcesReply,
    Operation,
    Resource,
    ResourceAlterations,
    Synonym,
)
from translators.dialects.errors import ErrorCode

HERE = Resource(GROUP, ORDERS)
SHARE = DescribedConfig(name="share.session.timeout.ms", value="45000", source=ConfigSource.DEFAULT)
BROKERS_OWN = DescribedConfig(name=SESSION_TIMEOUT, value="58000", source=ConfigSource.GROUP)
GRACE = f"{PREFIX}replacement.grace.ms"
LOST, DENIED, UNKNOWN = (
    ErrorCode.COORDINATOR_NOT_AVAILABLE,
    ErrorCode.GROUP_AUTHORIZATION_FAILED,
    ErrorCode.INVALID_REQUEST,
)


def described(request: Request, code: ErrorCode = ErrorCode.NONE) -> Reply:
    """What Kafka 4 tells of groups."""
    assert isinstance(request, DescribeConfigs)
    configs = () if code else (SHARE, BROKERS_OWN)
    return DescribeConfigsReply(
        results=tuple(
            DescribedResource(resource=one.resource, error=code, configs=configs) for one in request.resources
        )
    )


def altered(request: Request, code: ErrorCode = ErrorCode.NONE) -> Reply:
    """What a broker says to alterations."""
    assert isinstance(request, (AlterConfigs, IncrementalAlterConfigs))
    return AlterConfigsReply(
        results=tuple(AlteredResource(resource=one.resource, error=code) for one in request.resources)
    )


def increment(
    *alterations: Alteration, resource: Resource = HERE, validate_only: bool = False
) -> IncrementalAlterConfigs:
    """An alteration of one group."""
    return IncrementalAlterConfigs(resources=(ResourceAlterations(resource, alterations),), validate_only=validate_only)


def listing(
    code: ErrorCode, resources: tuple[Resource, ...], request: Request | None = None
) -> ListConfigResourcesReply:
    """A list of resources, whoever asks for it."""
    del request
    return ListConfigResourcesReply(error=code, resources=resources)


async def alter(world: World, request: AlterConfigs | IncrementalAlterConfigs, *codes: ErrorCode) -> AlteredResource:
    """What is answered, when the broker says these in turn."""
    ref = world.send(request)
    for code in codes:
        world.via.answer(partial(altered, code=code))
    (result,) = (await world.answer(ref, AlterConfigsReply)).results
    return result


@pytest.mark.parametrize("code", [ErrorCode.NONE, ErrorCode.INVALID_REQUEST])
async def test_settings_of_so_many_groups_are_told_in_one_answer(code: ErrorCode, autojump_clock: MockClock) -> None:
    """The same one 25,000 times, or as many names that no group has, kept everybody waiting for ten seconds; whether
    the broker has settings of groups or not.
    """
    async with embedded_world() as world:
        ref = world.send(DescribeConfigs(resources=(AskedResource(HERE),) * (DESCRIBED_MAX + 2)))
        world.via.answer(partial(described, code=code))
        if code:
            world.via.answer(described)
        results = (await world.answer(ref, DescribeConfigsReply)).results
        assert [one.error for one in results] == [ErrorCode.NONE] * DESCRIBED_MAX + [ErrorCode.INVALID_REQUEST] * 2
        assert results[0].configs
        assert str(DESCRIBED_MAX) in (results[-1].error_message or "")


async def test_brokers_settings_of_other_kinds_are_told_with_ours(autojump_clock: MockClock) -> None:
    """What it has of consumer groups does not count here."""
    async with embedded_world() as world:
        assert (await alter(world, increment(Alteration(GRACE, "9000")), ErrorCode.NONE)).error is ErrorCode.NONE
        asked = DescribeConfigs(resources=(AskedResource(HERE),), include_synonyms=True, include_documentation=True)
        ref = world.send(asked)
        assert world.via.answer(described) == asked
        (result,) = (await world.answer(ref, DescribeConfigsReply)).results
        configs = {one.name: one for one in result.configs}
        assert configs.keys() == {*GROUP_KEYS, SHARE.name}
        assert configs[SESSION_TIMEOUT].value != BROKERS_OWN.value
        grace = configs[GRACE]
        assert (grace.value, grace.source) == ("9000", ConfigSource.GROUP)
        assert grace.synonyms == (
            Synonym(GRACE, "9000", ConfigSource.GROUP),
            Synonym("replacement.grace.ms", "0", ConfigSource.DEFAULT),
        )
        assert grace.documentation


async def test_settings_outlive_a_restart(autojump_clock: MockClock) -> None:
    """By the journal, and one that was taken out again does not come back."""
    journal, asked = MemoryJournal(), DescribeConfigs(resources=(AskedResource(HERE, (GRACE, SESSION_TIMEOUT)),))
    async with embedded_world() as world:
        world.groups.keep(journal)
        for alteration in (
            Alteration(GRACE, "9000"),
            Alteration(SESSION_TIMEOUT, "50000"),
            Alteration(SESSION_TIMEOUT, None, Operation.DELETE),
        ):
            assert (await alter(world, increment(alteration), ErrorCode.NONE)).error is ErrorCode.NONE
        assert await world.groups.facts_written()
    async with embedded_world() as world:
        world.groups.keep(journal)
        ref = world.send(asked)
        world.via.answer(described)
        (result,) = (await world.answer(ref, DescribeConfigsReply)).results
        told = {one.name: (one.value, one.source) for one in result.configs}
        assert told[GRACE] == ("9000", ConfigSource.GROUP)
        assert told[SESSION_TIMEOUT][1] is not ConfigSource.GROUP


async def test_only_what_was_asked_is_told(autojump_clock: MockClock) -> None:
    """The broker is asked all the same: it says who may ask."""
    async with embedded_world() as world:
        ref = world.send(DescribeConfigs(resources=(AskedResource(HERE, (GRACE,)),)))
        asked = world.via.answer(lambda _: DescribeConfigsReply(results=(DescribedResource(resource=HERE),)))
        assert asked == DescribeConfigs(resources=(AskedResource(HERE, A_SETTING),))
        (result,) = (await world.answer(ref, DescribeConfigsReply)).results
        assert [(one.name, one.synonyms, one.documentation) for one in result.configs] == [(GRACE, (), None)]


@pytest.mark.parametrize("code", [DENIED, LOST])
async def test_whom_the_broker_refuses_is_told_nothing(code: ErrorCode, autojump_clock: MockClock) -> None:
    """Neither what there is nor whether anything could be altered; and a lost answer is no permission."""
    async with embedded_world() as world:
        ref = world.send(DescribeConfigs(resources=(AskedResource(HERE),)))
        world.via.answer(lambda asked: None if code is LOST else described(asked, code))
        (result,) = (await world.answer(ref, DescribeConfigsReply)).results
        assert (result.error, result.configs) == (code, ())
        for text in ("50000", "no number"):
            said = await alter(world, increment(Alteration(SESSION_TIMEOUT, text)), code)
            assert said.error is code
        assert not world.groups.owner.shard.configs


@pytest.mark.parametrize(
    ("of_cluster", "code"),
    [(ErrorCode.NONE, ErrorCode.NONE), (ErrorCode.CLUSTER_AUTHORIZATION_FAILED, DENIED), (LOST, LOST)],
)
async def test_broker_without_settings_of_groups_is_asked_for_its_own(
    of_cluster: ErrorCode, code: ErrorCode, autojump_clock: MockClock
) -> None:
    """Kafka 3.9.1: whoever may see and alter the settings of brokers may do so with those of groups."""
    async with embedded_world() as world:
        ref = world.send(DescribeConfigs(resources=(AskedResource(HERE),)))
        world.via.answer(lambda asked: described(asked, UNKNOWN))
        asked = world.via.answer(lambda asked: described(asked, of_cluster))
        assert asked == DescribeConfigs(resources=(AskedResource(ALL_BROKERS, A_SETTING),))
        (result,) = (await world.answer(ref, DescribeConfigsReply)).results
        assert result.error is code
        assert len(result.configs) == (0 if code else len(GROUP_KEYS))
        ref = world.send(increment(Alteration(GRACE, "1")))
        world.via.answer(lambda asked: altered(asked, UNKNOWN))
        question = world.via.answer(lambda asked: altered(asked, of_cluster))
        assert question == increment(resource=ALL_BROKERS, validate_only=True)
        (said,) = (await world.answer(ref, AlterConfigsReply)).results
        assert said.error is code
        assert bool(world.groups.owner.shard.configs) is (code is ErrorCode.NONE)


async def test_what_is_wrong_changes_nothing_at_the_broker(autojump_clock: MockClock) -> None:
    """It only says whether it would let its part be done."""
    async with embedded_world() as world:
        share = Alteration("share.auto.offset.reset", "earliest")
        ref = world.send(increment(share, Alteration(SESSION_TIMEOUT, "x")))
        assert world.via.answer(altered) == increment(share, validate_only=True)
        (said,) = (await world.answer(ref, AlterConfigsReply)).results
        assert said.error is ErrorCode.INVALID_CONFIG
        ref = world.send(increment(share, Alteration(SESSION_TIMEOUT, "50000")))
        assert world.via.answer(altered) == increment(share)
        (said,) = (await world.answer(ref, AlterConfigsReply)).results
        assert said == AlteredResource(resource=HERE)


async def test_group_that_is_named_twice_is_refused(autojump_clock: MockClock) -> None:
    """As Kafka does, without a look at what is wanted."""
    async with embedded_world() as world:
        twice = AlterConfigs(resources=(ResourceAlterations(HERE, ()),) * 2)
        reply = await world.ask(twice, AlterConfigsReply)
        assert [one.error for one in reply.results] == [ErrorCode.INVALID_REQUEST] * 2
        assert not world.via.open


async def test_other_groups_than_those_named_twice_are_altered(autojump_clock: MockClock) -> None:
    """As Kafka does: a doubled resource is refused by itself."""
    async with embedded_world() as world:
        once = ResourceAlterations(Resource(GROUP, "once"), (Alteration(GRACE, "9000"),))
        twice = ResourceAlterations(HERE, (Alteration(GRACE, "1"),))
        ref = world.send(IncrementalAlterConfigs(resources=(twice, once, twice)))
        world.via.answer(altered)
        reply = await world.answer(ref, AlterConfigsReply)
        assert [one.error for one in reply.results] == [UNKNOWN, ErrorCode.NONE, UNKNOWN]
        assert [one.resource for one in reply.results] == [HERE, once.resource, HERE]
        assert world.groups.owner.shard.configs.keys() == {"once"}


async def test_right_to_the_cluster_stands_for_no_group_that_the_broker_denied(autojump_clock: MockClock) -> None:
    """It is asked about for those alone of which the broker says that it has no settings of groups."""
    async with embedded_world() as world:
        names = (HERE, Resource(GROUP, "other"))
        request = IncrementalAlterConfigs(
            resources=tuple(ResourceAlterations(one, (Alteration(GRACE, "1"),)) for one in names)
        )
        ref = world.send(request)
        codes = {HERE: DENIED, names[1]: UNKNOWN}
        world.via.answer(
            lambda _: AlterConfigsReply(
                results=tuple(AlteredResource(resource=one, error=code) for one, code in codes.items())
            )
        )
        world.via.answer(altered)
        reply = await world.answer(ref, AlterConfigsReply)
        assert [one.error for one in reply.results] == [DENIED, ErrorCode.NONE]
        assert world.groups.owner.shard.configs.keys() == {"other"}


async def test_groups_with_settings_are_listed_once(autojump_clock: MockClock) -> None:
    """Those of the broker first; nothing of ours to whom the broker lists nothing."""
    async with embedded_world() as world:
        await alter(world, increment(Alteration(GRACE, "1")), ErrorCode.NONE)
        theirs = Resource(CLIENT_METRICS, "m")
        asked = ListConfigResources(types=(GROUP, CLIENT_METRICS))
        for listed, code, told in (
            ((theirs,), ErrorCode.NONE, (theirs, HERE)),
            ((HERE,), ErrorCode.NONE, (HERE,)),
            ((), ErrorCode.CLUSTER_AUTHORIZATION_FAILED, ()),
        ):
            ref = world.send(asked)
            world.via.answer(partial(listing, code, listed))
            assert await world.answer(ref, ListConfigResourcesReply) == listing(code, told)
        ref = world.send(asked)
        world.via.answer(lambda _: None)
        assert (await world.answer(ref, ListConfigResourcesReply)).error is LOST
