"""Whoever asks while somebody else does waits for the same answer, and asks anew if that one never came."""

import trio

from bridge.coordinators.shared_looks import SharedLook, shared_look
from translators.dialects.errors import ErrorCode, Refusal

REFUSAL = Refusal(ErrorCode.COORDINATOR_NOT_AVAILABLE, "the broker is away")


async def test_look_is_found_by_others_until_it_is_over() -> None:
    """They hear what it came to."""
    looks: dict[str, SharedLook] = {}
    with shared_look(looks, "g") as own:
        found = looks["g"]
        own.refusal, own.is_over = REFUSAL, True
        assert not found.done.is_set()
    await found.done.wait()
    assert (looks, found.refusal, found.is_over) == ({}, REFUSAL, True)


async def test_look_that_is_given_up_wakes_who_waits_without_an_answer() -> None:
    """So the first to notice asks, in the time that it has itself."""
    looks: dict[str, SharedLook] = {}
    found = SharedLook()
    with trio.CancelScope() as scope, shared_look(looks, "g"):
        found = looks["g"]
        scope.cancel()
        await trio.sleep_forever()
    await found.done.wait()
    assert (looks, found.is_over) == ({}, False)
