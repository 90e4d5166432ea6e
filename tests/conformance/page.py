"""`python -m tests.conformance.page` writes the pages of docs/reference that scenarios, rules and deviations make.

It knows their forms, and must not know how a transcript comes about.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from tests.conformance.random.recording import RESTING, load
from tests.conformance.wire.kafka_tests import kafka_tests
from tests.conformance.wire.rules import NOT_ON_THE_WIRE, RESTATED, RULES, TESTED
from tests.conformance.wire.scenarios.catalogue import THEMES, is_translated_alone
from tests.support.conformance.deviations import deviations
from tests.support.conformance.steps import BOTH, Scenario

REFERENCE = Path(__file__).resolve().parents[2] / "docs" / "reference"
PAGE, TESTS_PAGE = REFERENCE / "conformance.md", REFERENCE / "kafka-tests.md"
VERSION = re.compile(r", v\d+$")
STEPS_SHOWN = 3
HEAD = """\
# Conformance with Apache Kafka

Every scenario of `tests/conformance/wire/` is a list of requests of members and admins. Kafka's answers were recorded
over TCP by `python -m tests.conformance.record` from Apache Kafka {versions} and are kept in
`tests/conformance/data/wire/`; nobody edits them. The bridge, in front of a real broker, with the same settings and
`embedded.initial.group.type: classic`, has to give the same answers, step by step (`pytest tests/conformance/wire`).
Compared are all fields but throttle times, those of authorized operations too, asked for and not; member ids, topic
ids, ports and texts of errors are compared by their place, not their letters; of ListGroups the scenario's own groups
count, of InitProducerId and EndTxn the error only. Lists are compared in no order: that of answers about offsets and
members is looked at beside a running broker (`tests/endtoend/test_beside_kafka.py`). In groups that speak both
protocols epochs are compared by their order and shares by their sizes.

{counts}

The default, `embedded.initial.group.type: consumer`, makes a consumer group of classic members alone. So the bridge is
also played under it: with all scenarios that a KIP-848 member begins, to which nothing else may be answered, and with
{alone} of classic members that do not wait for each other, whose answers have to be those of Kafka's classic groups,
but for what is listed below as "begun as consumer", and but for the leader: nobody leads a consumer group (K4.14), so
where both let a member in, it is told no leader and no members, as in Kafka's own consumer groups. Scenarios in which
classic members wait for each other are not played there: a rebalance of all is what such a group is without; what its
classic members are answered is held to Kafka by the scenarios of groups that a KIP-848 member began.

