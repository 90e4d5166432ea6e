"""Every rule of the coordinator reference (K-numbers), and where those stand that no scenario cites.

It knows numbers, test names and reasons, and must not know scenarios.
"""

from collections.abc import Mapping

NUMBERS: Mapping[int, tuple[tuple[int, int], ...]] = {
    1: ((1, 63), (70, 72), (75, 76)),
    2: ((1, 43), (50, 51), (60, 62)),
    3: ((1, 3), (5, 28), (30, 35), (40, 40)),
    4: ((1, 17), (20, 23), (30, 33), (40, 42), (50, 53), (60, 64)),
    5: ((1, 22), (30, 32)),
    6: ((1, 8),),
    7: ((1, 10), (20, 23), (30, 33)),
    8: ((1, 4),),
    9: ((1, 8),),
    12: ((1, 20),),
}
"""The sections of the reference and which numbers they have, first and last of each run."""

RULES: tuple[str, ...] = tuple(
    f"K{section}.{number}"
    for section, runs in NUMBERS.items()
    for first, last in runs
    for number in range(first, last + 1)
)

ENGINE, CLASSIC = "tests/unit/bridge/engine", "tests/unit/bridge/engine/classic"
SHELL = "tests/unit/bridge/coordinators"

TESTED: Mapping[str, str] = {
    "K1.2": f"{ENGINE}/recovery/test_unloading.py",
    "K1.70": f"{ENGINE}/recovery/test_classic_recovery.py::test_restart_felt_by_nobody_in_a_stable_group",
    "K1.71": f"{ENGINE}/recovery/test_classic_recovery.py::test_restart_with_a_smaller_limit_rebalances",
    "K1.72": f"{ENGINE}/recovery/test_classic_recovery.py::test_restart_keeps_every_protocol_a_member_offers",
    "K1.75": f"{ENGINE}/recovery/test_unloading.py",
    "K1.76": f"{ENGINE}/apply/test_apply.py::test_group_deleted_is_forgotten_with_its_deadlines",
    "K2.28": f"{ENGINE}/consumer/retargeting/test_retargeting.py",
    "K2.29": f"{ENGINE}/consumer/target/test_target.py",
    "K2.40": "tests/properties/test_engine_laws.py",
    "K2.51": f"{ENGINE}/leaving/test_expiry.py::test_several_expire_together_with_one_epoch",
    "K2.62": f"{ENGINE}/test_settings.py",
    "K3.1": "tests/unit/bridge/config/test_configuration.py",
    "K3.9": "tests/conformance/test_conversion_scenarios.py",
    "K3.31": "tests/conformance/test_conversion_scenarios.py",
    "K3.40": f"{SHELL}/durability/test_durability.py::test_journal_equals_live_state_after_every_turn",
    "K4.23": "tests/unit/translators/classic_member/test_completing.py",
    "K4.32": "tests/unit/translators/classic_member/test_calling.py",
    "K4.53": f"{SHELL}/durability/test_durability.py::test_member_goes_on_after_a_restart",
    "K7.10": f"{SHELL}/durability/test_durability.py::test_heartbeats_write_nothing",
    "K7.30": f"{ENGINE}/recovery/test_recovery.py::test_native_members_get_full_sessions_and_revocations_full_time",
    "K7.31": f"{ENGINE}/recovery/test_classic_recovery.py::test_restart_during_a_rebalance_goes_back_but_never_repeats_a_generation",
    "K7.32": "tests/properties/test_records_codec.py",
    "K8.1": "tests/conformance/test_settings.py",
    "K9.1": f"{ENGINE}/assignors/uniform/test_uniform.py",
    "K9.2": f"{ENGINE}/assignors/range/test_range.py",
    "K9.3": "tests/properties/test_assignors.py"
    "::test_uniform_same_subscriptions_balanced_by_the_forced_minimum_of_moves",
    "K9.4": f"{ENGINE}/assignors/uniform/test_mixture.py",
    "K9.5": "tests/properties/test_assignors.py::test_order_of_mappings_does_not_matter",
    "K12.9": f"{ENGINE}/apply/test_writing.py",
    "K12.4": f"{ENGINE}/convert/test_downgrade.py",
    "K12.19": f"{ENGINE}/leaving/test_removal.py",
}
"""Rules that other tests than scenarios hold us to: a file, or one test of it."""

RESTATED: Mapping[str, tuple[str, ...]] = {
    "K12.1": ("K3.6", "K3.13", "K3.15"),
    "K12.2": ("K3.14",),
    "K12.3": ("K3.10", "K3.27", "K3.34"),
    "K12.5": ("K4.22", "K4.30", "K2.33"),
    "K12.6": ("K4.30", "K2.38"),
    "K12.7": ("K2.20", "K4.8", "K4.9", "K1.40"),
    "K12.8": ("K5.3", "K5.11", "K4.20", "K4.30"),
    "K12.10": ("K3.21",),
    "K12.11": ("K4.14", "K4.20"),
    "K12.12": ("K4.50", "K4.53"),
    "K12.13": ("K2.18", "K2.35"),
    "K12.14": ("K1.20", "K3.12", "K4.7"),
    "K12.15": ("K2.50", "K2.26"),
    "K12.16": ("K4.12", "K2.24"),
    "K12.17": ("K1.12", "K2.16", "K4.3"),
    "K12.18": ("K2.15", "K1.9", "K5.31"),
    "K12.20": ("K1.54", "K7.33"),
}
"""Warnings of the reference that say again what other rules say."""

OWN_RECORDS = "Kafka's log; ours is a journal of its own (`tests/properties/test_records_codec.py`: replay equals live)"
THE_BROKERS = "offsets live in the broker, which expires and deletes them itself; a live group's are renewed "
CLIENTS = "what a Java client does; `tests/endtoend/test_stories.py` runs the clients themselves"
GRIDS = "a grid of speed measurements; ours is `tests/benchmarks/assignors.py`"

NOT_ON_THE_WIRE: Mapping[str, str] = {
    "K1.3": "says from which states a rebalance may begin (K1.28); its time stamp serves the expiry of offsets",
    "K2.25": "which of two algorithms an assignor takes; the outcome is K9.3 and K9.4",
    "K3.7": OWN_RECORDS,
    "K4.60": CLIENTS,
    "K4.61": CLIENTS,
    "K4.62": CLIENTS,
    "K4.63": CLIENTS,
    "K4.64": CLIENTS,
    "K5.30": THE_BROKERS + "(`tests/unit/bridge/coordinators/embedded/test_recommit.py`)",
    "K5.32": THE_BROKERS + "(`tests/unit/bridge/coordinators/embedded/test_recommit.py`)",
    **dict.fromkeys((*(f"K7.{number}" for number in range(1, 10)), "K7.20", "K7.21", "K7.22", "K7.23"), OWN_RECORDS),
    "K7.33": "nothing is served before the journal is read, so nobody meets a group that is being loaded",
    "K8.2": "names of Kafka's metrics; ours are in `docs/reference/metrics.md`",
    "K8.3": "names of Kafka's metrics; ours are in `docs/reference/metrics.md`",
    "K8.4": "names of Kafka's metrics; ours are in `docs/reference/metrics.md`",
    **dict.fromkeys(("K9.6", "K9.7", "K9.8"), GRIDS),
}
"""Rules that no client can see, with the reason."""
