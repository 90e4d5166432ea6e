"""Whose settings are meant, and what the policy of a cluster allows."""

from translators.dialects.configs import BROKER, GROUP, MigrationPolicy, Resource, groups_among


def test_groups_are_told_from_other_resources() -> None:
    """In their order, and as often as they are named."""
    resources = (Resource(GROUP, "a"), Resource(BROKER, "1"), Resource(GROUP, "b"), Resource(GROUP, "a"))
    assert [one.group_id for one in resources] == ["a", None, "b", "a"]
    assert groups_among(resources) == ("a", "b", "a")


def test_policies_let_groups_change_their_type_one_way_or_both() -> None:
    """As Kafka's own documentation has them."""
    upgrading = {policy for policy in MigrationPolicy if policy.upgrades}
    downgrading = {policy for policy in MigrationPolicy if policy.downgrades}
    assert upgrading == {MigrationPolicy.BIDIRECTIONAL, MigrationPolicy.UPGRADE}
    assert downgrading == {MigrationPolicy.BIDIRECTIONAL, MigrationPolicy.DOWNGRADE}
