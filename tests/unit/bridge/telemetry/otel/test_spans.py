"""Spans of a rebalance as values."""

from dataclasses import replace

from bridge.telemetry.otel import names
from bridge.telemetry.otel.spans import SpanPlan, plan_spans, root_id
from bridge.telemetry.rebalances.assembling import assemble
from bridge.telemetry.schema.terms import Outcome
from tests.support.event_stories import START_WALL_US, cooperative_handover


def handover() -> list[SpanPlan]:
    """The spans of a handover."""
    return plan_spans(assemble(cooperative_handover().events)[0])


def test_moved_members_have_spans_and_the_rest_has_one() -> None:
    """c4 and c1 each, the other two together."""
    assert [span.name for span in handover()] == [
        names.REBALANCE,
        names.MEMBER,
        names.RELEASE_WAIT,
        names.FIRST_FETCH,
        names.MEMBER,
        names.REVOKE,
        names.UNTOUCHED,
    ]
    assert handover()[-1].attributes == {names.MEMBER_COUNT: 2}


def test_release_wait_names_and_links_whom_it_waits_for() -> None:
    """The span in which c1 gave up."""
    spans = {span.name: span for span in handover()}
    wait, revoke = spans[names.RELEASE_WAIT], spans[names.REVOKE]
    assert wait.attributes == {names.WAITED_FOR: ("c1",)}
    assert [(link.to, link.why) for link in wait.links] == [(revoke.id, "released-by")]
    assert (revoke.begin_us, revoke.end_us) == (START_WALL_US + 900_000, START_WALL_US + 3_000_000)


def test_release_wait_for_several_links_them_in_the_order_of_the_members() -> None:
    """However it names them; members that gave nothing up, or that nobody knows, have no such span."""
    (rebalance,) = assemble(cooperative_handover().events)
    waiting, holder = rebalance.touched[:2]
    others = [replace(holder, member_id=name) for name in ("c8", "c7")]
    stretch = replace(waiting.stretches[0], waits_on=("c7", "c4", "nobody", "c8", "c7"))
    members = (replace(waiting, stretches=(stretch,)), *others)
    spans = plan_spans(replace(rebalance, members=members))
    (wait,) = [span for span in spans if span.name == names.RELEASE_WAIT]
    assert [link.to for link in wait.links] == [span.id for span in spans if span.name == names.REVOKE]
    assert len(wait.links) == 2


def test_ids_follow_from_the_rebalance() -> None:
    """The same log gives the same trace; another rebalance another one."""
    assert handover() == handover()
    assert root_id("a").trace != root_id("b").trace
    assert handover()[0].id == root_id("orders@b1-r1")


def test_what_is_not_known_is_left_out() -> None:
    """No empty texts, no -1."""
    (rebalance,) = assemble(cooperative_handover().events)
    unknown = replace(rebalance, moved=-1, forced_minimum=-1, assignor="", outcome=None)
    root = plan_spans(unknown)[0]
    assert not {names.MOVED, names.FORCED, names.ASSIGNOR} & set(root.attributes)
    assert root.is_error
    assert not plan_spans(replace(rebalance, outcome=Outcome.COMPLETED))[0].is_error


def test_every_attribute_is_in_the_table() -> None:
    """And every name."""
    for span in handover():
        assert span.name in names.SPANS
        assert set(span.attributes) <= set(names.ATTRIBUTES)
        assert {event.name for event in span.events} <= set(names.SPAN_EVENTS)


def test_root_covers_everything_below_it() -> None:
    """First fetches and commits come when the group is at rest; what the rebalance took is an attribute."""
    story = cooperative_handover()
    (rebalance,) = assemble(story.events)
    late = replace(rebalance.touched[0], first_commit_us=rebalance.duration_us + 5_000_000, first_fetch_us=None)
    root, *below = plan_spans(replace(rebalance, members=(late, *rebalance.members[1:])))
    assert root.end_us == rebalance.began_wall_us + rebalance.duration_us + 5_000_000
    assert all(root.begin_us <= span.begin_us <= span.end_us <= root.end_us for span in below)
    assert root.attributes[names.TOOK] == rebalance.duration_us / 1_000_000
