"""What is remembered of a member has one writer: the methods of `MemberTrack`."""

import ast
from collections.abc import Iterator
from dataclasses import fields

from bridge.telemetry.following.tracks import MemberTrack
from tests.architecture.source_tree import SourceFile, source_files

ROOM = ("bridge/telemetry/following",)
OWNER = "tracks.py"
FIELDS = {field.name for field in fields(MemberTrack)}
NAMES = {"member", "former", "away", "taker", "known", "newcomer"}
"""What members are called in that room."""


def foreign_writes(file: SourceFile) -> Iterator[str]:
    """Assignments to a member's field that are not its own."""
    for node in ast.walk(file.tree):
        targets = node.targets if isinstance(node, ast.Assign) else []
        if isinstance(node, ast.AugAssign | ast.AnnAssign):
            targets = [node.target]
        for target in targets:
            for part in target.elts if isinstance(target, ast.Tuple) else (target,):
                is_field = isinstance(part, ast.Attribute) and part.attr in FIELDS
                if is_field and isinstance(part, ast.Attribute) and ast.unparse(part.value) in NAMES:
                    yield f"{file.path}:{part.lineno} {part.attr}"


def test_members_are_written_by_their_own_methods() -> None:
    """Whoever follows a member says what happened to it, not what its fields are."""
    files = [file for file in source_files(ROOM) if file.path.name != OWNER]
    assert [write for file in files for write in foreign_writes(file)] == []


def test_write_of_a_field_is_found() -> None:
    """Alone, among others, and in place."""
    text = "member.phase = 1\nmember.told |= x\nmember.assigned = x\nx, member.due = 1, 2\ngroup.generation = 1\n"
    file = SourceFile(path=source_files(ROOM)[0].path, text=text, tree=ast.parse(text))
    assert [write.rpartition(" ")[2] for write in foreign_writes(file)] == ["told", "assigned", "due"]
