"""What is remembered of clients and groups takes no more for long names than for others.

A client may give itself, its group and its member 32 kB each, and need not be allowed anything for that to be noted.
"""

import gc
import logging
import tracemalloc
from collections.abc import Callable
from dataclasses import replace

import pytest
import trio
from trio.testing import MockClock

from bridge.coordinators.catalog import Catalog
from bridge.coordinators.embedded.join_checks import Questions
from bridge.coordinators.exchange import ForgottenIds
from bridge.coordinators.moving.sight import WaysHeard
from bridge.coordinators.refusals import Refusals
from bridge.coordinators.upstream.left_overs import LeftOvers
from bridge.migration.route import STAYING_CHARS_MAX, UNTRANSLATED_CHARS_MAX, Road, Router, Rule
from bridge.telemetry.passing import PassingLog
from bridge.wire.apis import ApiKey
from bridge.wire.frames import RequestHeader
from tests.support.embedded_world import embedded_world
from tests.support.owned_group import CLIENT, GROUP
from translators.dialects.admin import DescribedGroup
from translators.dialects.classic import Heartbeat
from translators.dialects.errors import ErrorCode, Refusal
from translators.dialects.ids import GroupId, MemberId, MemberRef, RequestRef, via_of

NAMES, CHARS, KEPT_BYTES_MAX = 200, 32_000, 1_500_000
"""All of the names have 6.4 MB."""
Feed = Callable[[str], object]


def kept_bytes(feed: Feed) -> int:
    """What is there after all names that was not before."""
    feed("first")
    gc.collect()
    # What the test runner keeps of log lines is not looked at.
    logging.disable()
    tracemalloc.start()
    try:
        before = tracemalloc.get_traced_memory()[0]
        for number in range(NAMES):
            feed(f"{'n' * CHARS}{number}")
        gc.collect()
        return tracemalloc.get_traced_memory()[0] - before
    finally:
        tracemalloc.stop()
        logging.disable(logging.NOTSET)


def refused_groups() -> Feed:
    """Refusals that are told once a minute."""
    refusals = Refusals()
    refusal = Refusal(ErrorCode.GROUP_AUTHORIZATION_FAILED, "no")
    return lambda name: refusals.note(GroupId(name), name, refusal, 1)


def passing_groups() -> Feed:
    """Requests that go to the broker."""
    log = PassingLog()
    return lambda name: log.passed(header(), GroupId(name), replace(CLIENT, client_id=name))


def untranslated_joins() -> Feed:
    """Members that can't be translated."""
    log = PassingLog()
    return lambda name: log.untranslated(GroupId(name), replace(CLIENT, client_id=name), "reason")


def unread_requests() -> Feed:
    """Requests about settings that are too large."""
    log = PassingLog()
    return lambda name: log.passed_unread(header(), replace(CLIENT, client_id=name))


def left_overs() -> Feed:
    """Members from before the bridge started."""
    left = LeftOvers(10)

    def feed(name: str) -> None:
        left.call(MemberRef(GroupId(name), MemberId(name)), 0)
        left.note_gone(MemberRef(GroupId(name), MemberId(f"{name}-gone")))

    return feed


def forgotten_ids() -> Feed:
    """Members whose client may have forgotten their id."""
    forgotten = ForgottenIds()

    def feed(name: str) -> None:
        for place in ((name, "m", "c"), ("g", name, "c"), ("g", f"m-{name}", name)):
            key = MemberRef(GroupId(place[0]), MemberId(place[1]))
            forgotten.note(key, 1, replace(CLIENT, client_id=place[2]), 1)

    return feed


def ways_of_members() -> Feed:
    """By which connections members of a group come that is about to be moved."""
    ways, catalog, via = WaysHeard(), Catalog(), via_of(RequestRef(0, 1, 0))

    def feed(name: str) -> None:
        ways.hear(via, Heartbeat(GROUP, 1, MemberId(name), None), catalog)
        assert ways.of({MemberId(name)}) == [(name, via)]

    return feed


def header() -> RequestHeader:
    """That of some request."""
    return RequestHeader(
        frame_bytes=8,
        api_key=ApiKey.INCREMENTAL_ALTER_CONFIGS,
        api_version=1,
        correlation_id=1,
        client_id=None,
        body_offset=8,
    )


@pytest.mark.parametrize(
    "make",
    [refused_groups, passing_groups, untranslated_joins, unread_requests, left_overs, forgotten_ids, ways_of_members],
    ids=lambda make: make.__name__,
)
def test_long_names_are_not_kept(make: Callable[[], Feed]) -> None:
    """200 of them have 6.4 MB, and of some notes 10,000 are kept."""
    assert kept_bytes(make()) < KEPT_BYTES_MAX


def test_members_that_nobody_can_translate_are_few_where_their_names_are_long() -> None:
    """What counts is how much is remembered, and each of them is the broker's until then."""
    router, kept = Router([Rule("*", Road.UPSTREAM)]), UNTRANSLATED_CHARS_MAX // CHARS
    members = [MemberId(f"{'n' * (CHARS - 5)}-{number:04}") for number in range(kept + 50)]
    for member_id in (*members, *members[-3:]):
        router.let_pass(GroupId(""), member_id)
    assert set(router.moved[GroupId("")]) == set(members[-kept:])
    router.return_member(GroupId(""), members[-1])
    router.let_pass(GroupId(""), MemberId("another"))
    assert len(router.moved[GroupId("")]) == kept


def test_groups_that_pass_against_their_rule_are_few_where_their_names_are_long() -> None:
    """Any client that its broker lets in begins as many groups of Kafka Connect as it likes."""
    router, kept = Router([Rule("*", Road.UPSTREAM)]), STAYING_CHARS_MAX // CHARS
    groups = [GroupId(f"{'n' * (CHARS - 5)}-{number:04}") for number in range(kept + 50)]
    assert all(router.let_stay(group_id, Road.PASS) for group_id in groups)
    assert set(router.staying) == set(groups[-kept:])


async def test_groups_whose_members_talk_to_the_broker_are_not_kept_by_long_names() -> None:
    """They are shown, and a client may ask for any name."""
    async with embedded_world() as world:
        report = world.groups.join_checks.report_foreign
        assert kept_bytes(lambda name: report(GroupId(name), "it has members there")) < KEPT_BYTES_MAX
        report(GroupId("orders"), "it has members there")
        assert "orders" in world.groups.join_checks.bypassed


async def test_groups_that_a_join_was_let_into_are_not_kept_by_long_names(autojump_clock: MockClock) -> None:
    """Whose first member is refused is never empty again."""
    async with embedded_world() as world:
        checks = world.groups.join_checks
        world.broker.described = DescribedGroup(error=ErrorCode.NONE, group_id=GROUP, group_state="Dead")
        world.broker.delay_s = 0

        async def feed_all() -> int:
            tracemalloc.start()
            before = tracemalloc.get_traced_memory()[0]
            for number in range(NAMES):
                group_id = GroupId(f"{'n' * CHARS}{number}")
                assert await checks.ask(Questions(group_id, asks_members=True, asks_topics=False)) is None
            world.broker.asked.clear()
            gc.collect()
            return tracemalloc.get_traced_memory()[0] - before

        try:
            assert await feed_all() < KEPT_BYTES_MAX
        finally:
            tracemalloc.stop()
        await trio.lowlevel.checkpoint()
