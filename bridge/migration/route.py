"""Which road a member of a group takes: the place that its group was moved to, else rules by glob pattern, of which the
first match wins; `pass` where none matches. Also who goes to the broker whatever its rule says, as nobody else can have
it.
"""

from collections import OrderedDict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import StrEnum, auto

from bridge.migration.patterns import Pattern, PatternForm, ReadRegex, make_matcher, no_regex
from translators.dialects.classic import JoinGroup, JoinGroupReply
from translators.dialects.consumer_protocol import CONSUMER, TRANSLATABLE, MalformedBlob
from translators.dialects.errors import ErrorCode, quote
from translators.dialects.ids import GroupId, MemberId
from translators.dialects.kept_names import NAME_CHARS_MAX, kept_name

REMEMBERED_GROUPS_MAX = 10_000
REMEMBERED_NAME_MAX = NAME_CHARS_MAX
"""Longer names are matched each time: whoever has not logged in yet could have 10,000 of 32 kB kept, 320 MB."""
MOVED_MEMBERS_MAX = 100_000
"""How many members may be on another road than their group at once; further ones are not moved."""
PLACED_GROUPS_MAX = 100_000
"""How many groups may have a place of their own; further ones go by the rules."""
CLAIMED_GROUPS_MAX = 100_000
"""For how many groups it is remembered who joined first, where rules ask for that; further ones go by their names."""
STAYING_GROUPS_MAX = 100_000
"""How many groups with members here may live where no rule sends them, further ones go by the rules; and how many may
at their brokers, of which the one that was seen longest ago makes room, and is looked up anew.
"""
STAYING_CHARS_MAX = STAYING_GROUPS_MAX * 200
"""The same of those at brokers by their names: of groups of other kinds, which any client may begin, all that could
stay were 3.2 GB of names, and behind them live groups went by their rules, away from the members that they had.
"""
UNTRANSLATED_MEMBERS_MAX = 20_000
"""How many of them may be there because nobody can translate them; the one that joined longest ago makes room."""
UNTRANSLATED_CHARS_MAX = UNTRANSLATED_MEMBERS_MAX * 200
"""The same by their names with those of their groups: a client may give itself 32 kB, which is in its member's name."""


class Road(StrEnum):
    """Who coordinates a group."""

    PASS = auto()
    """The broker; frames go through untouched, but observed."""
    EMBEDDED = auto()
    """The bridge's own engine."""
    UPSTREAM = auto()
    """A broker that speaks KIP-848; every classic member is translated."""
    MAPPED = auto()
    """The broker, which knows the member by another id or generation than its client does: the bridge replaces them."""
    MOVING = auto()
    """Nobody for the moment: requests wait until it is known who does."""


ROADS_OF_RULES = (Road.PASS, Road.EMBEDDED, Road.UPSTREAM)
"""Where a rule or an operator may send a group; the other roads are steps of a move."""


@dataclass(frozen=True, slots=True)
class Rule:
    """Groups whose id matches `pattern` begin on `road`: a glob, unless `form` says that it is something else.

    With a `client_id` (a glob) or a `principal` (a name) it is for groups that such a client is the first to join.
    """

    pattern: str
    road: Road
    form: PatternForm = PatternForm.GLOB
    client_id: str = ""
    principal: str = ""

    @property
    def names(self) -> Pattern:
        """The groups that are meant."""
        return Pattern(self.pattern, self.form)

    @property
    def is_of_clients(self) -> bool:
        """Whether it depends on who comes first."""
        return bool(self.client_id or self.principal)

    def __str__(self) -> str:
        """As it is told to people."""
        named = {"client.id": self.client_id, "principal": self.principal}
        whom = "".join(f", {key} {value!r}" for key, value in named.items() if value)
        return f"the rule {self.form.value} {self.pattern!r}{whom} -> {self.road.value}"


