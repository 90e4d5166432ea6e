"""A verdict as JSON and as lines for people. It must not know how the verdict came about."""

from collections.abc import Mapping
from dataclasses import asdict

from bridge.demo.judge import Verdict

Report = Mapping[str, object]


def verdict_report(verdict: Verdict) -> Report:
    """JSON-ready: the ten keys that `epochbridge demo --json` promises first (counts, ms, names), then the details."""
    return {
        "records_produced": verdict.records_produced,
        "records_lost": verdict.records_lost,
        "records_duplicated": verdict.records_duplicated,
        "double_ownership": len(verdict.double_ownership),
        "rebalances": verdict.rebalances,
        "members_rolled": verdict.members_rolled,
        "members_disturbed": len(verdict.members_disturbed),
        "max_stall_ms": round(verdict.max_stall_ms, 1),
        "protocols_seen": list(verdict.protocols_seen),
        "ok": verdict.ok,
        "committed_equals_processed": verdict.committed_equals_processed,
        "details": {
            "double_ownership": [asdict(overlap) for overlap in verdict.double_ownership],
            "rolls": [asdict(roll) for roll in verdict.rolls],
            "disturbances": [asdict(disturbance) for disturbance in verdict.disturbances],
            "longest_stall": None if verdict.longest_stall is None else asdict(verdict.longest_stall),
            "commit_mismatches": [asdict(mismatch) for mismatch in verdict.commit_mismatches],
            "silent_clients": list(verdict.silent_clients),
        },
    }


def verdict_lines(verdict: Verdict) -> tuple[str, ...]:
    """One line per figure, then one per thing that must not have happened."""
    return (
        f"records produced   {verdict.records_produced}",
        f"records lost       {verdict.records_lost}",
        f"records read twice {verdict.records_duplicated}",
        f"owned twice        {len(verdict.double_ownership)}",
        f"rebalances         {verdict.rebalances}",
        f"members rolled     {verdict.members_rolled}",
        f"members disturbed  {len(verdict.members_disturbed)}",
        f"longest stall      {verdict.max_stall_ms:.0f} ms",
        f"protocols seen     {', '.join(verdict.protocols_seen)}",
        f"commits match      {'yes' if verdict.committed_equals_processed else 'no'}",
        *_complaints(verdict),
        f"verdict            {'ok' if verdict.ok else 'FAILED'}",
    )


def _complaints(verdict: Verdict) -> tuple[str, ...]:
    return (
        *(
            f"! {overlap.partition.topic}-{overlap.partition.partition} owned by {overlap.first} and {overlap.second} "
            f"for {(overlap.until_ns - overlap.began_ns) / 1_000_000:.1f} ms"
            for overlap in verdict.double_ownership
        ),
        *(f"! {one.who} disturbed by {one.step!r} ({one.callbacks} callbacks)" for one in verdict.disturbances),
        *(
            f"! {one.partition.topic}-{one.partition.partition}: {one.who} committed {one.committed}, "
            f"processed up to {one.processed}"
            for one in verdict.commit_mismatches
        ),
        *(f"! {who} wrote no event log" for who in verdict.silent_clients),
    )
