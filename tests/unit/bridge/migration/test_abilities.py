"""What brokers can do, as values."""

from bridge.migration.abilities import BrokerAbilities, Login, MigrationPolicy


def test_policies_that_let_a_classic_group_become_a_consumer_group() -> None:
    """As Kafka's own documentation has them."""
    upgrading = {policy for policy in MigrationPolicy if policy.upgrades}
    assert upgrading == {MigrationPolicy.BIDIRECTIONAL, MigrationPolicy.UPGRADE}


def test_bridge_may_ask_an_open_cluster_or_with_a_login() -> None:
    """What is not known counts as no."""
    asking = {login for login in Login if BrokerAbilities(login=login).may_ask}
    assert asking == {Login.OPEN, Login.OWN}
