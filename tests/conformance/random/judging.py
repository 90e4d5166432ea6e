"""A verdict on a whole comparison: what differs on purpose by rules, what follows from that, and what is left over.

It knows in which order rules are asked and how long courses stay apart, and must not know any rule.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from tests.conformance.random.commit_rules import COMMIT_RULES
from tests.conformance.random.comparing import Found, differences, flatten
from tests.conformance.random.older import OLDER_RULES
from tests.conformance.random.probe_rules import PROBE_RULES
from tests.conformance.random.rules import IN_REBALANCE, STEP_RULES
from tests.conformance.random.scenes import Rule, Scene
from tests.conformance.random.sequences import LEFT, Course, Drawn, Seen, Settle
from tests.conformance.random.settled_rules import SETTLED_RULES
from tests.support.conformance.schema import Value
from tests.support.conformance.steps import Call
from translators.dialects.errors import ErrorCode

LOOSE = {"mixed", "regex", "resting"}
CLASSIC_CALLS = {"JoinGroup", "SyncGroup", "Heartbeat", "LeaveGroup"}
LEAKS = {
    code.name for code in ErrorCode if code >= ErrorCode.FENCED_MEMBER_EPOCH or code is ErrorCode.GROUP_ID_NOT_FOUND
}
EPOCHS = ("epoch", "generation_id")
SHIFTED = "Epochs count on from where they moved apart"
FOLLOWS = "(follows while both sides show different groups)"


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """What is left unexplained, which rules explained the rest, and how many steps were compared."""

    unexplained: tuple[Found, ...]
    rules: Mapping[str, int]
    steps: int


@dataclass(slots=True)
class Judge:
    """One comparison on its way: the rules that courses parted by, how far epochs have moved apart, and the counts."""

    apart: str = ""
    shifts: set[int] = field(default_factory=set)
    rules: dict[str, int] = field(default_factory=dict)

    def leave(self, scene: Scene, known: Sequence[Rule]) -> tuple[Found, ...]:
        """What nobody explains at this step; takes up how the courses go on."""
        explained = [next((rule for rule in known if rule.applies(scene, one)), None) for one in scene.found]
        parted = [rule.title for rule in explained if rule is not None and rule.parts]
        self.apart = parted[0] if parted else self.apart
        for rule in explained:
            if rule is not None:
                self._count(rule.title)
        left = [one for one, rule in zip(scene.found, explained, strict=True) if rule is None]
        left = [one for one in left if not self._is_shifted(one) and not self._follows(scene, one)]
        self.meet(scene)
        return tuple(left)

    def meet(self, scene: Scene) -> None:
        """Courses that were apart are one again when both sides show the same group, but for how epochs count.

        While clients go on by themselves, or are asked all round, no group is shown.
        """
        is_shown = bool(scene.group(scene.kafka, "classic"))
        if self.apart and is_shown and is_met(scene, scene.step):
            epochs = [scene.group(course, "consumer").get("group_epoch") for course in (scene.kafka, scene.ours)]
            if isinstance(epochs[0], int) and isinstance(epochs[1], int):
                self.shifts.add(epochs[1] - epochs[0])
            self.apart = ""

    def _count(self, title: str) -> None:
        self.rules[title] = self.rules.get(title, 0) + 1

    def _is_shifted(self, one: Found) -> bool:
        """An epoch that differs by as much as all have since the courses parted."""
        if not isinstance(one.kafka, int) or not isinstance(one.ours, int) or not one.path.endswith(EPOCHS):
            return False
        shifted = one.ours - one.kafka in self.shifts
        if shifted:
            self._count(SHIFTED)
        return shifted

    def _follows(self, scene: Scene, one: Found) -> bool:
        """What is otherwise because the group is: while both sides show different ones, but nothing at rest."""
        if not self.apart or one.path.startswith("settled"):
            return False
        follows = not all(is_met(scene, step) for step in (scene.step, scene.step - 1, one.asked))
        if follows:
            self._count(f"{self.apart} {FOLLOWS}")
        return follows


def is_met(scene: Scene, step: int) -> bool:
    """Whether both sides describe the same group after a step, but for how their epochs count.

    While classic members join or their leader computes, nothing shows which protocol and leader there are.
    """
    if step < 1:
        return True
    kafka, ours = (relative(course[step - 1]) for course in (scene.kafka, scene.ours))
    return kafka == ours and kafka.get("classic.groups[0].state") not in IN_REBALANCE


def relative(seen: Seen) -> dict[str, Value]:
    """Both descriptions with epochs by how far they are behind the group's."""
    flat = {**flatten("classic", seen.classic), **flatten("consumer", seen.consumer)}
    epoch = flat.get("consumer.groups[0].group_epoch", 0)
    base = epoch if isinstance(epoch, int) else 0
    return {
        path: base - value if path.endswith(EPOCHS) and isinstance(value, int) else value
        for path, value in flat.items()
    }


