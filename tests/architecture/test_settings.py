"""What an operator can set does something: a key that nobody reads is a promise that is not kept."""

import ast
from dataclasses import fields

from bridge.config.keys import KEYS
from bridge.engine.settings import EngineSettings
from tests.architecture.source_tree import source_files

CONFIG = "bridge/config/configuration.py"
"""Bounds of other keys are checked there, by the names of the keys, and are nobody else's business."""


def test_every_key_is_read_by_somebody() -> None:
    """As an attribute, by the engine under the same name, or as a bound."""
    nodes = [(str(file.path), node) for file in source_files(("bridge",)) for node in ast.walk(file.tree)]
    read = {node.attr for _, node in nodes if isinstance(node, ast.Attribute)}
    read |= {field.name for field in fields(EngineSettings)}
    checked = {node.value for path, node in nodes if path == CONFIG and isinstance(node, ast.Constant)}
    assert [key.name for key in KEYS.values() if key.field_name not in read and key.name not in checked] == []