Every version of every API of groups that is offered succeeds and fails in some scenario, every rule below has a
scenario, a test or a reason, and [each test of Kafka's own](kafka-tests.md) has its counterpart; tests hold that
(`tests/conformance/wire/test_coverage.py`).

Beside the scenarios stands chance: `python -m tests.conformance.random --seeds 1-200` draws a sequence of calls
from each seed (classic and KIP-848 members, all versions, static seats, wrong ids and epochs, parked requests,
dropped connections, sessions that end, topics that grow, admins), plays it on Kafka 4.3.1 and through the bridge,
and compares every answer and, after every step, the group's descriptions. What differs is made as short as it can
be and printed in the form of a scenario; what differs on purpose is recognised by rules (`rules.py`, `commit_rules.py`,
`settled_rules.py` and `probe_rules.py` in `tests/conformance/random/`), which are counted. A rule names the field and
both values and looks itself whether what it rests on is so on both sides (that another member has the partition, that
the seat was its own, that the old view shows what the new one does, ...); for each there are tests of what it forgives,
and of what it does not when its premise is broken. After a difference that is explained the comparison goes on. Where
one may lead the group another way (a member that Kafka refuses is in, two protocols had as many votes), answers that
differ are laid to it as long as both sides describe different groups, and are counted; from the step on in which they
describe the same again, everything is held to be equal, with epochs that may count on from where they moved apart. What
clients come to when they are let go on by themselves is compared whatever was before. Where Kafka's own clients wait
for a timeout, the bridge's have to be at rest: everything answered, nothing owned twice, nobody told otherwise. A
KIP-848 client that a coordinator fails (UNKNOWN_SERVER_ERROR) is started again, and that it was is compared.

`--kind mixed` draws groups that speak both protocols, `--kind regex` adds subscriptions by pattern. There each step is
compared until the other protocol or a pattern comes; from then on who is called when is what the bridge does
otherwise, and what single calls meet is not compared, but for codes that classic clients may not hear. Instead clients
go on by themselves from time to time, and when all is quiet the group is asked all round: who owns how much; commits
of each member for each partition, its own, each other's and nobody's, in several versions, and with something wrong in
who it is; fetches under all sorts of identities; heartbeats and syncs; descriptions and lists in all versions, with
filters; deletions; and that asking changed nothing. There partitions are told apart by who has them, as chance deals.
`--kind resting` draws short sequences that are about nothing else. Not asked there is a commit under the epoch just
before the present one: whether that counts depends on when a partition came to its member (scenarios have it).

`--profile` chooses the settings of both sides, `--kafka 3.9.1` plays classic groups on the older one, `--pipelined`
sends behind parked requests on the same connection, where both sides are compared by where their clients come to rest
and every request has to be answered in its turn, `--restarts` compares the bridge with itself, killed with `kill -9` in
the middle. What is looked at again and how far it all is goes to standard error. By default the tests play a few seeds
of classic groups and of KIP-848 groups, and {resting} of groups of both kinds (`--kind resting`), against recorded
answers (`--record`, kept in `tests/conformance/data/random/`). Left out is what Kafka does not do the same four times
(ids made by chance decide who comes first), and where it fails itself.

This page is written by `python -m tests.conformance.page`.
"""
TESTS_HEAD = """\
# Kafka's own tests and their counterparts

What Apache Kafka itself tests of its group coordinator, and what stands for each test here: scenarios of
[the conformance suite](conformance.md), which were recorded from Kafka, or other tests, or the reason why there is
none. That every counterpart exists is a test as well (`tests/conformance/wire/test_coverage.py`).

This page is written by `python -m tests.conformance.page` from `tests/conformance/data/kafka-tests.yaml`.
"""


def title_of(scenario: Scenario) -> str:
    """Its name without the version."""
    return VERSION.sub("", scenario.name)


def titles(scenarios: Sequence[Scenario]) -> str:
    """Names, each once, versions counted."""
    counted: dict[str, int] = {}
    for one in scenarios:
        counted[title_of(one)] = counted.get(title_of(one), 0) + 1
    return "; ".join(f"{title} ({count} versions)" if count > 1 else title for title, count in counted.items())


def by(key: str) -> Mapping[str, list[Scenario]]:
    """Scenarios by each rule or test that they cite."""
    found: dict[str, list[Scenario]] = {}
    for one in (one for scenarios in THEMES.values() for one in scenarios):
        for cited in one.rules if key == "rules" else one.tests:
            found.setdefault(cited, []).append(one)
    return found


def place_of(rule: str, cited: Mapping[str, Sequence[Scenario]]) -> str:
    """Where a rule stands."""
    if rule in cited:
        return titles(cited[rule])
    if rule in TESTED:
        return f"`{TESTED[rule]}`"
    return f"see {', '.join(RESTATED[rule])}" if rule in RESTATED else f"not on the wire: {NOT_ON_THE_WIRE[rule]}"


def rule_lines() -> Iterator[str]:
    """The table of rules."""
    yield from ("## Rules and their scenarios", "", "| rule | scenarios, tests or reason |", "|---|---|")
    cited = by("rules")
    for rule in RULES:
        yield f"| {rule} | {place_of(rule, cited)} |"


def deviation_lines() -> Iterator[str]:
    """The table of what differs on purpose."""
    yield from ("## What differs on purpose", "")
    for one in deviations():
        yield from (f"### {one.title}", "", f"Who gains: {one.gains}.", "")
        yield from ("| scenario | step | field | Kafka | here |", "|---|---|---|---|---|")
        for name, rows in one.differs.items():
            for (step, path), (kafka, ours) in list(rows.items())[:STEPS_SHOWN]:
                yield f"| {name} | {step} | `{path}` | `{kafka!r}` | `{ours!r}` |"
            if len(rows) > STEPS_SHOWN:
                yield f"| {name} | | {len(rows) - STEPS_SHOWN} more fields | | |"
        yield ""


def counts() -> str:
    """How many there are."""
    scenarios = [one for group in THEMES.values() for one in group]
    differing = len({name for one in deviations() for name in one.differs} & {one.name for one in scenarios})
    older = sum(len(one.kafkas) > 1 for one in scenarios)
    return (
        f"{len(scenarios)} scenarios are recorded, {older} of them also on the older Kafka; "
        f"the bridge is held to all, and differs on purpose in {differing}."
    )


def alone() -> int:
    """How many scenarios of classic members alone are also played where groups begin as consumer groups."""
    return sum(is_translated_alone(one) for group in THEMES.values() for one in group)


def page() -> str:
    """The page of deviations and rules."""
    head = HEAD.format(versions=" and ".join(BOTH), counts=counts(), resting=len(load(RESTING)), alone=alone())
    return head + "\n" + "\n".join([*deviation_lines(), *rule_lines()]) + "\n"


def counterpart_lines() -> Iterator[str]:
    """The tables of Kafka's own tests."""
    cited = by("tests")
    for section, rows in kafka_tests().items():
        yield from ("", f"## {section}", "", "| Kafka's test | here |", "|---|---|")
        for name, counterpart in rows.items():
            yield f"| {name.removeprefix(section.split()[0] + '.')} | {counterpart or titles(cited[name])} |"


def counterparts_page() -> str:
    """The page of Kafka's own tests."""
    return TESTS_HEAD + "\n".join(counterpart_lines()) + "\n"


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
    TESTS_PAGE.write_text(counterparts_page(), encoding="utf-8")
