"""What brokers can do, as values."""

from bridge.migration.abilities import BrokerAbilities, Login


def test_bridge_may_ask_an_open_cluster_or_with_a_login() -> None:
    """What is not known counts as no."""
    asking = {login for login in Login if BrokerAbilities(login=login).may_ask}
    assert asking == {Login.OPEN, Login.OWN}
