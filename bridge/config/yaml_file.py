"""A configuration file as entries that remember their lines: the file read, its YAML taken apart."""

import re
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import yaml

from bridge.config import named_files
from bridge.config.entries import Entry, Scalar, Written, WrittenFile
from bridge.config.faults import ConfigError, Fault, FaultCode
from bridge.config.named_files import FileUnreadable
from bridge.config.yaml_causes import cause_of_nesting, cause_of_yaml

RULES = "groups"
FILE_BYTES_MAX = 1_048_576
CORE_TAGS = frozenset(f"tag:yaml.org,2002:{kind}" for kind in ("bool", "float", "int", "null", "str"))
OF_NUMBERS = "tag:yaml.org,2002:int"
PLAIN_NUMBER = re.compile(r"0|-?[1-9][0-9]*")
UNREADABLE = (yaml.YAMLError, ValueError, LookupError, ArithmeticError, AttributeError, TypeError)
"""What the constructors of tags raise for text that is not what its tag says: AttributeError for `!!timestamp 99`,
IndexError for `!!int ''`, KeyError for `!!bool x`.
"""


NUMBER_BITS_MAX = 256
"""Larger numbers mean nothing here; and one of 5,000 digits in hex is read, but can't be shown in decimal ones."""


class Loader(yaml.SafeLoader):
    """YAML in which an alias stands for a single value only.

    Twenty lines of aliases of aliases are a million values once somebody shows or walks them; and one may hold itself.
    """

    def compose_node(self, parent: yaml.Node | None, index: int) -> yaml.Node | None:
        """See yaml.composer.Composer."""
        is_alias = self.check_event(yaml.AliasEvent)
        node = super().compose_node(parent, index)
        if is_alias and node is not None and not isinstance(node, yaml.ScalarNode):
            raise yaml.composer.ComposerError(None, None, "an alias of this list or mapping", node.start_mark)
        return node


def _whole_number(loader: Loader, node: yaml.ScalarNode) -> int:
    value = int(loader.construct_yaml_int(node))
    if value.bit_length() > NUMBER_BITS_MAX:
        raise yaml.constructor.ConstructorError(None, None, "a number that is too long to be one", node.start_mark)
    return value


Loader.add_constructor(OF_NUMBERS, _whole_number)


def read_file(path: Path) -> WrittenFile:
    """Read one YAML file; raises ConfigError when it can't be read or is no mapping of keys."""
    try:
        text = named_files.read_text(path, FILE_BYTES_MAX)
    except FileUnreadable as problem:
        hint = "it is another file, most likely: name the configuration" if problem.is_another else ""
        if problem.is_no_text:
            hint = "save it as UTF-8, or name the configuration if this is another file"
        allowed = f"a UTF-8 file with a configuration, of {FILE_BYTES_MAX} bytes at most"
        fault = Fault(code=FaultCode.UNREADABLE, source=str(path), key="", seen=problem.why, allowed=allowed, hint=hint)
        raise ConfigError([fault]) from None
    return read_text(text, str(path))


def read_text(text: str, source: str) -> WrittenFile:
    """Read YAML text; `source` names it in faults."""
    try:
        node = yaml.compose(text, Loader=Loader)
    except RecursionError:
        seen = "brackets within brackets, or lists within lists, too deep to be read"
        raise ConfigError([_fault(FaultCode.NOT_YAML, source, 0, seen, "YAML, one `key: value` a line")]) from None
    except yaml.YAMLError as problem:
        mark = getattr(problem, "problem_mark", None)
        line = mark.line + 1 if isinstance(mark, yaml.Mark) else 0
        # A sign that YAML has not is told in two lines.
        seen = " ".join(str(getattr(problem, "problem", problem)).split())
        fault = _fault(FaultCode.NOT_YAML, source, line, seen, "YAML, one `key: value` a line")
        raise ConfigError([replace(fault, hint=cause_of_yaml(text, line, seen))]) from None
    if node is None:
        return WrittenFile(source, {}, ())
    try:
        return _read_root(node, source)
    except ConfigError as problem:
        # Only the text tells why what should be keys is one word.
        faults = [
            replace(fault, hint=cause_of_yaml(text, fault.line, fault.seen))
            if fault.code is FaultCode.NOT_YAML and not fault.hint
            else fault
            for fault in problem.faults
        ]
        raise ConfigError(faults) from None


