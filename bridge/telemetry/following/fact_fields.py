"""The fields that all facts of a kind share: of a group, of a member, and of what a member told about itself."""

from typing import TypedDict

from bridge.telemetry.following.joins import Inputs
from bridge.telemetry.following.tracks import GroupTrack, MemberTrack, written
from bridge.telemetry.schema.facts import MemberInputs
from bridge.telemetry.schema.terms import Protocol, Road
from translators.dialects.ids import MemberId


class GroupFields(TypedDict):
    """What every fact about a group says."""

    group_id: str
    road: Road
    rebalance_id: str
    group_epoch: int


class MemberFields(GroupFields):
    """What every fact about a member says."""

    member_id: str
    instance_id: str | None
    protocol: Protocol
    member_epoch: int
    generation: int


class InputFields(TypedDict):
    """What the decisions about a member depend on."""

    client_id: str
    client_host: str
    library: str
    library_version: str
    topics: tuple[str, ...]
    pattern: str | None
    assignors: tuple[str, ...]
    session_timeout_ms: int
    rebalance_timeout_ms: int
    rack_id: str | None
    owned: tuple[str, ...] | None


def group_fields(group: GroupTrack) -> GroupFields:
    """The group's words."""
    return {
        "group_id": group.group_id,
        "road": group.road,
        "rebalance_id": group.rebalance_id,
        "group_epoch": group.epoch,
    }


def member_fields(group: GroupTrack, member: MemberTrack, rebalance_id: str | None = None) -> MemberFields:
    """The member's words; the rebalance is the one under way unless given."""
    under_way = group.rebalance
    if rebalance_id is None:
        rebalance_id = group.rebalance_id if under_way is None else under_way.rebalance_id
    return {
        "group_id": group.group_id,
        "road": group.road,
        "rebalance_id": rebalance_id,
        "group_epoch": group.epoch,
        "member_id": member.member_id,
        "instance_id": member.instance_id,
        "protocol": member.protocol,
        "member_epoch": member.member_epoch,
        "generation": member.generation,
    }


def input_fields(inputs: Inputs) -> InputFields:
    """The inputs' words."""
    return {
        "client_id": inputs.client_id,
        "client_host": inputs.client_host,
        "library": inputs.library,
        "library_version": inputs.library_version,
        "topics": inputs.topics,
        "pattern": inputs.pattern,
        "assignors": inputs.assignors,
        "session_timeout_ms": inputs.session_timeout_ms,
        "rebalance_timeout_ms": inputs.rebalance_timeout_ms,
        "rack_id": inputs.rack_id,
        "owned": None if inputs.owned is None else written(inputs.owned),
    }


def introduced(group: GroupTrack, member_id: str) -> MemberInputs | None:
    """What a member told about itself that is there, or was until lately."""
    member = group.members.get(MemberId(member_id)) or group.departed.get(MemberId(member_id))
    return None if member is None else MemberInputs(**member_fields(group, member), **input_fields(member.inputs))