def differing(drawn: Drawn, kafka: Course, ours: Course, *, pipelined: bool) -> list[Found]:
    """What is to be explained: all that differs, in mixed groups what differs at rest and what no client may hear.

    In groups of both kinds the sides go their own ways on purpose, step by step: who is called when is what the bridge
    is for. There what the group has come to is compared, what probes of it are answered, and every step before both
    kinds or a pattern came. With pipelined requests they do too: Kafka reads nothing behind a request that waits, the
    bridge takes it up.
    """
    found = differences(kafka, ours)
    if drawn.kind not in LOOSE and not pipelined:
        return found
    exact = 0 if pipelined else steps_of_one_kind(drawn)
    at_rest = (one for one in found if one.path.startswith("settled") and LEFT not in one.path and one.step > exact)
    if drawn.kind == "classic":
        at_rest = (one for one in at_rest if not is_dealt(one))
    first = [one for one in found if one.step <= exact]
    return sorted([*first, *at_rest, *unheard_of(drawn, ours), *left_unanswered(ours)], key=lambda one: one.step)


def steps_of_one_kind(drawn: Drawn) -> int:
    """The steps before a member of the other kind or one with a pattern comes."""
    kinds: set[str] = set()
    for number, move in enumerate(drawn.moves):
        if isinstance(move, Settle) and any(member.native for member in move.members):
            kinds.add("ConsumerGroupHeartbeat")
        if isinstance(move, Call) and move.api in {"JoinGroup", "ConsumerGroupHeartbeat"}:
            kinds.add("pattern" if move.fields.get("subscribed_topic_regex") else move.api)
        if len(kinds) > 1 or "pattern" in kinds:
            return number
    return len(drawn.moves)


def is_dealt(one: Found) -> bool:
    """Whether this is what a leader dealt out, in whichever of the rebalances that the sequence has."""
    return one.path.startswith("settled.owned") or (one.path.startswith("settled.shares") and not one.is_one_sided())


def left_unanswered(ours: Course) -> Iterator[Found]:
    """Requests that wait though the group is at rest, whatever Kafka leaves (K1.52)."""
    for step, seen in enumerate(ours, 1):
        steps = seen.settled.get(LEFT)
        if steps and seen.settled.get("quiet"):
            yield Found(step=step, asked=step, path=f"settled.{LEFT}", kafka="nothing", ours=str(steps))


def unheard_of(drawn: Drawn, ours: Course) -> Iterator[Found]:
    """Codes of the new protocol in answers to classic calls (K4.60), and connections that ended."""
    for step, seen in enumerate(ours, 1):
        for one in seen.answers:
            call = drawn.moves[one.asked - 1]
            leaks = isinstance(call, Call) and call.api in CLASSIC_CALLS and one.answer.get("error") in LEAKS
            if leaks or "closed" in one.answer:
                yield Found(
                    step=step, asked=one.asked, path="answer", kafka="what clients know", ours=str(dict(one.answer))
                )


def judge(drawn: Drawn, kafka: Course, ours: Course, *, pipelined: bool = False, older: bool = False) -> Verdict:
    """Go through all that differs, step by step, until something is unexplained."""
    usual = (*STEP_RULES, *COMMIT_RULES, *SETTLED_RULES, *PROBE_RULES)
    known = (*OLDER_RULES, *usual) if older else usual
    found = differing(drawn, kafka, ours, pipelined=pipelined)
    judged = Judge()
    apart = 0
    for step in range(1, len(drawn.moves) + 1):
        here = [one for one in found if one.step == step]
        scene = Scene(drawn=drawn, kafka=kafka, ours=ours, step=step, found=here, pipelined=pipelined)
        scene = replace(scene, shifts=frozenset(judged.shifts))
        left = judged.leave(scene, known)
        apart += bool(judged.apart)
        if left:
            return Verdict(unexplained=left, rules=judged.rules, steps=step)
    return Verdict(unexplained=(), rules=judged.rules, steps=len(drawn.moves) - apart)
