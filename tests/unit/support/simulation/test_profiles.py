"""The habits of the client libraries."""

from tests.support.simulation.profiles import PROFILES


def test_native_are_those_without_protocols() -> None:
    """Who speaks KIP-848 offers no assignors."""
    native = {name for name, profile in PROFILES.items() if profile.is_native}
    assert native == {"java-consumer", "librdkafka-consumer", "platformatic-consumer"}


def test_cooperative_offer_nothing_eager() -> None:
    """A client is cooperative only if all its protocols are (decision 6)."""
    offers = {profile.protocols for profile in PROFILES.values() if profile.is_cooperative}
    assert offers == {("cooperative-sticky",)}
