"""A group at rest asked all round, by who is in it: what each member may commit and read, and how admins see it.

It says who owns what by the members' names, so that what chance deals makes no difference; it must not know which
answers are right.
"""

import re
from collections.abc import Mapping, Sequence

from tests.conformance.random.members import Member
from tests.conformance.random.playing import RandomPlay
from tests.conformance.random.scenes import partitions_of, rows_of
from tests.support.conformance.calls import (
    beat,
    chb,
    commit,
    committed_topics,
    delete,
    delete_offsets,
    describe,
    describe_consumer,
    fetch,
    list_groups,
    sync,
    topic_of,
)
from tests.support.conformance.normal import Names, Told, comparable, groupless
from tests.support.conformance.schema import Value
from tests.support.conformance.steps import TOPICS, Call, Part

BY_OWNER, BY_ANOTHER = 7, 6
NOBODYS = "nobody's"
LISTED_STATES = ((), ("Stable",), ("Empty",), ("Assigning", "Reconciling"))
LISTED_TYPES = ("classic", "consumer", "Consumer", "share")
EPOCHS = {"group_epoch", "assignment_epoch", "member_epoch"}
Shown = Mapping[str, Value]


class Probing:
    """All questions to one side."""

    def __init__(self, play: RandomPlay, members: Sequence[Member]) -> None:
        self._play = play
        self._members = members
        told = play.told.members
        self._ids = {one.name: f"member-{one.name}" if one.native else told.get(one.name, "") for one in members}
        # Who was never let in has no id, and every empty text would be called by its name.
        known = {member: f"<{name}>" for name, member in self._ids.items() if member}
        self._told = Told(words=known)
        topics = {topic: name for name, topic in play.ground.topic_ids.items()}
        self._names = Names(group=play.group, topics=topics)

    def run(self) -> dict[str, Value]:
        """What everything is answered, and the group as it is before and after: asking changes nothing."""
        before = self._views()
        owners = self._owners()
        members = {one.name: self._member(one, owners) for one in self._members}
        for one in self._members:
            own = owners.get(f"<{one.name}>")
            if own:
                self._commit(one, 9, own, BY_OWNER)
        return {
            "members": {name: answers for name, answers in members.items() if answers},
            "read": self._read(owners),
            "views": before,
            "lists": self._lists(),
            "refused": self._refused(),
            "changed by asking": before != self._views(),
        }

    def _ask(self, call: Call) -> Shown:
        answer = self._play.ask_aside(call.api, call.version, call.fields)
        return groupless(comparable(call.api, answer, self._names, self._told), self._play.group)

    def _owners(self) -> dict[str, list[str]]:
        """The partitions of each member by its name, of the topics that all sequences share, and those of nobody."""
        classic, consumer = (self._ask(call) for call in (describe(5), describe_consumer()))
        shown = consumer if rows_of(consumer["groups"])[0]["error"] == "NONE" else classic
        owned = {
            str(row["member_id"]): [one for one in partitions_of(row["assignment"]) if one.split()[0] in TOPICS]
            for row in rows_of(rows_of(shown["groups"])[0]["members"])
        }
        everything = {f"{topic} {number}" for topic, count in TOPICS.items() for number in range(count)}
        taken = {one for partitions in owned.values() for one in partitions}
        return {**owned, NOBODYS: sorted(everything - taken)}

    def _member(self, member: Member, owners: Mapping[str, list[str]]) -> dict[str, Value]:
        """What one member is answered; empty where it was never let in."""
        if not self._ids[member.name] or f"<{member.name}>" not in owners:
            return {}
        versions = (9, 10) if member.native else (2, 6, 9, 10)
        said = {
            "own" if whose == f"<{member.name}>" else f"of {whose}": {
                f"v{version}": self._commits(member, version, partitions, whose) for version in versions
            }
            for whose, partitions in sorted(owners.items())
            if partitions
        }
        own = owners[f"<{member.name}>"] or owners[NOBODYS]
        return {"commits": said, "as another": self._as_another(member, own), "alive": self._alive(member)}

    def _commits(self, member: Member, version: int, partitions: Sequence[str], whose: str) -> Value:
        """The codes of commits for partitions of one owner, each by itself and all together."""
        offset = BY_OWNER if whose == f"<{member.name}>" else BY_ANOTHER
        alone = {self._commit(member, version, [one], offset) for one in partitions}
        return {"one by one": sorted(alone), "together": self._commit(member, version, partitions, offset)}

    def _commit(self, member: Member, version: int, partitions: Sequence[str], offset: int, **fields: Part) -> str:
        topics: list[Part] = []
        for name in sorted({one.split()[0] for one in partitions}):
            numbers = [int(one.split()[1]) for one in partitions if one.split()[0] == name]
            rows = committed_topics(version, name, numbers)
            assert isinstance(rows, list)
            topics += [_with_offset(row, offset) for row in rows]
        static = member.static() if version >= 7 else {}
        answer = self._ask(commit(member.name, version, **{"topics": topics, **static, **fields}))
        codes = {str(row["error"]) for topic in rows_of(answer["topics"]) for row in rows_of(topic["partitions"])}
        return " ".join(sorted(codes))

    def _as_another(self, member: Member, own: Sequence[str]) -> dict[str, Value]:
        """Commits for its own with something wrong in who it is, then one that is right, and fetches alike.

        The epoch just before its own is left out: whether it still counts depends on when each partition came to the
        member (K5.11), which is another story on either side; scenarios ask that.
        """
        epoch = f"#{member.name}"
        wrong: dict[str, dict[str, Part]] = {
            "later": {"generation_id": f"{epoch}+1"},
            "long ago": {"generation_id": 0},
            "no epoch": {"generation_id": -1},
            "stranger": {"member_id": "made-up"},
            "nobody": {"member_id": "", "generation_id": -1, "group_instance_id": None},
            "no id": {"member_id": "", "group_instance_id": None},
            "another seat": {"group_instance_id": "made-up"},
        }
        commits = {how: self._commit(member, 9, own, BY_ANOTHER, **fields) for how, fields in wrong.items()}
        right = self._commit(member, 9, own, BY_OWNER)
        identities: dict[str, dict[str, Part]] = {
            "itself": {"member_id": f"@{member.name}", "member_epoch": epoch},
            "later": {"member_id": f"@{member.name}", "member_epoch": f"{epoch}+1"},
            "long ago": {"member_id": f"@{member.name}", "member_epoch": 0},
            "no epoch": {"member_id": f"@{member.name}", "member_epoch": -1},
            "stranger": {"member_id": "made-up", "member_epoch": epoch},
            "nobody": {"member_id": None, "member_epoch": -1},
        }
        fetches: dict[str, Value] = {
            f"{how} v{version}": self._fetched(
                fetch(member.name, version, topics=asked_for(version, own), **fields), own
            )
            for version in (9, 10)
            for how, fields in identities.items()
        }
        return {"commits": commits, "right": right, "fetches": fetches}

    def _fetched(self, call: Call, partitions: Sequence[str]) -> Value:
        """The error of a fetch, and the offsets of those of these partitions that it asks for."""
        answer = self._ask(call)
        group = next(iter(rows_of(answer.get("groups"))), answer)
        found = {
            row["offset"]
            for topic in rows_of(group["topics"])
            for row in rows_of(topic["partitions"])
            if f"{_topic(topic)} {row['partition']!s}" in partitions
        }
        return f"{group.get('error', 'no code')} {sorted(map(str, found))}"

    def _alive(self, member: Member) -> Value:
        """Its heartbeats in every version, and what it is told again of its share."""
        if member.native:
            instance: dict[str, Part] = {} if member.instance is None else {"instance_id": member.instance}
            beats = [self._ask(chb(member.name, f"#{member.name}", version, **instance)) for version in (0, 1)]
            as_classic = self._ask(beat(member.name, 4))
            return {"beats": [one["error"] for one in beats], "as a classic one": as_classic["error"]}
        static = member.static()
        lowest = 3 if static else 0
        answers = [self._ask(beat(member.name, version, **static)) for version in range(lowest, 5)]
        synced = [
            self._ask(sync(member.name, version, **{**static, "protocol_name": self._protocol(member)}))
            for version in range(lowest, 6)
        ]
        shares = {len(partitions_of(one["assignment"])) for one in synced}
        return {
            "beats": [one["error"] for one in answers],
            "syncs": [one["error"] for one in synced],
            "told": sorted(shares),
        }

    def _protocol(self, member: Member) -> str:
        return self._play.protocols.get(member.name, "range")

    def _read(self, owners: Mapping[str, list[str]]) -> dict[str, Value]:
        """What anybody reads of what owners committed last, in every version."""
        return {
            f"v{version}": {
                whose: self._fetched(fetch("reader", version, topics=asked_for(version, partitions)), partitions)
                for whose, partitions in sorted(owners.items())
                if partitions and whose != NOBODYS
            }
            for version in range(1, 11)
        }

    def _views(self) -> dict[str, Value]:
        """The descriptions in all versions, with and without what one may do."""
        calls = {
            **{f"DescribeGroups v{v}": describe(v, operations=v >= 3) for v in range(7)},
            **{f"ConsumerGroupDescribe v{v}": describe_consumer(v, operations=v > 0) for v in range(2)},
        }
        return {name: self._sized(self._ask(call)) for name, call in calls.items()}

    def _lists(self) -> dict[str, Value]:
        """The lists in all versions, by states and types."""
        plain = {f"v{v}": list_groups(v) for v in range(6)}
        by_state = {f"by state {states}": list_groups(4, states) for states in LISTED_STATES if states}
        by_type = {
            f"by type {kind}": list_groups(5, (), (kind,)) for kind in ("classic", "consumer", "Consumer", "share")
        }
        calls = {**plain, **by_state, **by_type}
        return {name: self._ask(call)["groups"] for name, call in calls.items()}

    def _refused(self) -> dict[str, Value]:
        """What an admin may not do to a live group."""
        return {
            "deletion": self._ask(delete())["results"],
            "deletion of offsets": self._ask(delete_offsets()),
            "deletion of other offsets": self._ask(delete_offsets("wire-none")),
        }

    def _sized(self, value: Value) -> Value:
        """A description with partitions counted and epochs left to whether they are the group's own."""
        if isinstance(value, Mapping):
            epoch = value.get("group_epoch")
            sized = {name: self._sized_field(name, inner, epoch) for name, inner in value.items()}
            if isinstance(epoch, int):
                rows = value.get("members")
                sized["at the group's epoch"] = [row["member_epoch"] == epoch for row in rows_of(rows)]
            return sized
        return [self._sized(one) for one in value] if isinstance(value, list) else value

    def _sized_field(self, name: str, value: Value, epoch: Value) -> Value:
        if name in EPOCHS:
            return "(epoch)" if value == epoch or name == "member_epoch" else "(another epoch)"
        if name == "partitions" and isinstance(value, list) and all(isinstance(one, int) for one in value):
            return len(value)
        if name in {"member_id", "leader"} and isinstance(value, str) and not re.fullmatch(r"<\w+>", value):
            return "(somebody else)"
        return self._sized(value)


def asked_for(version: int, partitions: Sequence[str]) -> Part:
    """The topics of a fetch for these partitions."""
    names = sorted({one.split()[0] for one in partitions})
    return [
        {**topic_of(version, name), "partitions": [int(one.split()[1]) for one in partitions if one.split()[0] == name]}
        for name in names
    ]


def _with_offset(row: Part, offset: int) -> Part:
    assert isinstance(row, Mapping)
    rows = row["partitions"]
    assert isinstance(rows, list)
    return {**row, "partitions": [{**one, "offset": offset} for one in rows if isinstance(one, Mapping)]}


def _topic(row: Shown) -> str:
    return str(row.get("name") or row.get("topic_id")).removeprefix("(id of ").removesuffix(")")
