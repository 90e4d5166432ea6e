"""A consumer that does everything right while strangers do not, and remembers whatever it was told that is wrong.

It must not know the strangers. It runs as a process of its own, so that it waits for the bridge and not for them:
`python -m tests.fuzz.canary PORT` says one JSON line about itself whenever a line is read, until its input ends.
"""

import json
import sys
import time
from dataclasses import dataclass, field

import trio

from bridge.whatif.membership import CLASSIC_RETRIED, ClassicMembership, Timeouts
from bridge.wire.apis import ApiKey
from bridge.wire.codec.registry import Reply, Request, decode_reply, encode_request
from tests.fuzz.words import CANARY
from tests.support.scripted_broker import RawClient, dial
from translators.dialects.classic import (
    HeartbeatReply,
    JoinGroupReply,
    SyncGroupReply,
)
from translators.dialects.consumer_protocol import Subscription
from translators.dialects.errors import ErrorCode
from translators.dialects.ids import GroupId, TopicName
from translators.dialects.offsets import OffsetCommit, OffsetCommitReply, PartitionCommit, TopicCommit

GROUP = GroupId(CANARY)
ANSWER_S = 20.0
"""How long an answer may take on a machine that does other things as well."""
PAUSE_S = 0.02
TIMEOUTS = Timeouts(session_ms=45_000, rebalance_ms=45_000)
VERSIONS = {ApiKey.JOIN_GROUP: 9, ApiKey.SYNC_GROUP: 5, ApiKey.HEARTBEAT: 4, ApiKey.OFFSET_COMMIT: 8}


@dataclass(frozen=True, slots=True)
class Song:
    """What a canary tells of itself; `took_s` since it told the last time, the rest altogether."""

    beats: int
    commits: int
    retries: int
    faults: tuple[str, ...]
    took_s: tuple[float, ...]

    @classmethod
    def read(cls, line: bytes) -> "Song":
        """The line that `Canary.report` gave."""
        told = json.loads(line)
        faults, took_s = tuple(map(str, told["faults"])), tuple(map(float, told["took_s"]))
        return cls(int(told["beats"]), int(told["commits"]), int(told["retries"]), faults, took_s)


@dataclass(slots=True)
class Canary:
    """One member of a group of its own."""

    port: int
    faults: list[str] = field(default_factory=list)
    took_s: list[float] = field(default_factory=list)
    beats: int = 0
    commits: int = 0
    retries: int = 0
    _client: RawClient | None = None
    _member: ClassicMembership = ClassicMembership(group_id=GROUP)
    _number: int = 0

    async def run(self) -> None:
        """Join, and go on until cancelled."""
        await self._join()
        while True:
            beat = await self._ask(ApiKey.HEARTBEAT, self._member.heartbeat())
            if isinstance(beat, HeartbeatReply):
                self.beats += 1
                await self._after(beat.error)
            if self.beats % 10 == 0:
                await self._commit()
            await trio.sleep(PAUSE_S)

    async def _after(self, error: ErrorCode) -> None:
        if error is ErrorCode.REBALANCE_IN_PROGRESS:
            await self._join()
        else:
            self._judge("HEARTBEAT", error)

    async def _join(self) -> None:
        """Until it is a member with all six partitions: nobody else wants them."""
        subscription = Subscription(version=1, topics=(TopicName("t"),), owned=frozenset())
        while True:
            joined = await self._ask(ApiKey.JOIN_GROUP, self._member.join(("range",), subscription, TIMEOUTS))
            if isinstance(joined, JoinGroupReply) and joined.error is ErrorCode.MEMBER_ID_REQUIRED:
                self._member = self._member.joined(joined)
                continue
            if isinstance(joined, JoinGroupReply) and joined.error is ErrorCode.NONE:
                self._member = self._member.joined(joined)
                if await self._sync(joined):
                    return
            elif isinstance(joined, JoinGroupReply):
                self._judge("JOIN_GROUP", joined.error)
            await trio.sleep(PAUSE_S)

    async def _sync(self, joined: JoinGroupReply) -> bool:
        synced = await self._ask(ApiKey.SYNC_GROUP, self._member.sync(joined))
        if not isinstance(synced, SyncGroupReply):
            return False
        if synced.error is not ErrorCode.NONE:
            self._judge("SYNC_GROUP", synced.error)
            return False
        if not synced.assignment:
            self.faults.append(f"an assignment of no bytes in generation {joined.generation}")
        return True

    async def _commit(self) -> None:
        part = PartitionCommit(partition=0, offset=self.commits, leader_epoch=-1, metadata="")
        request = OffsetCommit(
            group_id=GROUP,
            generation=self._member.generation,
            member_id=self._member.member_id,
            instance_id=None,
            topics=(TopicCommit(name=TopicName("t"), partitions=(part,)),),
        )
        reply = await self._ask(ApiKey.OFFSET_COMMIT, request)
        if isinstance(reply, OffsetCommitReply):
            self.commits += 1
            for topic in reply.topics:
                for one in topic.partitions:
                    self._judge("OFFSET_COMMIT", one.error)

    def _judge(self, what: str, error: ErrorCode) -> None:
        if error in CLASSIC_RETRIED:
            self.retries += 1
        elif error is not ErrorCode.NONE:
            self.faults.append(f"{what}: {error.name}")

    async def _ask(self, api_key: ApiKey, request: Request) -> Reply | None:
        self._number += 1
        version, began = VERSIONS[api_key], time.perf_counter()
        try:
            with trio.fail_after(ANSWER_S):
                if self._client is None:
                    self._client = await dial(self.port)
                await self._client.send(encode_request(api_key, version, self._number, CANARY, request))
                correlation_id, body = await self._client.answer()
        except (EOFError, OSError, trio.BrokenResourceError) as problem:
            self.faults.append(f"{api_key.name}: the connection ended: {problem!r}")
            self._client = None
            return None
        except trio.TooSlowError:
            self.faults.append(f"{api_key.name}: no answer within {ANSWER_S:.0f} s")
            self._client = None
            return None
        if api_key is ApiKey.HEARTBEAT:
            self.took_s.append(time.perf_counter() - began)
        number, reply = decode_reply(api_key, version, correlation_id.to_bytes(4) + body)
        if number != self._number:
            self.faults.append(f"{api_key.name}: answer {number} to request {self._number}")
        return reply

    def report(self) -> str:
        """What happened since the last report, and altogether."""
        took_s, self.took_s = self.took_s, []
        return json.dumps({
            "beats": self.beats,
            "commits": self.commits,
            "retries": self.retries,
            "faults": self.faults,
            "took_s": took_s,
        })  # fmt: skip


async def sing(port: int) -> None:
    """Be a canary until there is nobody to report to."""
    canary = Canary(port)
    async with trio.open_nursery() as nursery:
        nursery.start_soon(canary.run)
        while await trio.to_thread.run_sync(sys.stdin.readline):
            print(canary.report(), flush=True)
        nursery.cancel_scope.cancel()


if __name__ == "__main__":
    trio.run(sing, int(sys.argv[1]))
