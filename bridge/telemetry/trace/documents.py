"""Rebalances as JSON for programs: the fields of `rebalances.stories` by their names.

It must not know files.
"""

from collections.abc import Sequence

import orjson

from bridge.telemetry.rebalances.stories import Rebalance


def rebalances_document(rebalances: Sequence[Rebalance]) -> bytes:
    """`{"rebalances": [...]}`; what follows from the fields stands beside them."""
    return orjson.dumps({"rebalances": [_document(one) for one in rebalances]}, option=orjson.OPT_INDENT_2)


def _document(rebalance: Rebalance) -> dict[str, object]:
    fields: dict[str, object] = orjson.loads(orjson.dumps(rebalance))
    members = [
        {**orjson.loads(orjson.dumps(member)), "stall_us": member.stall_us, "is_touched": member.is_touched}
        for member in rebalance.members
    ]
    derived = {"disturbed_count": rebalance.disturbed_count, "untouched_count": rebalance.untouched_count}
    return {**fields, **derived, "members": members}
