"""Answers made comparable: ids by who got them, errors by name, lists in one order, what differs by chance left out."""

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from tests.support.conformance import protocol
from tests.support.conformance.schema import Value
from translators.dialects.errors import ErrorCode

UUID = r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}"
SHORT = r"[\w-]{22}"
NEVER_TOLD = re.compile(rf"(?<=-)({UUID}|{SHORT})$")
IDS = {"member_id", "leader"}
LEFT_OUT = {"throttle"}
BYTES = {"assignment": protocol.ASSIGNMENT, "metadata": protocol.SUBSCRIPTION}


@dataclass(frozen=True, slots=True, kw_only=True)
class Names:
    """What real names stand for: the group, and topics by id."""

    group: str
    topics: Mapping[str, str]


@dataclass(slots=True)
class Told:
    """What members were told: ids, epochs, assignments by topic, producer ids; and the word for each id ever given."""

    members: dict[str, str] = field(default_factory=dict)
    epochs: dict[str, int] = field(default_factory=dict)
    owned: dict[str, dict[str, list[int]]] = field(default_factory=dict)
    producers: dict[str, int] = field(default_factory=dict)
    words: dict[str, str] = field(default_factory=dict)

    def hear(self, who: str, api: str, answer: Mapping[str, Value], names: Names) -> None:
        """Take up what `who` is told."""
        member, epoch = answer.get("member_id"), answer.get("generation_id", answer.get("member_epoch"))
        if isinstance(member, str) and member:
            self.members[who] = member
            self.words.setdefault(member, self._new_word(who))
        if isinstance(epoch, int) and epoch > 0:
            self.epochs[who] = epoch
        if api == "InitProducerId":
            self.producers |= {"id": _number(answer["producer_id"]), "epoch": _number(answer["producer_epoch"])}
        self._hear_assignment(who, answer.get("assignment"), names)

    def _new_word(self, who: str) -> str:
        earlier = sum(word.startswith(f"<{who}") for word in self.words.values())
        return f"<{who}>" if not earlier else f"<{who}.{earlier + 1}>"

    def _hear_assignment(self, who: str, assignment: Value, names: Names) -> None:
        if isinstance(assignment, bytes):
            decoded = protocol.decode(protocol.ASSIGNMENT, assignment)
            rows = [] if decoded is None else _rows(decoded["partitions"])
            self.owned[who] = {str(row["topic"]): _numbers(row["partitions"]) for row in rows}
        elif isinstance(assignment, Mapping):
            self.owned[who] = {
                names.topics.get(str(row["topic_id"]), "?"): _numbers(row["partitions"])
                for row in _rows(assignment["topic_partitions"])
            }


def _number(value: Value) -> int:
    assert isinstance(value, int)
    return value


def _numbers(value: Value) -> list[int]:
    assert isinstance(value, list)
    return sorted(_number(one) for one in value)


def _rows(value: Value) -> list[Mapping[str, Value]]:
    assert isinstance(value, list)
    return [row for row in value if isinstance(row, Mapping)]


def comparable(api: str, answer: Mapping[str, Value], names: Names, told: Told) -> dict[str, Value]:
    """The answer as it is kept and compared."""
    if api == "ListGroups":
        own = [row for row in _rows(answer["groups"]) if str(row["group_id"]).startswith(names.group)]
        answer = {**answer, "groups": own}
    if api in {"InitProducerId", "EndTxn"}:
        answer = {"error": answer["error"]}
    form = _id_form(answer, told) if api == "JoinGroup" else {}
    plain = _plain("", answer, names, told)
    assert isinstance(plain, dict)
    return {**plain, **form}


def groupless(answer: Mapping[str, Value], group: str) -> dict[str, Value]:
    """Without the group's name in topics of its own, which blobs have too."""
    return {name: _replaced(inner, group) for name, inner in answer.items()}


def _replaced(value: Value, group: str) -> Value:
    if isinstance(value, str):
        return value.replace(group, "$g")
    if isinstance(value, Mapping):
        return groupless(value, group)
    return [_replaced(inner, group) for inner in value] if isinstance(value, list) else value


def _id_form(answer: Mapping[str, Value], told: Told) -> dict[str, Value]:
    """What the coordinator named the member after: its client, its instance, or nothing."""
    member = str(answer["member_id"])
    if not member or member not in told.words:
        return {}
    match = re.fullmatch(rf"(.+?)-({UUID}|{SHORT})", member)
    if match is None:
        return {"named_after": "nothing"}
    return {"named_after": "its client" if match[1].startswith("client-") else match[1]}


def _plain(name: str, value: Value, names: Names, told: Told) -> Value:
    if name == "error":
        return ErrorCode(_number(value)).name
    if name == "port":
        return "(port)" if _number(value) > 0 else value
    if name == "error_message":
        return "(text)" if value else value
    if isinstance(value, bytes):
        return _plain_bytes(name, value)
    if isinstance(value, str):
        plain = _plain_text(value, names, told)
        return NEVER_TOLD.sub("(id)", plain) if name in IDS else plain
    if isinstance(value, Mapping):
        return {key: _plain(key, inner, names, told) for key, inner in value.items() if key not in LEFT_OUT}
    if isinstance(value, Sequence):
        return sorted((_plain("", inner, names, told) for inner in value), key=_order)
    return value


ORDERED_BY = ("member_id", "group_instance_id", "group_id", "name", "topic", "topic_name", "topic_id")


def _order(value: Value) -> tuple[int, str]:
    if isinstance(value, int):
        return (value, "")
    if not isinstance(value, Mapping):
        return (0, str(value))
    number = value.get("partition", 0)
    names = [str(value.get(name, "")) for name in ORDERED_BY]
    return (_number(number), json.dumps([*names, value], sort_keys=True))


def _plain_text(text: str, names: Names, told: Told) -> str:
    if text in told.words:
        return told.words[text]
    if text in names.topics:
        return f"(id of {names.topics[text]})"
    return text.replace(names.group, "$g")


def _plain_bytes(name: str, data: bytes) -> Value:
    decoded = protocol.decode(BYTES[name], data) if name in BYTES and data else None
    if decoded is None:
        return data.hex()
    user_data = decoded["user_data"]
    decoded["user_data"] = user_data.hex() if isinstance(user_data, bytes) else user_data
    rows = decoded.get("partitions", decoded.get("owned"))
    if isinstance(rows, list):
        rows.sort(key=_order)
    return decoded
