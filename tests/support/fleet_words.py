"""Facts about one member of an invented group, so that a story of it stays short."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypedDict

from bridge.telemetry.schema.facts import (
    MemberJoined,
    MemberTold,
    PartitionsAssigned,
    PartitionsFetched,
    PartitionsReleased,
    PartitionsTold,
    PhaseBegan,
    PhaseEnded,
)
from bridge.telemetry.schema.terms import Carrier, News, Phase, Protocol, Road


class AboutGroup(TypedDict):
    """What every fact about a group says."""

    group_id: str
    road: Road
    rebalance_id: str
    group_epoch: int


class AboutMember(AboutGroup):
    """What every fact about a member says."""

    member_id: str
    protocol: Protocol
    member_epoch: int
    generation: int


@dataclass(frozen=True, slots=True)
class MemberWords:
    """Makes facts about one member in one rebalance."""

    group_id: str
    rebalance_id: str
    epoch: int
    protocol: Protocol
    member_id: str
    road: Road = Road.EMBEDDED

    def told(self, news: News) -> MemberTold:
        """An answer brought news."""
        classic = self.protocol is Protocol.CLASSIC
        return MemberTold(
            **self._about(), news=news, carrier=Carrier.HEARTBEAT if classic else Carrier.CONSUMER_GROUP_HEARTBEAT
        )

    def phase(self, phase: Phase) -> tuple[PhaseBegan, PhaseEnded]:
        """Begin and end of a phase."""
        return PhaseBegan(**self._about(), phase=phase), PhaseEnded(**self._about(), phase=phase)

    def to_release(self, partitions: Sequence[str]) -> PartitionsTold:
        """It is to give these up."""
        return PartitionsTold(**self._about(), partitions=tuple(partitions))

    def released(self, partitions: Sequence[str]) -> PartitionsReleased:
        """It gave these up."""
        return PartitionsReleased(**self._about(), partitions=tuple(partitions))

    def assigned(self, partitions: Sequence[str], count: int) -> PartitionsAssigned:
        """It got these."""
        return PartitionsAssigned(**self._about(), partitions=tuple(partitions), assigned_count=count)

    def fetched(self, partitions: Sequence[str]) -> PartitionsFetched:
        """It fetched from these."""
        return PartitionsFetched(**self._about(), partitions=tuple(partitions))

    def joined(self, number: int) -> MemberJoined:
        """It came; its library goes by its number."""
        return MemberJoined(
            **self._about(),
            client_id=f"app-{number}",
            client_host="127.0.0.1",
            library="librdkafka" if number % 2 else "apache-kafka-java",
            library_version="2.16.0",
            topics=("orders",),
            session_timeout_ms=45_000,
            rebalance_timeout_ms=300_000,
        )

    def _about(self) -> AboutMember:
        return AboutMember(
            group_id=self.group_id,
            road=self.road,
            rebalance_id=self.rebalance_id,
            group_epoch=self.epoch,
            member_id=self.member_id,
            protocol=self.protocol,
            member_epoch=self.epoch,
            generation=self.epoch,
        )
