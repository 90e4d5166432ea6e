"""Reasons and what they allow."""

from bridge.migration.reasons import Assessment, Reason, Weight
from bridge.migration.route import Road


def test_notes_stand_in_nobodys_way_and_disturbances_may_be_allowed() -> None:
    """What passes or blocks is not lifted by the operator's word."""
    weights = {weight: Reason("EB-MOVE-104", "seen", "remedy", weight) for weight in Weight}
    ready = {weight: Assessment(Road.UPSTREAM, (reason,)).is_ready for weight, reason in weights.items()}
    assert ready == {Weight.BLOCKS: False, Weight.DISTURBS: False, Weight.PASSES: False, Weight.NOTES: True}
    allowed = {weight for weight, reason in weights.items() if Assessment(Road.PASS, (reason,)).allows(rebalance=True)}
    assert allowed == {Weight.DISTURBS, Weight.NOTES}
    strict = {weight for weight, reason in weights.items() if Assessment(Road.PASS, (reason,)).allows(rebalance=False)}
    assert strict == {Weight.NOTES}
