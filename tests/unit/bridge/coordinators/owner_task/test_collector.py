"""The garbage collector rests while a lot is made that stays."""

import gc

import pytest

from bridge.coordinators.owner_task import MANY, RestingCollector


def fail_at_rest(count: int) -> None:
    """Make many things that the collector would look at, and fail."""
    with RestingCollector():
        assert not gc.isenabled()
        kept = [[number] for number in range(count)]
        raise LookupError(len(kept))


@pytest.mark.parametrize("was_enabled", [True, False])
@pytest.mark.parametrize("count", [0, 2 * MANY])
def test_collector_rests_and_is_as_before(was_enabled: bool, count: int) -> None:
    """Also when the work fails; what a lot of work made is not looked at again."""
    before = gc.isenabled()
    (gc.enable if was_enabled else gc.disable)()
    gc.collect()
    frozen = gc.get_freeze_count()
    try:
        with pytest.raises(LookupError):
            fail_at_rest(count)
        assert gc.isenabled() is was_enabled
        assert (gc.get_freeze_count() > frozen) is (count > 0)
    finally:
        gc.unfreeze()
        (gc.enable if before else gc.disable)()
