"""The door to looks at the whole cluster: what they are taken with, and when their code is loaded."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from importlib import import_module
from typing import TYPE_CHECKING, Protocol

import trio

from bridge.admin.contracts import Snapshots, Surveys
from bridge.app.moves import Seats
from bridge.config.configuration import Config
from bridge.migration.abilities import BrokerAbilities
from bridge.migration.route import Road
from bridge.net.cluster import UpstreamCluster
from bridge.ports import Broker
from bridge.session.broker_addresses import Address
from bridge.session.old_commits import OldCommits
from bridge.telemetry.following.tracks import GroupTrack
from translators.classic_member.profile import Profile
from translators.dialects.ids import GroupId, MemberId, MemberRef

if TYPE_CHECKING:
    from bridge.migration.census import Census
    from bridge.migration.diagnosis import Examined

SURVEYS = "bridge.app.surveys"
"""Behind it stand census, doctor and probe, and who asks a whole cluster: a bridge that nobody asks needs none."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Ears:
    """What is heard and told here: the groups that are followed (None: nobody follows any), the road of each, as whom
    brokers know its members where their clients say other ids, what classic clients said that are translated, since
    when, the addresses that clients are told, and who commits in a version that Kafka 4 does not take.
    """

    tracks: Callable[[], Mapping[GroupId, GroupTrack] | None]
    road: Callable[[GroupId], Road]
    seats: Callable[[], Seats]
    profile: Callable[[MemberRef], Profile | None]
    listening_s: Callable[[], float]
    addresses: Callable[[], Iterable[Address]]
    old_commits: OldCommits = field(default_factory=OldCommits)


class CurrentConfig(Protocol):
    """Holds the configuration that counts at the moment: it may be read again."""

    config: Config


@dataclass(frozen=True, slots=True, kw_only=True)
class SurveyParts:
    """All that a look at a cluster is taken with; a probe joins by an id that no member has had."""

    configured: CurrentConfig
    cluster: UpstreamCluster
    broker: Broker
    fresh_member_id: Callable[[], MemberId]
    snapshots: Snapshots
    ears: Ears


class _Looks(Surveys, Protocol):
    async def abilities(self) -> BrokerAbilities: ...


class SurveysOnDemand:
    """Looks at the cluster and at the groups heard here (`surveys.AppSurveys`), by code that the first look loads."""

    def __init__(self, parts: SurveyParts) -> None:
        self._parts = parts
        self._looks: _Looks | None = None

    async def census(self) -> "Census":
        """All groups, of the cluster and heard here."""
        return await (await self._load()).census()

    async def examine(self) -> "Examined":
        """The cluster, also by a probe, and this bridge."""
        return await (await self._load()).examine()

    async def abilities(self) -> BrokerAbilities:
        """What the cluster can do by what its brokers tell."""
        return await (await self._load()).abilities()

    async def _load(self) -> _Looks:
        """Have a thread load the code, so that heartbeats go on; of two that come at once each makes its own, as a look
        leaves nothing behind.
        """
        if self._looks is None:
            module = await trio.to_thread.run_sync(import_module, SURVEYS)
            make: Callable[[SurveyParts], _Looks] = module.AppSurveys
            self._looks = make(self._parts)
        return self._looks
