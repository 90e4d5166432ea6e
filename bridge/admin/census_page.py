"""The page of the census: which keys its JSON has, and what they hold."""

from collections.abc import Mapping
from dataclasses import fields
from enum import StrEnum

import trio
from starlette.requests import Request
from starlette.responses import Response

from bridge.admin.contracts import Surveys
from bridge.admin.documents import JSON, Document, encode, error_document, show
from bridge.migration.abilities import BrokerAbilities
from bridge.migration.census import Census, GroupCensus
from bridge.migration.diagnosis import Diagnosis
from bridge.migration.gains import Gain
from bridge.migration.observed import ObservedMember
from bridge.migration.reasons import Assessment, Reason

_UNABLE = "this bridge takes no census: it runs without what asks the cluster; ask a bridge that `serve` runs"


class CensusPage:
    """All groups of the cluster, also those that only pass."""

    def __init__(self, surveys: Surveys | None) -> None:
        self._surveys = surveys

    async def __call__(self, _request: Request) -> Response:
        """Answer one request."""
        if self._surveys is None:
            return await show(error_document("EB-CENSUS-010", _UNABLE), 503)
        census = await self._surveys.census()
        return Response(await trio.to_thread.run_sync(lambda: encode(census_document(census))), media_type=JSON)


def census_document(census: Census) -> Document:
    """`{"groups": […], "brokers": {…}, "unseen": [sentence, …]}`."""
    return {
        "groups": [_group(one) for one in census.groups],
        "brokers": plain(census.abilities),
        "unseen": list(census.unseen),
    }


def _group(one: GroupCensus) -> Document:
    group = one.group
    return {
        "group_id": group.group_id,
        "road": group.road.value,
        "kind": group.kind.value,
        "protocol_type": group.protocol_type,
        "state": group.state,
        "assignor": group.assignor,
        "is_complete": group.is_complete,
        "committed": one.committed,
        "lag": one.lag,
        "members": [_member(member) for member in group.members],
        "moves": [_assessment(assessment) for assessment in one.assessments],
        "gains": [plain(gain) for gain in one.gains],
    }


def _member(member: ObservedMember) -> Document:
    return {**plain(member), "is_static": member.instance_id is not None, "rebalancing": member.rebalancing.value}


def _assessment(assessment: Assessment) -> Document:
    return {
        "to": assessment.destination.value,
        "is_ready": assessment.is_ready,
        "reasons": [plain(reason) for reason in assessment.reasons],
    }


Flat = BrokerAbilities | Diagnosis | Gain | ObservedMember | Reason
NAMES: Mapping[type[object], tuple[str, ...]] = {
    kind: tuple(one.name for one in fields(kind)) for kind in (BrokerAbilities, Diagnosis, Gain, ObservedMember, Reason)
}


def plain(value: Flat) -> Mapping[str, object]:
    """A flat value by the names of its fields; `asdict` copies deeply, which of ten thousand members takes a second."""
    return {name: _word(getattr(value, name)) for name in NAMES[type(value)]}


def _word(value: object) -> object:
    return value.value if isinstance(value, StrEnum) else value
