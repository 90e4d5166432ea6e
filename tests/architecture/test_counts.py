"""A count is said with its noun by the one function that has them agree: verdicts said that 1 members are moved."""

import ast
import re
from collections.abc import Iterator

from tests.architecture.source_tree import source_files

ROOMS = (
    *("translators", "bridge/admin", "bridge/analytics", "bridge/app", "bridge/coordinators", "bridge/engine"),
    *("bridge/migration", "bridge/net", "bridge/session", "bridge/telemetry", "bridge/whatif", "bridge/wire"),
)
NOUNS = re.compile(
    r"^ (classic |other |more )?(members|groups|partitions|topics|clients|rebalances|connections|brokers|plans|pairs"
    r"|stages|others|events|files|days|units)\b"
)
BY_KAFKA = {"bridge/engine/consumer/membership.py"}
"""Says what Kafka's broker says, letter by letter."""


def disagreeing(tree: ast.AST) -> Iterator[str]:
    """Each count in a sentence whose noun is the same for one and for many; a constant of ours is never one."""
    for node in ast.walk(tree):
        if isinstance(node, ast.JoinedStr):
            for part, behind in zip(node.values, node.values[1:], strict=False):
                is_count = isinstance(part, ast.FormattedValue) and not ast.unparse(part.value).isupper()
                if is_count and isinstance(behind, ast.Constant) and NOUNS.match(str(behind.value)):
                    yield f"{node.lineno} {ast.unparse(part)}{behind.value!s}"


def test_counts_agree_with_their_nouns() -> None:
    """`counted` says both."""
    strays = [
        f"{file.path}:{stray}"
        for file in source_files(ROOMS)
        if str(file.path) not in BY_KAFKA
        for stray in disagreeing(file.tree)
    ]
    assert strays == []


def test_stray_is_found() -> None:
    """One that has no other form, beside those that have."""
    source = 'a = f"{n} members are"\nb = f"{MOST} groups"\nc = f"{counted(n, \'group\')} are"\nd = f"{name} is"\n'
    assert [one.split()[0] for one in disagreeing(ast.parse(source))] == ["1"]