class Router:
    """Answers which road a group takes, and remembers the answer for a bounded number of groups.

    Rules are tried in order. Where they change nothing that was remembered of them is kept.
    """

    def __init__(
        self,
        rules: Sequence[Rule],
        remembered_groups_max: int = REMEMBERED_GROUPS_MAX,
        read_regex: ReadRegex = no_regex,
    ) -> None:
        """Raises PatternUnreadable for a rule that is none."""
        self._read_regex = read_regex
        self._remembered: OrderedDict[GroupId, Road] = OrderedDict()
        self._looked_up: OrderedDict[str, None] = OrderedDict()
        self._claimed: dict[str, Road] = {}
        self.change_rules(rules)
        self._remembered_max = remembered_groups_max
        self.moved: dict[GroupId, dict[MemberId, Road]] = {}
        """Groups with members that take roads of their own: there it makes a difference who asks."""
        self._moved_count = 0
        self._places: dict[GroupId, Road] = {}
        self._untranslated: OrderedDict[tuple[GroupId, MemberId], None] = OrderedDict()
        self._untranslated_chars = 0
        self.staying: dict[GroupId, Road] = {}
        """Groups that live on another road than their rule's, and stay there until they are empty or moved."""
        self._at_brokers: OrderedDict[GroupId, None] = OrderedDict()
        self._at_brokers_chars = 0
        self.forgot_stay: Callable[[GroupId], object] = lambda _: None
        """Hears of each group that made room."""

    def change_rules(self, rules: Sequence[Rule]) -> None:
        """From now on groups begin by these rules; what is to stay where it lives has to be said at once (`let_stay`).

        All other groups are looked up again before they follow them. Raises PatternUnreadable, and changes nothing.
        """
        names = [make_matcher(one.names, self._read_regex) for one in rules]
        clients = [make_matcher(Pattern(one.client_id or "*")) for one in rules]
        self.rules = tuple(rules)
        self._by_client = list(zip(rules, names, clients, strict=True))
        self._by_name = [(matches, one.road) for one, matches, _ in self._by_client if not one.is_of_clients]
        self.asks_for_clients = len(self._by_name) < len(rules)
        """Whether it may matter who is the first to join a group."""
        self._remembered.clear()
        self._looked_up.clear()
        self._claimed.clear()

    def may_claim(self, group_id: GroupId) -> bool:
        """Whether it is still open what the rules that ask for clients say of a group."""
        return kept_name(group_id) not in self._claimed and len(self._claimed) < CLAIMED_GROUPS_MAX

    def claim(self, group_id: GroupId, client_id: str, principal: str) -> bool:
        """Such a client is the first to join a group that has no members here, and may: the rules that ask for clients
        count, too, and decide once. Whether the group begins elsewhere now; then it has to be looked up again.
        """
        if not self.may_claim(group_id):
            return False
        road = next(
            (
                rule.road
                for rule, is_meant, is_clients in self._by_client
                if is_meant(group_id) and is_clients(client_id) and rule.principal in ("", principal)
            ),
            Road.PASS,
        )
        is_elsewhere = road is not self.road_by_rule(group_id)
        self._claimed[kept_name(group_id)] = road
        if is_elsewhere:
            self._looked_up.pop(kept_name(group_id), None)
        return is_elsewhere

    def takes_groups(self) -> bool:
        """Whether any group or member takes another road than `pass`."""
        if self.moved or any(rule.road is not Road.PASS for rule in self.rules):
            return True
        return any(road is not Road.PASS for road in (*self._places.values(), *self.staying.values()))

    def serves(self, road: Road) -> bool:
        """Whether any rule sends a group to this road, or any group was moved there or lives there."""
        is_of_some = road in self._places.values() or road in self.staying.values()
        return is_of_some or any(rule.road is road for rule in self.rules)

    def let_stay(self, group_id: GroupId, road: Road) -> bool:
        """A group lives here, wherever its rule sends it; False if too many such groups with members here are known."""
        is_full = len(self.staying) - len(self._at_brokers) >= STAYING_GROUPS_MAX
        if road is not Road.PASS and group_id not in self.staying and is_full:
            return False
        self.end_stay(group_id)
        self.staying[group_id] = road
        if road is Road.PASS:
            self._at_brokers[group_id] = None
            self._at_brokers_chars += len(group_id)
            self._make_room()
        return True

    def _make_room(self) -> None:
        known = self._at_brokers
        while len(known) > 1 and (len(known) > STAYING_GROUPS_MAX or self._at_brokers_chars > STAYING_CHARS_MAX):
            oldest = next(iter(known))
            self.end_stay(oldest)
            self.forget_looked_up(oldest)
            self.forgot_stay(oldest)

    def end_stay(self, group_id: GroupId) -> None:
        """The group is empty, or moved: it goes by the rules from now on."""
        self.staying.pop(group_id, None)
        if group_id in self._at_brokers:
            del self._at_brokers[group_id]
            self._at_brokers_chars -= len(group_id)

    def note_looked_up(self, group_id: GroupId) -> None:
        """It is known what the brokers have of that name, and that its rule may be followed."""
        self._looked_up[kept_name(group_id)] = None
        if len(self._looked_up) > self._remembered_max:
            self._looked_up.popitem(last=False)

    def forget_looked_up(self, group_id: GroupId) -> None:
        """What the brokers have of that name may have changed."""
        self._looked_up.pop(kept_name(group_id), None)

    def is_looked_up(self, group_id: GroupId) -> bool:
        """Whether the group may go where `road` says, without a look at what the brokers have of that name."""
        if group_id in self._looked_up or group_id in self.staying or group_id in self._places:
            return True
        return len(group_id) > NAME_CHARS_MAX and kept_name(group_id) in self._looked_up

    def place_group(self, group_id: GroupId, road: Road) -> bool:
        """From now on a group takes this road, whatever the rules say; False if too many groups have such a place."""
        if group_id not in self._places and len(self._places) >= PLACED_GROUPS_MAX:
            return False
        self._places[group_id] = road
        return True

    def has_room(self, group_id: GroupId, members: int) -> bool:
        """Whether a group can have a place of its own, and so many members roads of theirs."""
        is_new = group_id not in self._places
        return len(self._places) + is_new <= PLACED_GROUPS_MAX and self._moved_count + members <= MOVED_MEMBERS_MAX

    def forget_place(self, group_id: GroupId) -> None:
        """From now on the rules say again where a group goes."""
        self._places.pop(group_id, None)

    def place(self, group_id: GroupId) -> Road | None:
        """Where a group was moved to, None for one that goes by the rules."""
        return self._places.get(group_id)

    def move_member(self, group_id: GroupId, member_id: MemberId, road: Road) -> bool:
        """From now on a member takes a road of its own; False if too many do already."""
        if member_id not in self.moved.get(group_id, {}):
            if self._moved_count >= MOVED_MEMBERS_MAX:
                return False
            self._moved_count += 1
        self.moved.setdefault(group_id, {})[member_id] = road
        return True

    def return_member(self, group_id: GroupId, member_id: MemberId) -> None:
        """A member takes its group's road again, or is gone."""
        # What is forgotten here would be taken for the oldest that passes later, when the member has another road.
        if (group_id, member_id) in self._untranslated:
            del self._untranslated[group_id, member_id]
            self._untranslated_chars -= len(group_id) + len(member_id)
        moved = self.moved.get(group_id, {})
        if moved.pop(member_id, None) is not None:
            self._moved_count -= 1
        if not moved:
            self.moved.pop(group_id, None)

    def let_pass(self, group_id: GroupId, member_id: MemberId) -> bool:
        """A member that nobody can translate is the broker's, whatever its group's rule says. Whether that was not
        known: then its broker's word on its JoinGroup is to be heard, and who is none `denied`.

        That it is gone is not noticed where it just dies; one that is forgotten too early is told to join again, and
        passes then.
        """
        key = group_id, member_id
        is_new = key not in self._untranslated
        if self.move_member(group_id, member_id, Road.PASS):
            self._untranslated_chars += 0 if key in self._untranslated else len(group_id) + len(member_id)
            self._untranslated[key] = None
            self._untranslated.move_to_end(key)
        while len(self._untranslated) > UNTRANSLATED_MEMBERS_MAX or self._untranslated_chars > UNTRANSLATED_CHARS_MAX:
            self.return_member(*next(iter(self._untranslated)))
        return is_new

    def denied(self, group_id: GroupId, member_id: MemberId) -> None:
        """The broker did not let in who was to pass: 20,000 ids that a stranger made up put out all who were let in,
        and each of these was told to join again.
        """
        is_passing = self.moved.get(group_id, {}).get(member_id) is Road.PASS
        if is_passing and (group_id, member_id) in self._untranslated:
            self.return_member(group_id, member_id)

    def remembered(self) -> int:
        """How many groups are remembered now; never more than the limit."""
        return len(self._remembered)

    def road(self, group_id: GroupId, member_id: MemberId | None = None) -> Road:
        """The road of a member, or of its group where nobody is named; the same for every request that names it."""
        placed = self._places.get(group_id) if self._places else None
        if placed is Road.MOVING:
            # Also for members that took a road of their own before: the move knows them.
            return placed
        if self.moved and member_id:
            moved = self.moved.get(group_id)
            if moved is not None and member_id in moved:
                return moved[member_id]
        if placed is not None:
            return placed
        if self.staying and (lived := self.staying.get(group_id)) is not None:
            return lived
        return self.road_by_rule(group_id)

    def road_by_rule(self, group_id: GroupId) -> Road:
        """Where the rules say that a group begins."""
        if self._claimed and (claimed := self._claimed.get(kept_name(group_id))) is not None:
            return claimed
        known = self._remembered.get(group_id)
        if known is not None:
            return known
        road = next((road for matches, road in self._by_name if matches(group_id)), Road.PASS)
        if len(group_id) > REMEMBERED_NAME_MAX:
            return road
        if len(self._remembered) >= self._remembered_max:
            self._remembered.popitem(last=False)
        self._remembered[group_id] = road
        return road


