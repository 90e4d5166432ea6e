"""Whatever names clients give themselves and each other, each answer of the bridge can be written.

A refusal that quoted a name of 32,767 bytes was longer than a Kafka string may be: it could not be written, and that
ended the process.
"""

from collections.abc import Iterator, Sequence
from copy import copy
from dataclasses import fields, replace

import pytest
import trio.testing

from bridge.wire.codec.registry import APIS, SUPPORTED, Reply, Request, encode_reply
from tests.support.embedded_world import commit_request, embedded_world, join_request, leave_request, native_join
from tests.support.owned_group import GROUP
from translators.dialects.admin import DeleteGroups, DescribeGroups
from translators.dialects.classic import Heartbeat, SyncGroup
from translators.dialects.consumer import ConsumerGroupDescribe
from translators.dialects.ids import ClientIdentity, GroupId, InstanceId, MemberId

NAMES = ("n" * 32_767, "\U0001f980" * 8_191)
"""As many bytes as a Kafka string may have."""
TEXTS = (
    "group_id",
    "group_id",
    "member_id",
    "instance_id",
    "server_assignor",
    "subscribed_topic_regex",
    "protocol_type",
    "rack_id",
)


def sync(member_id: str) -> SyncGroup:
    """Somebody asks for a first assignment."""
    return SyncGroup(group_id=GROUP, generation=1, member_id=MemberId(member_id), instance_id=None)


def with_names(request: Request, places: Sequence[str], name: str) -> Request:
    """The request with the name in these fields."""
    named = copy(request)
    for place in places:
        object.__setattr__(named, place, name)
    return named


def named(name: str) -> Iterator[Request]:
    """Requests with the name in each place in turn, and in all of them."""
    joined = join_request(name)
    for request in (joined, native_join(name), sync(name), leave_request(name)):
        yield request
        places = [text for text in TEXTS if text in {field.name for field in fields(request)}]
        for place in places:
            yield with_names(request, [place], name)
        yield with_names(request, places, name)
    yield replace(joined, protocols=tuple(replace(one, name=name) for one in joined.protocols) * 3)
    yield replace(joined, instance_id=InstanceId(name), member_id=MemberId("other"))
    yield from (replace(native_join(name), member_epoch=epoch) for epoch in (-2, -1, 7))
    yield Heartbeat(GroupId(name), 1, MemberId(name), InstanceId(name))
    yield commit_request(3, name)
    yield DescribeGroups(group_ids=(GroupId(name), GROUP))
    yield ConsumerGroupDescribe((GroupId(name), GROUP))
    yield DeleteGroups((GroupId(name), GROUP))


@pytest.mark.parametrize("name", NAMES, ids=["ascii", "four-bytes"])
async def test_every_answer_can_be_written_however_long_the_names(
    name: str, autojump_clock: trio.testing.MockClock
) -> None:
    """To requests of every kind, before and after somebody with such names is in the group."""
    assert len(name.encode()) <= 32_767
    written = 0
    async with embedded_world() as world:
        client = ClientIdentity(client_id=name, client_host="/10.0.0.1")
        for _ in range(2):
            for request in named(name):
                ref = world.send(request, client=client)
                await trio.sleep(120)
                if ref in world.replies:
                    written += 1
                    write(request, world.replies[ref])
        assert written > 60
        assert world.groups.turns.failures == 0


def write(request: Request, reply: Reply) -> None:
    """In the newest version, which says most, and the oldest in which the request could be asked."""
    api_key = next(key for key, api in APIS.items() if api.request_type is type(request))
    encode_reply(api_key, SUPPORTED[api_key].highest, 1, reply)