def load_plain(text: str, source: str) -> object:
    """YAML text as lists, mappings and values, whatever it says; raises ConfigError for what is no YAML."""
    try:
        value: object = yaml.load(text, Loader=Loader)  # noqa: S506 - a SafeLoader
    except (*UNREADABLE, RecursionError) as problem:
        seen = " ".join(str(problem).replace('in "<unicode string>", ', "at ").split())
        raise ConfigError([_fault(FaultCode.NOT_YAML, source, 0, seen, "YAML, one `key: value` a line")]) from None
    return value


def _read_root(node: yaml.Node, source: str) -> WrittenFile:
    entries: dict[str, Entry] = {}
    rules: list[tuple[int, Mapping[str, Entry]]] = []
    for key, line, value in _pairs(node, source):
        if key == RULES:
            rules += [(_line(rule), _read_rule(rule, source)) for rule in _items(value, source)]
        else:
            entries[key] = Entry(_read_value(value, source, key), line)
    return WrittenFile(source, entries, tuple(rules))


def _read_rule(node: yaml.Node, source: str) -> dict[str, Entry]:
    return {key: Entry(_read_value(value, source, key), line) for key, line, value in _pairs(node, source)}


def _pairs(node: yaml.Node, source: str) -> list[tuple[str, int, yaml.Node]]:
    if not isinstance(node, yaml.MappingNode):
        raise ConfigError(
            [_fault(FaultCode.NOT_YAML, source, _line(node), "no mapping here", "one `key: value` a line")]
        )
    seen: dict[str, int] = {}
    pairs: list[tuple[str, int, yaml.Node]] = []
    for key_node, value in node.value:
        if not isinstance(key_node, yaml.ScalarNode):
            fault = _fault(
                FaultCode.NOT_YAML, source, _line(key_node), "a list or mapping for a key", "a word for a key"
            )
            raise ConfigError([fault])
        key = str(key_node.value)
        if key in seen:
            fault = _fault(FaultCode.NOT_YAML, source, _line(key_node), f"`{key}` is written twice", "each key once")
            raise ConfigError([replace(fault, hint=f"the other one is in line {seen[key]}: take one of both out")])
        seen[key] = _line(key_node)
        pairs.append((key, _line(key_node), value))
    return pairs


def _items(node: yaml.Node, source: str) -> list[yaml.Node]:
    if isinstance(node, yaml.SequenceNode):
        return list(node.value)
    raise ConfigError(
        [_fault(FaultCode.WRONG_RULE, source, _line(node), f"`{RULES}` is no list", "a list of rules, `- match: …`")]
    )


def _read_value(node: yaml.Node, source: str, key: str) -> Written:
    if isinstance(node, yaml.SequenceNode):
        return tuple(_scalar(item, source, key) for item in node.value)
    return _scalar(node, source, key)


def _scalar(node: yaml.Node, source: str, key: str) -> Scalar:
    is_number = isinstance(node, yaml.ScalarNode) and node.tag == OF_NUMBERS
    if is_number and node.value and not PLAIN_NUMBER.fullmatch(str(node.value)):
        # YAML reads 1:30 as 90 and 010 as 8, which nobody means here; and 2024_01 may be a name.
        return str(node.value)
    try:
        is_plain = isinstance(node, yaml.ScalarNode) and node.tag in CORE_TAGS
        value = yaml.SafeLoader("").construct_object(node) if is_plain else node
    except UNREADABLE:
        # Text that is not what its tag or form says: a number of 5,000 digits.
        value = node
    if value is None or isinstance(value, int | bool | str | float):
        return value
    seen = "a nested value"
    if isinstance(node, yaml.ScalarNode):
        # Not the value itself: a login may stand in it.
        seen = "a date, a tag, or a number that is too long to be one"
    fault = _fault(FaultCode.WRONG_KIND, source, _line(node), seen, "a number, a word or a list of words")
    raise ConfigError([replace(fault, key=key, hint=cause_of_nesting(key, _inner_keys(node)))])


def _inner_keys(node: yaml.Node) -> list[str]:
    """The keys of a mapping that are words: of `{{ x }}` the only one is a mapping itself."""
    if not isinstance(node, yaml.MappingNode):
        return []
    return [str(name.value) for name, _ in node.value if isinstance(name, yaml.ScalarNode)]


def _line(node: yaml.Node) -> int:
    return int(node.start_mark.line) + 1


def _fault(code: FaultCode, source: str, line: int, seen: str, allowed: str) -> Fault:
    return Fault(code=code, source=source, key="", seen=seen, allowed=allowed, line=line)