_LET_IN = frozenset({ErrorCode.NONE, ErrorCode.MEMBER_ID_REQUIRED, ErrorCode.REBALANCE_IN_PROGRESS})


def has_joined(reply: JoinGroupReply) -> bool:
    """Whether a broker has, or is about to have, the member whose JoinGroup it answered so: to whom it refuses it says
    back the id that was claimed.
    """
    return reply.error in _LET_IN and bool(reply.member_id)


def is_of_consumer_group(request: JoinGroup) -> bool:
    """Whether a classic client joins to consume: groups of Kafka Connect, of schema registries and of others are no
    consumer groups, and nobody but the broker coordinates them.
    """
    return request.protocol_type == CONSUMER


def find_obstacle(request: JoinGroup) -> str | None:
    """Why nobody can translate this member, in words; None if it can be translated.

    Kafka Connect, schema registries and others use the classic protocol for what no consumer group does, and assignors
    of an application's own decide by rules that no broker has: both need their leader, so such members stay what they
    are, whatever rule their group has.
    """
    if not is_of_consumer_group(request):
        return f"protocol type {quote(request.protocol_type)!r} is not {CONSUMER!r}"
    chosen = next((one for one in request.protocols if one.name in TRANSLATABLE), None)
    if chosen is None:
        names = ", ".join(repr(quote(one.name)) for one in request.protocols) or "none"
        return f"of the protocols offered ({names}) none has a server-side equivalent"
    try:
        request.subscription(chosen)
    except MalformedBlob as malformed:
        return f"the subscription of protocol {quote(chosen.name)!r} can't be read: {quote(malformed)}"
    return None
