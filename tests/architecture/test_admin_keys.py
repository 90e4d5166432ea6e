"""Keys of the admin API's JSON are a promise, and its page has each of them."""

import ast
import re
from dataclasses import fields

from bridge.admin.contracts import (
    ConversionResult,
    ConvertedMember,
    GroupSummary,
    MemberView,
    Reload,
    RemovalResult,
    RemovedSeat,
    TopicPartitions,
)
from bridge.migration.abilities import BrokerAbilities
from bridge.migration.diagnosis import Diagnosis
from bridge.migration.gains import Gain
from bridge.migration.observed import ObservedMember
from bridge.migration.orders import MemberProgress, Obstacle
from bridge.migration.plans.conditions import Reading
from bridge.migration.plans.reading import PlanFault
from bridge.migration.reasons import Reason
from tests.architecture.source_tree import ROOT

PAGE = ROOT / "docs/reference/admin-api.md"
WRITTEN_BY = ("documents.py", "*_page.py", "*_pages.py")
SHOWN_WHOLE = (
    *(GroupSummary, MemberView, TopicPartitions, ConversionResult, ConvertedMember, RemovalResult, RemovedSeat),
    *(Obstacle, MemberProgress, ObservedMember, Reason, Gain, BrokerAbilities, Diagnosis, PlanFault, Reading),
)
"""Values whose fields are the keys, by their names."""


def written_keys() -> set[str]:
    """Words before the colons of all that these modules write, and the fields of what they show whole."""
    files = [file for pattern in WRITTEN_BY for file in (ROOT / "bridge/admin").glob(pattern)]
    trees = [ast.parse(file.read_text(encoding="utf-8")) for file in files]
    tables = [node for tree in trees for node in ast.walk(tree) if isinstance(node, ast.Dict)]
    written = {key.value for table in tables for key in table.keys if isinstance(key, ast.Constant)}
    shown = {field.name for shown in (*SHOWN_WHOLE, Reload) for field in fields(shown)}
    return {str(key) for key in written} | shown


def test_page_has_every_key() -> None:
    """Whoever reads an answer looks a key up there: those of groups, conversions and the judge were not."""
    code = re.findall(r"`[^`\n]+`", PAGE.read_text(encoding="utf-8"))
    told = set(re.findall(r"[a-z_]+", " ".join(code)))
    known = written_keys()
    assert {"not_convertible", "difference_s", "code"} <= known
    assert sorted(known - told) == []
