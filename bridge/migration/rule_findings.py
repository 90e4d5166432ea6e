"""What an operator should know of rules before they count: which take nothing, which everything, which disagree."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from bridge.migration.patterns import (
    PatternForm,
    ReadRegex,
    covers,
    matches_everything,
    matches_nothing,
    no_regex,
    overlap,
)
from bridge.migration.route import Road, Rule

CODE_EVERYTHING = "EB-RULE-001"
"""A rule takes every group, those of Kafka Connect and Streams, too."""
CODE_NOTHING = "EB-RULE-002"
"""A rule can take no group: no name is what it means, or an earlier rule takes all that it means."""
CODE_DISAGREE = "EB-RULE-003"
"""Two rules send the same groups to different roads; the earlier one counts."""
CODE_PRINCIPAL = "EB-RULE-004"
"""A rule asks who a client is, which the bridge sees only where clients log in by SASL/PLAIN or SCRAM."""
CODE_LIKE_REGEX = "EB-RULE-005"
"""A glob is written as a regular expression would be: as a glob it takes other names."""
CODE_UNCLOSED = "EB-RULE-006"
"""A glob opens a class of characters that nothing closes: the bracket stands for itself."""
_LIKE_REGEX = re.compile(r"\.[*+?]|\][*+]|^\^|\$$|\\.|\(.*\)|\|")
_CLASS = re.compile(r"\[!?\]?[^\]]*\]", re.DOTALL)


@dataclass(frozen=True, slots=True)
class RuleFinding:
    """What was found of the rule of this index, counted from 0: a stable code, what was seen, what to do."""

    rule: int
    code: str
    sentence: str
    remedy: str

    def __str__(self) -> str:
        """One line for a person."""
        return f"{self.code}: {self.sentence}; {self.remedy}"


def find_findings(rules: Sequence[Rule], read_regex: ReadRegex = no_regex) -> tuple[RuleFinding, ...]:
    """All there is to say, rule by rule; raises PatternUnreadable."""
    return tuple(finding for index in range(len(rules)) for finding in _find(rules, index, read_regex))


def _find(rules: Sequence[Rule], index: int, read_regex: ReadRegex) -> Iterator[RuleFinding]:
    rule = rules[index]
    yield from _find_in_glob(rule, index)
    if rule.principal:
        yield RuleFinding(
            index,
            CODE_PRINCIPAL,
            f"{rule} asks for a principal, which is known only of clients that log in by SASL/PLAIN or SCRAM",
            "clients with certificates, Kerberos, tokens or no login at all are not meant by it: name their client.id",
        )
    if matches_nothing(rule.names):
        yield _nothing(index, f"no name is what {rule} means")
        return
    earlier = [(at, other) for at, other in enumerate(rules[:index]) if _is_asked_before(other, rule)]
    for at, other in earlier:
        if covers(other.names, rule.names, read_regex):
            yield _nothing(index, f"{other}, number {at + 1}, takes every group that {rule}, number {index + 1}, means")
            return
    if rule.road is not Road.PASS and not rule.is_of_clients and matches_everything(rule.names, read_regex):
        yield RuleFinding(
            index,
            CODE_EVERYTHING,
            f"{rule} takes every group that no earlier rule names, also those that nobody has thought of",
            "name the groups that you mean, or let `epochbridge census` say first which there are",
        )
        return
    for at, other in earlier:
        is_exception = covers(rule.names, other.names, read_regex)
        if other.road is not rule.road and not is_exception and overlap(other.names, rule.names, read_regex):
            yield _disagreement(index, rule, at, other)


def _find_in_glob(rule: Rule, index: int) -> Iterator[RuleFinding]:
    if rule.form is not PatternForm.GLOB:
        return
    if _LIKE_REGEX.search(rule.pattern):
        sentence = (
            f"{rule} looks like a regular expression, and is read as a glob: it takes other names than it seems to"
        )
        remedy = "write `regex` in place of `match`, or a glob: `*` takes any characters, `?` takes one"
        yield RuleFinding(index, CODE_LIKE_REGEX, sentence, remedy)
    if "[" in _CLASS.sub("", rule.pattern):
        sentence = f"{rule} has a `[` that nothing closes: it takes only names with that bracket in them"
        yield RuleFinding(index, CODE_UNCLOSED, sentence, "close it, as in `[a-z]`, or take it out")


def _nothing(index: int, sentence: str) -> RuleFinding:
    return RuleFinding(index, CODE_NOTHING, sentence, "move the narrower rule up, or take it away")


def _disagreement(index: int, rule: Rule, at: int, other: Rule) -> RuleFinding:
    return RuleFinding(
        index,
        CODE_DISAGREE,
        f"some groups are meant by {other}, number {at + 1}, and by {rule}, number {index + 1}: the earlier one counts",
        "make one of them narrower, so that the order does not matter",
    )


def _is_asked_before(other: Rule, rule: Rule) -> bool:
    """Whether an earlier rule takes all clients that this one takes."""
    return not other.is_of_clients or (other.client_id, other.principal) == (rule.client_id, rule.principal)
