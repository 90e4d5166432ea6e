"""What bridges tell each other, and who may have a group."""

from collections.abc import Sequence
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bridge.coordinators.embedded.bridge_meeting import Claims, Standing, decode, digest, encode, find_stronger, judge
from translators.dialects.ids import GroupId

GROUP = digest(GroupId("orders"))
A = Claims(bridge="a", where="host, 1")
B = Claims(bridge="b", where="host, 2")
C = Claims(bridge="c", where="host, 3")


@given(groups=st.lists(st.frozensets(st.text(max_size=10).map(GroupId)), min_size=3, max_size=3))
def test_what_is_said_is_heard(groups: list[frozenset[GroupId]]) -> None:
    """Any names, also such that are no text."""
    held, wanted, refused = (frozenset(map(digest, each)) for each in groups)
    said = replace(A, held=held, wanted=wanted, refused=refused)
    assert decode(encode(said)) == said


@pytest.mark.parametrize("metadata", [b"", b"\xff", b"[]", b"7", b'{"held": "?"}', b"[" * 100_000])
def test_what_is_no_claim_is_none(metadata: bytes) -> None:
    """Anybody may join the group of the bridges."""
    assert decode(metadata) is None


@pytest.mark.parametrize(
    ("others", "standing"),
    [
        ((), Standing.OURS),
        ((A, C), Standing.OURS),
        ((replace(A, held=frozenset({GROUP})),), Standing.THEIRS),
        ((replace(C, held=frozenset({GROUP})),), Standing.THEIRS),
        ((replace(A, wanted=frozenset({GROUP})),), Standing.THEIRS),
        ((replace(C, wanted=frozenset({GROUP})),), Standing.UNDECIDED),
        ((replace(C, refused=frozenset({GROUP})),), Standing.OURS),
    ],
)
def test_who_may_have_a_group(others: Sequence[Claims], standing: Standing) -> None:
    """B wants it: who has it keeps it, and of two that want it the one with the lesser name goes first."""
    assert judge("b", GROUP, others).standing is standing


def test_two_that_have_a_group_do_not_both_keep_it() -> None:
    """It takes an accident for that; one of them gives way, whoever looks."""
    mine, other = replace(A, held=frozenset({GROUP})), replace(B, held=frozenset({GROUP}))
    assert find_stronger("a", GROUP, [other]) is None
    assert find_stronger("b", GROUP, [mine]) == mine


@given(order=st.lists(st.sampled_from(("say a", "say b", "look a", "look b")), max_size=30))
def test_two_never_both_have_a_group_whatever_the_order(order: list[str]) -> None:
    """Each says what it wants before it looks; what it has then is said at some later time."""
    said: dict[str, Claims] = {"a": A, "b": B}
    has: set[str] = set()
    for step in order:
        verb, name = step.split()
        other = "b" if name == "a" else "a"
        if verb == "say":
            kind = "held" if name in has else "wanted"
            said[name] = Claims(bridge=name, where="", **{kind: frozenset({GROUP})})
        elif GROUP in said[name].wanted and name not in has:
            standing = judge(name, GROUP, [said[other]]).standing
            if standing is Standing.OURS:
                has.add(name)
            elif standing is Standing.THEIRS:
                said[name] = Claims(bridge=name, where="")
    assert len(has) <= 1
