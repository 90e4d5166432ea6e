"""Conversion back, by the last KIP-848 member's departure or return, and what the policies let happen (K3.2, K3.20-K3.33)."""

from dataclasses import replace

from tests.conformance.wire.scenarios.consumers import ONE
from tests.conformance.wire.scenarios.mixed import mixed, upgraded
from tests.conformance.wire.scenarios.seats import A
from tests.support.conformance.calls import (
    alone,
    beat,
    chb,
    describe,
    describe_consumer,
    enter,
    join,
    leave,
    leave_all,
    list_groups,
    pair,
    rejoin,
    sync,
)
from tests.support.conformance.steps import Scenario

DOWNGRADES = (
    mixed(
        "the last KIP-848 member leaves and the group is classic again",
        "K3.20 K3.22 K3.23 K3.24 K3.26 K3.27",
        *(*upgraded(), beat("a"), rejoin("a"), sync("a"), chb("n", "#n"), chb("n", -1)),
        *(describe(5), list_groups(5), beat("a"), rejoin("a"), sync("a"), beat("a"), describe(5)),
        tests="testLastConsumerProtocolMemberLeavingConsumerGroup testDowngradeMigrationPolicy",
    ),
    mixed(
        "the last KIP-848 member is put out",
        "K3.20",
        *(*upgraded(), leave_all("admin", ("member-n", None)), describe(5), beat("a")),
        tests="testLastConsumerProtocolMemberSessionTimeoutInConsumerGroup",
    ),
    mixed(
        "the only member is no reason to convert",
        "K3.20",
        *(chb("n", 0), chb("n", -1), describe_consumer(), describe(5)),
    ),
    mixed(
        "a KIP-848 member stays and so does the type",
        "K3.20",
        *(*upgraded(), chb("m", 0), chb("n", -1), describe_consumer()),
    ),
    mixed(
        "a static KIP-848 member comes back as a classic one",
        "K3.30 K3.32 K3.33",
        *(
            *alone("a"),
            chb("n", 0, **ONE),
            beat("a"),
            rejoin("a"),
            sync("a"),
            chb("n", "#n"),
            join("c", **A),
            sync("c", **A),
        ),
        *(describe(5), beat("c", **A), beat("a")),
        tests="testLastStaticConsumerProtocolMemberReplacedByClassicProtocolMember",
    ),
    mixed(
        "a KIP-848 member away for a while is still there",
        "K3.21",
        *(*alone("a"), chb("n", 0, **ONE), chb("n", -2, **ONE), describe_consumer(), beat("a")),
    ),
    mixed(
        "a classic member speaks KIP-848 under its own id",
        "K2.22 K3.17 K11.4",
        *(*pair(), chb("a", 0, member_id="@a"), describe_consumer(), beat("b"), chb("a", "#a", member_id="@a")),
    ),
)


def ruled(profile: str) -> tuple[Scenario, ...]:
    """What a policy lets happen to groups with members."""
    return tuple(
        replace(one, profile=profile)
        for one in (
            mixed(
                f"a KIP-848 member joins under policy {profile}",
                "K3.2 K3.3",
                *(*upgraded(), beat("a"), describe(5), chb("n", -1), describe(5), beat("a")),
                tests="testUpgradeMigrationPolicy testUpgradeWithDisabledMigrationPolicy "
                "testConsumerGroupHeartbeatWithNonEmptyClassicGroup",
            ),
            mixed(
                f"a classic member joins a consumer group under policy {profile}",
                "K3.2 K3.3 K3.20",
                *(chb("n", 0), *([join("b")] if profile == "disabled" else [*enter("b"), sync("b")]), chb("n", -1)),
                *(describe(5), *([] if profile == "disabled" else [beat("b")]), chb("n", 0)),
                tests="testDowngradeMigrationPolicy testDowngradeWithDisabledMigrationPolicy",
            ),
            mixed(
                f"empty groups change under policy {profile}",
                "K3.3 K1.9 K2.15",
                *(chb("n", 0), chb("n", -1), *alone("a"), leave("a"), chb("n", 0)),
                tests="testUpgradeFromEmptyClassicToConsumerGroup testDowngradeFromEmptyConsumerToClassicGroup",
            ),
        )
    )


POLICIES = tuple(one for profile in ("upgrade", "downgrade", "disabled") for one in ruled(profile))
SCENARIOS: tuple[Scenario, ...] = (*DOWNGRADES, *POLICIES)
