"""The habits of the client libraries."""

from bridge.simulation.temperaments import TEMPERAMENTS


def test_native_are_those_without_protocols() -> None:
    """Who speaks KIP-848 offers no assignors."""
    native = {name for name, temper in TEMPERAMENTS.items() if temper.is_native}
    assert native == {"java-consumer", "librdkafka-consumer", "platformatic-consumer"}


def test_cooperative_offer_nothing_eager() -> None:
    """Decision 6: a client is cooperative only if all its protocols are."""
    offers = {temper.protocols for temper in TEMPERAMENTS.values() if temper.is_cooperative}
    assert offers == {("cooperative-sticky",)}
