"""What members and their requests take in the journal: the bytes of what clients say of themselves, as JSON."""

from collections.abc import Collection, Iterable
from json import dumps

from bridge.engine.model import ClassicMember, Subscription
from translators.classic_member.profile import Profile, read_profile
from translators.dialects.classic import JoinGroup, MemberAssignment, Protocol
from translators.dialects.consumer import ConsumerGroupHeartbeat
from translators.dialects.ids import ClientIdentity, GroupId, InstanceId, MemberRef

MEMBER_BYTES = 400
"""What the entries of a member take beside what its client says: tags, epochs, numbers, a few ids."""
PARTITION_BYTES = 12
"""One partition in a list, at most: the number and what separates it."""
PATTERN_BYTES = 40
"""What the entry of a pattern takes beside what it says."""
KEPT_AGAIN = 12
"""How much a byte of metadata makes at most once it is read: a control character in a topic name, kept twice."""
ENTRIES = 4
"""How many entries of a member name it and its group."""
GROUP_BYTES = 250
"""What the entries of a group that nobody is in take beside its name."""
DEALT_BYTES = 48
"""A partition in a list of those that a member is dealt, at most: a number, and the topic's id where it is alone."""
MACHINE_LISTS = 4
"""In how many of them a machine has a partition: granted, handed out, since when, and let go of."""
UNNAMED = ClientIdentity(client_id="", client_host="")
"""Stands for the client of a member whose group a broker has: which that is nobody writes down."""


def text_bytes(text: str | None) -> int:
    """A text as JSON writes it: what is not plain ASCII takes up to twelve times its characters."""
    if not text:
        return 0
    return len(text) + 3 if text.isascii() and text.isprintable() else len(dumps(text)) + 1


def pattern_bytes(pattern: str, topics: Iterable[str]) -> int:
    """A pattern with the topics that it matches, which members who have it share."""
    return PATTERN_BYTES + text_bytes(pattern) + names_bytes(topics)


def hidden_bytes(group_id: str, pattern: str, topics: Collection[str]) -> int:
    """The topics that a group is not given of its pattern, which are written with both their names."""
    return PATTERN_BYTES + text_bytes(group_id) + text_bytes(pattern) + names_bytes(topics) if topics else 0


def blob_bytes(blob: bytes) -> int:
    """Bytes as base64."""
    return (len(blob) + 2) // 3 * 4


def names_bytes(names: Iterable[str]) -> int:
    """A list of texts."""
    return sum(map(text_bytes, names))


def protocols_bytes(protocols: Iterable[Protocol]) -> int:
    """The protocols that a classic client offers, with all their metadata."""
    return sum(text_bytes(one.name) + blob_bytes(one.metadata) for one in protocols)


def assignments_bytes(assignments: Iterable[MemberAssignment]) -> int:
    """What a leader brings for everybody."""
    return sum(blob_bytes(one.assignment) for one in assignments)


def group_bytes(group_id: GroupId) -> int:
    """A group without its members."""
    return GROUP_BYTES + ENTRIES * text_bytes(group_id)


def _seat_bytes(group_id: GroupId, member_id: str, instance_id: InstanceId | None, client: ClientIdentity) -> int:
    """Who a member is."""
    named = ENTRIES * (text_bytes(group_id) + text_bytes(member_id))
    told = text_bytes(client.client_id) + text_bytes(client.software_name) + text_bytes(client.software_version)
    return MEMBER_BYTES + named + 2 * text_bytes(instance_id) + told


def subscription_bytes(group_id: GroupId, said: Subscription) -> int:
    """A member of a consumer group as the engine keeps it."""
    seat = _seat_bytes(group_id, said.member_id, said.instance_id, said.identity)
    texts = text_bytes(said.rack_id) + text_bytes(said.pattern) + text_bytes(said.assignor)
    return seat + texts + names_bytes(said.names)


def profile_bytes(profile: Profile) -> int:
    """What is kept of a classic client's JoinGroup, beside what the engine keeps of it as a member."""
    owned = PARTITION_BYTES * len(profile.owned or ())
    return protocols_bytes(profile.protocols) + names_bytes(profile.topics) + text_bytes(profile.rack_id) + owned


def translated_bytes(member: MemberRef, instance_id: InstanceId | None, profile: Profile) -> int:
    """A member whose group a broker has: of it the machine alone is written down."""
    seat = _seat_bytes(member.group_id, member.member_id, instance_id, UNNAMED)
    return seat + profile_bytes(profile) + names_bytes(profile.topics)


def classic_bytes(group_id: GroupId, member: ClassicMember, assignment: bytes) -> int:
    """A member of a classic group, with what its leader assigned to it."""
    seat = _seat_bytes(group_id, member.member_id, member.instance_id, member.identity)
    return seat + protocols_bytes(member.protocols) + blob_bytes(assignment)


def join_bytes(request: JoinGroup, client: ClientIdentity, *, is_translated: bool) -> int:
    """What a member will take that joins so."""
    # A newcomer is named after its client, with an ending as long as this.
    name = request.member_id or f"{client.client_id}-{'x' * 36}"
    seat = _seat_bytes(request.group_id, name, request.instance_id, client)
    profile = read_profile(request) if is_translated else None
    if not isinstance(profile, Profile):
        return seat + protocols_bytes(request.protocols)
    return seat + profile_bytes(profile) + names_bytes(profile.topics)


def join_bytes_at_most(request: JoinGroup, client: ClientIdentity) -> int:
    """The same without reading what is in the metadata: topics and partitions are in it, and are kept once more."""
    longest = max((len(one.metadata) for one in request.protocols), default=0)
    return join_bytes(request, client, is_translated=False) + KEPT_AGAIN * longest


def heartbeat_growth(request: ConsumerGroupHeartbeat, client: ClientIdentity, known: Subscription | None) -> int:
    """What a heartbeat adds to what is known of its member; what it does not name stays as it is."""
    names, pattern = request.subscribed_topic_names, request.subscribed_topic_regex
    assignor, rack_id = request.server_assignor, request.rack_id
    told = names_bytes(names or ()) + text_bytes(pattern) + text_bytes(assignor) + text_bytes(rack_id)
    if known is None:
        return _seat_bytes(request.group_id, request.member_id or "x" * 22, request.instance_id, client) + told
    replaced = 0 if names is None else names_bytes(known.names)
    pairs = ((pattern, known.pattern), (assignor, known.assignor), (rack_id, known.rack_id))
    return told - replaced - sum(text_bytes(before) for now, before in pairs if now is not None)
