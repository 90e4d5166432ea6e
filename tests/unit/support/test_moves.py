"""What groups are moved by whom in the wide run, who dies over it, and the page of it.

It starts no client.
"""

import argparse
from collections import Counter
from itertools import pairwise

import pytest

from bridge.demo.judge import Disturbance, judge
from bridge.demo.judge_evidence import Evidence, Step
from tests.moves.__main__ import in_peace, page, under_kills
from tests.moves.fleets import TROUPES, UPSTREAM_VERSIONS, VERSIONS
from tests.moves.trial import Course, Moved, Outcome
from tests.support.casts import GO_KINDS, KINDS
from tests.support.fleet import assigned, log, revoked

SECOND_NS = 1_000_000_000


def wished(bridge: int = 50, brokers: int = 12) -> argparse.Namespace:
    """What was asked for."""
    fleets, versions = ",".join(TROUPES), ",".join(VERSIONS)
    return argparse.Namespace(
        fleets=fleets, versions=versions, bridge=bridge, brokers=brokers, session_ms=0, roads="", seed="848"
    )


def courses(death: str, brokers: int = 12) -> list[Course]:
    """All courses under such deaths."""
    return [course for version in VERSIONS for course in under_kills(death, version, wished(brokers=brokers))]


def test_every_library_is_moved_alone_and_beside_others() -> None:
    """A mixed fleet hides whose client a fault is: so each library is moved by itself, too."""
    known = {**KINDS, **GO_KINDS}
    alone = {known[kind].library for troupe in TROUPES.values() if len(set(troupe.kinds)) == 1 for kind in troupe.kinds}
    assert alone == {kind.library for kind in known.values()}
    assert len({known[kind].library for kind in TROUPES["mixed"].kinds}) == len(TROUPES["mixed"].kinds)


@pytest.mark.parametrize("version", VERSIONS)
def test_every_road_is_gone_and_comes_back(version: str) -> None:
    """To upstream only where the broker has consumer groups, and never to embedded with KIP-848 members."""
    for name, troupe in TROUPES.items():
        course = in_peace(name, version)
        roads = () if course is None else tuple(course.roads)
        assert not roads or roads[-1] == "pass"
        assert ("upstream" in roads) == (version in UPSTREAM_VERSIONS)
        assert ("embedded" in roads) == (not troupe.speaks_consumer)


def test_as_many_die_as_are_wished_for_on_every_way() -> None:
    """At least three a move, as the issue has it; of few brokers' deaths two or none fell on some ways."""
    for death, wanted in (("bridge", 50), ("broker", 12)):
        deaths = Counter(death for course in courses(death) for death in course.deaths)
        assert deaths == {death: wanted}
        ways = Counter(
            (came_from, road) for course in courses(death) for came_from, road in pairwise(("pass", *course.roads))
        )
        assert ways.keys() == {
            (one, other) for there in ("upstream", "embedded") for one, other in (("pass", there), (there, "pass"))
        }
        assert min(ways.values()) >= 3
    assert courses("broker", brokers=0) == []
    assert [course.roads for course in courses("broker", brokers=3)] == [("upstream", "pass", "embedded")]


def test_deaths_fall_on_the_ways_that_were_chosen() -> None:
    """From the bridge to the new protocol in one order, and back, nobody dies by turns."""
    asked = wished(bridge=9)
    asked.roads = "embedded,upstream,embedded,pass"
    dealt = {version: [course.roads for course in under_kills("bridge", version, asked)] for version in VERSIONS}
    assert set(map(repr, dealt.values())) == {repr([("embedded", "upstream", "embedded")])}
    (course,) = under_kills(
        "bridge", VERSIONS[0], argparse.Namespace(**{**vars(asked), "versions": VERSIONS[0], "bridge": 5})
    )
    assert course.roads == ("embedded", "upstream", "embedded", "pass", "embedded")
    assert "--roads embedded,upstream,embedded,pass" in page(asked, [])


def test_moments_of_death_differ_between_courses() -> None:
    """Else each group would die the same deaths."""
    seeds = [course.seed for course in (*courses("bridge"), *courses("broker"))]
    assert len(set(seeds)) == len(seeds)


def outcome(*, is_there: bool) -> Outcome:
    """A move of one member, which had a callback over it."""
    moved = Moved(
        came_from="pass",
        to="upstream",
        is_there=is_there,
        verdict="said",
        took_s=1.0,
        death="bridge",
        after_s=0.1,
        was_begun=True,
    )
    member = log("m1", assigned(100, 0), revoked(2_000, 0), assigned(2_100, 0))
    step = Step(name="to upstream, bridge", began_ns=SECOND_NS, ended_ns=3 * SECOND_NS, is_unnoticed=True)
    course = Course(troupe="one", seats={"m1": "aiokafka"}, roads=("upstream",), deaths=("bridge",), seed="1")
    verdict = judge(Evidence(producers=(), members=(member,), steps=(step,)))
    return Outcome(course=course, moves=(moved,), verdict=verdict, commits_back=("back",), tracebacks=0)


def test_everything_that_may_not_be_is_counted_and_named() -> None:
    """A page that shows nothing of what went wrong would be no evidence."""
    found = outcome(is_there=False)
    assert found.verdict.noticed == (Disturbance(who="m1#1", step="to upstream, bridge", callbacks=2),)
    faults = {name: count for name, count in found.faults().items() if count}
    assert faults == {"callbacks in clients": 2, "commits that went back": 1, "moves that did not get there": 1}
    text = page(wished(), [("4.3.1", found)])
    assert "`python -m tests.moves --bridge 50 --brokers 12 --seed 848`" in text
    for line in (
        "| bridge | pass to upstream | 1 | 1 |",
        "- 4.3.1, one: m1#1 had 2 callbacks to upstream, bridge",
        "- 4.3.1, one: back",
        "- 4.3.1, one: to upstream: said",
    ):
        assert line in text.splitlines()


def test_command_of_the_page_plays_the_same_again() -> None:
    """A page of some fleets at one version named a command that plays all of them at all."""
    some = wished()
    some.fleets, some.versions, some.session_ms = "", "4.1.1", 90_000
    command = (
        'python -m tests.moves --fleets "" --versions "4.1.1" --session-ms 90000 --bridge 50 --brokers 12 --seed 848'
    )
    assert f"`{command}`" in page(some, [])
