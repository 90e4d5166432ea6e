"""Clients that go on by themselves, beside a coordinator that is played: whom that fails is started again, and said."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import cast

import pytest

from tests.conformance.random import settling
from tests.conformance.random.members import Member
from tests.conformance.random.playing import Asked, RandomPlay, Raw
from tests.support.conformance.calls import offer
from tests.support.conformance.normal import Told
from tests.support.conformance.playing import Answer
from tests.support.conformance.protocol import SUBSCRIPTION, encode
from tests.support.conformance.schema import Value
from tests.support.conformance.steps import Call, Part
from translators.dialects.errors import ErrorCode as E


@dataclass(slots=True)
class Coordinator:
    """Fails so many joins of a KIP-848 member, then lets it in; a classic group of one protocol is there before."""

    failures: int
    pipelined: bool = False
    chosen: str = "roundrobin"
    grown: dict[str, int] = field(default_factory=dict)
    told: Told = field(default_factory=lambda: Told(members={"b": "member-b"}))
    unsynced: set[str] = field(default_factory=set)
    waiting: list[Asked] = field(default_factory=list)
    joins: int = 0
    ready: list[Raw] = field(default_factory=list)

    def send(self, number: int, call: Call) -> None:
        """Answered at once."""
        code = E.NONE
        if call.fields["member_epoch"] == 0:
            self.joins += 1
            code = E.UNKNOWN_SERVER_ERROR if self.joins <= self.failures else E.NONE
        answer: Answer = {"error": code.value, "assignment": None}
        if code is E.NONE:
            self.told.members["n"] = "member-n"
        self.ready.append(Raw(asked=number, api=call.api, answer=answer))

    def take_ready(self, within_s: float) -> list[Raw]:
        """All that there is."""
        ready, self.ready = self.ready, []
        return ready

    def give_up_waiting(self) -> None:
        """Nothing waits."""

    def ask_aside(self, api: str, version: int, fields: Mapping[str, Part]) -> Answer:
        """An admin's requests change nothing."""
        return {}

    def views(self) -> tuple[Answer, Answer]:
        """A group with a classic member, or with the one that was let in."""
        is_in = self.joins > self.failures
        name = "n" if is_in else "b"
        row: dict[str, Value] = {"member_id": f"member-{name}", "client_id": f"client-{name}"}
        nobody: Answer = {"groups": [{"error": E.GROUP_ID_NOT_FOUND.value, "state": "Dead", "members": []}]}
        assigned: Value = {"topic_partitions": []} if is_in else b""
        group: Answer = {"groups": [{"error": 0, "state": "Stable", "members": [{**row, "assignment": assigned}]}]}
        return (nobody, group) if is_in else (group, nobody)


def member(name: str, *names: str) -> Member:
    """A classic member that proposes these, or a KIP-848 member where there are none."""
    fields: dict[str, Part] = {"protocols": offer(*names)} if names else {"subscribed_topic_names": ["wire-six"]}
    return Member(
        name=name, join=9, sync=5, beat=4, leave=5, native=not names, instance=None, topics=("wire-six",), fields=fields
    )


def settled(coordinator: Coordinator, *members: Member) -> Mapping[str, Value]:
    """What these members' clients come to; those of classic members have ended before."""
    play = settling.Settling(cast("RandomPlay", coordinator), members)
    for client in play._clients.values():
        client.ended = "" if client.member.native else "closed"
    return play.run()


@pytest.mark.parametrize(
    ("failures", "offered", "failed", "ended"),
    [
        (0, ("range",), None, ""),
        (1, ("range",), {"n": "b lacks roundrobin"}, ""),
        (2, ("range", "roundrobin"), {"n": "nobody lacks roundrobin"}, ""),
        (settling.FAILURES_MAX + 1, ("range",), {"n": "b lacks roundrobin"}, "UNKNOWN_SERVER_ERROR"),
    ],
)
def test_who_is_failed_is_started_again_and_what_stood_in_its_way_is_said(
    failures: int,
    offered: Sequence[str],
    failed: Value,
    ended: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Else Kafka's failure would leave two groups of different kinds, and nothing to compare afterwards."""
    monkeypatch.setattr(settling, "ROUND_PAUSE_S", 0.0)
    coordinator = Coordinator(failures=failures)
    found = settled(coordinator, member("b", *offered), member("n"))
    assert found.get("failed") == failed
    assert isinstance(codes := found["ended"], Mapping)
    assert codes["n"] == ended
    assert coordinator.joins == min(failures, settling.FAILURES_MAX) + 1


def test_leader_deals_out_the_sequence_s_own_topic_too() -> None:
    """It left that to nobody, and what Kafka's classic groups had of it looked like a difference of ours."""
    wants = {"a": ["wire-two", "wire-x-t"], "b": ["wire-x-t", "wire-none"]}
    members: list[Value] = [
        {"member_id": name, "metadata": encode(1, SUBSCRIPTION, {"topics": list(topics), "owned": []})}
        for name, topics in wants.items()
    ]
    dealt = settling.dealt_by_leader({"members": members}, {"wire-two": 2, "wire-x-t": 3})
    assert dealt == {"a": {"wire-two": [0, 1], "wire-x-t": [0, 2]}, "b": {"wire-x-t": [1]}}
