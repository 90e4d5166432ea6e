"""ListGroups between fields and the admin dialect."""

from bridge.wire.codec.api import ApiCodec
from bridge.wire.codec.record import Fields, Record, error_code
from translators.dialects.admin import ListedGroup, ListGroups, ListGroupsReply
from translators.dialects.errors import ErrorCode
from translators.dialects.ids import GroupId


class ListGroupsCodec(ApiCodec[ListGroups, ListGroupsReply]):
    """ListGroups between fields and the admin dialect."""

    request_type = ListGroups
    reply_type = ListGroupsReply

    def decode_request(self, record: Record, version: int) -> ListGroups:
        """Fields to request."""
        return ListGroups(states=tuple(record.texts("states_filter")), types=tuple(record.texts("types_filter")))

    def encode_request(self, request: ListGroups, version: int) -> Fields:
        """Request to fields."""
        return {"states_filter": request.states, "types_filter": request.types}

    def decode_reply(self, record: Record, version: int) -> ListGroupsReply:
        """Fields to reply."""
        groups = tuple(
            ListedGroup(
                group_id=GroupId(each.text("group_id")),
                protocol_type=each.text("protocol_type"),
                group_state=each.text("group_state"),
                group_type=each.text("group_type"),
            )
            for each in record.records("groups")
        )
        return ListGroupsReply(
            error=error_code(record), groups=groups, throttle_time_ms=record.number("throttle_time_ms")
        )

    def encode_reply(self, reply: ListGroupsReply, version: int) -> Fields:
        """Reply to fields."""
        return {
            "throttle_time_ms": reply.throttle_time_ms,
            "error_code": reply.error,
            "groups": [
                {
                    "group_id": each.group_id,
                    "protocol_type": each.protocol_type,
                    "group_state": each.group_state,
                    "group_type": each.group_type,
                }
                for each in reply.groups
            ],
        }

    def refuse(self, request: ListGroups, code: ErrorCode) -> ListGroupsReply:
        """The refusal lists nothing."""
        return ListGroupsReply(error=code, groups=())

    def groups(self, request: ListGroups) -> tuple[GroupId, ...]:
        """The groups that a request names."""
        return ()


LIST_GROUPS = ListGroupsCodec()
