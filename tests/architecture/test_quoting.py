"""What a client chose is quoted by one function, which cuts it: `translators.dialects.errors.quote`."""

import ast
from collections.abc import Iterator

from tests.architecture.source_tree import SourceFile, source_files

SPEAKING_ROOMS = ("translators/classic_member", "bridge/engine", "bridge/coordinators")
MESSAGES = {"Refusal", "NotConverted"}
MESSAGE_NAMES = {"reason", "text", "error_message"}
OWN_WORDS = {
    "bounds.max_ms",
    "bounds.min_ms",
    "code.name",
    "count",
    "current.epoch",
    "current.previous_epoch",
    "described.error.name",
    "epoch",
    "identity.client_host",
    "most",
    "names",  # put together of quoted ones
    "policy.value",
    "problem",
    "request.session_timeout_ms",
    "self._patterns_max",
    "to.value",
    "whose",
    "why",
    "', '.join(assignors)",
    "_CUT_OFF.reason",
}
"""What a message may say without `quote`: numbers, words of ours, and parts that were made with it."""


def messages(file: SourceFile) -> Iterator[ast.expr]:
    """Every expression that becomes a message to a client or an operator."""
    for node in ast.walk(file.tree):
        if isinstance(node, ast.Call):
            if isinstance(node.func, ast.Name) and node.func.id in MESSAGES:
                yield from node.args
            yield from (keyword.value for keyword in node.keywords if keyword.arg in MESSAGE_NAMES)
        elif isinstance(node, ast.Assign):
            names = {target.id for target in node.targets if isinstance(target, ast.Name)}
            if names & {*MESSAGE_NAMES, "whose"}:
                yield node.value


def is_cut(said: ast.expr) -> bool:
    """Whether a part of a message can't be long."""
    if isinstance(said, ast.Call) and isinstance(said.func, ast.Name) and said.func.id in {"quote", "len", "counted"}:
        return True
    return ast.unparse(said) in OWN_WORDS or (isinstance(said, ast.Name) and said.id.isupper())


def test_messages_quote_names_by_the_one_function_that_cuts_them() -> None:
    """An assignor's name of 32 kB in a refusal made an answer that could not be written, and ended the process."""
    strays = [
        f"{file.path}:{part.lineno} {{{ast.unparse(part.value)}}}"
        for file in source_files(SPEAKING_ROOMS)
        for message in messages(file)
        for part in ast.walk(message)
        if isinstance(part, ast.FormattedValue) and not is_cut(part.value)
    ]
    assert strays == []
