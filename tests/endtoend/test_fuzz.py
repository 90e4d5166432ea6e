"""The short run of the fuzzer; `python -m tests.fuzz` is the long one (docs/reference/fuzzing.md)."""

import secrets
from pathlib import Path
from random import Random

import pytest

from bridge.wire.apis import ApiKey
from bridge.wire.frames import read_request_header
from tests.fuzz.campaign import run_campaign
from tests.fuzz.spoiling import WAYS, spoilt, with_length
from tests.fuzz.words import APIS, Learned, Speaker

FRAMES = 2_000
SEEDS = 10**9


def test_strangers_end_nothing_and_disturb_nobody(tmp_path: Path) -> None:
    """A fresh seed each time, named where anything is wrong: the bridge lives, logs no traceback, keeps no files, and
    the canary's answers are what a broker alone with it would say.
    """
    seed = secrets.randbelow(SEEDS)
    result = run_campaign(seed, FRAMES, tmp_path)
    assert result.faults == (), f"seed {seed}: {result}"
    assert result.frames >= FRAMES, f"seed {seed}: {result}"
    assert result.answers, f"seed {seed}: {result}"
    assert len(result.apis) == len(APIS), f"seed {seed}: {result}"


def test_words_make_every_api_and_one_seed_makes_one_stream() -> None:
    """All are frames whose header reads, so that what is spoilt is what was to be spoilt."""
    one, other = (Speaker(Random(7), Learned()) for _ in range(2))
    made = [one.frame() for _ in range(600)]
    assert made == [other.frame() for _ in range(600)]
    assert {api_key for api_key, _, _ in made} == set(APIS)
    for api_key, version, frame in made:
        header = read_request_header(frame)
        assert header is not None
        assert (header.api_key, header.api_version, header.frame_bytes) == (api_key, version, len(frame))


def test_what_answers_told_is_said_again_but_for_the_canary() -> None:
    """Only so do requests reach members that are there."""
    learned = Learned()
    learned.hear({"error_code": 0, "member_id": "m-1", "members": [{"member_id": "canary-9"}, {"member_id": "m-2"}]})
    assert learned.values == {"member_id": ["m-1", "m-2"]}
    speaker = Speaker(Random(1), learned)
    frames = [frame for api_key, _, frame in (speaker.frame() for _ in range(2_000)) if api_key == ApiKey.HEARTBEAT]
    assert any(b"m-1" in frame for frame in frames)
    assert not any(b"canary" in frame for frame in frames)


def test_whatever_was_learned_can_be_said() -> None:
    """A broker that spoils answers tells of generations that no epoch of a producer can have."""
    learned = Learned()
    learned.hear([{"generation_id": number} for number in (2**31 - 1, -(2**31), 2**15, 2**63 - 1)])
    speaker = Speaker(Random(3), learned)
    assert {speaker.frame()[0] for _ in range(2_000)} == set(APIS)


@pytest.mark.parametrize("number", range(len(WAYS)))
def test_every_way_of_spoiling_takes_any_frame(number: int) -> None:
    """Also one that another way has cut short."""
    random = Random(number)
    for frame in (bytes(8), bytes(9), b"\x00\x00\x00\x0a\x00\x12\x00\x03\x00\x00\x00\x01\xff\xff", bytes(300)):
        for _ in range(50):
            assert isinstance(WAYS[number](random, frame), bytes)
            assert isinstance(with_length(spoilt(random, frame)), bytes)
