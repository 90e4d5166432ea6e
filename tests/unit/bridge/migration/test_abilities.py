"""What brokers can do, as values."""

from bridge.migration.abilities import BrokerAbilities, Login, MigrationPolicy, TakeOver


def test_policies_that_let_a_classic_group_become_a_consumer_group() -> None:
    """As Kafka's own documentation has them."""
    upgrading = {policy for policy in MigrationPolicy if policy.upgrades}
    assert upgrading == {MigrationPolicy.BIDIRECTIONAL, MigrationPolicy.UPGRADE}


def test_bridge_may_ask_an_open_cluster_or_with_a_login() -> None:
    """What is not known counts as no."""
    asking = {login for login in Login if BrokerAbilities(login=login).may_ask}
    assert asking == {Login.OPEN, Login.OWN}


def test_consumer_protocol_is_known_or_not() -> None:
    """Nobody guesses."""
    told = {takeover: BrokerAbilities(takeover=takeover).has_consumer_protocol for takeover in TakeOver}
    assert told == {
        TakeOver.IN_PLACE: True,
        TakeOver.BY_SCOUT: True,
        TakeOver.WHOLE_GROUP: True,
        TakeOver.IMPOSSIBLE: False,
        TakeOver.UNKNOWN: None,
    }
