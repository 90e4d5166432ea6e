"""Fields of settings that carry what is known of their keys."""

from dataclasses import dataclass, fields

from bridge.config.fields import INT_MAX, Bounds, Key, Names, Origin, describe, kafka, key, names, within


@dataclass(frozen=True, slots=True, kw_only=True)
class Three:
    """Settings of three kinds."""

    linger_ms: int = key("linger.ms", 5, "How long.", within(0, 9))
    kinds: Names = names("kinds", ("a",), "Which.", Bounds(choices=("a", "b"), per_group=True))
    session_ms: int = key("session.ms", 7, "How long at most.", kafka(3, per_group=True))


def test_field_is_described_as_its_key() -> None:
    """Name, default, meaning and bounds come back as they were written."""
    linger, kinds, session = map(describe, fields(Three))
    assert linger == Key(name="linger.ms", field_name="linger_ms", default=5, text="How long.", minimum=0, maximum=9)
    assert kinds == Key(
        name="kinds", field_name="kinds", default=("a",), text="Which.", choices=("a", "b"), per_group=True
    )
    assert (session.origin, session.minimum, session.maximum) == (Origin.KAFKA, 3, INT_MAX)
    assert session.per_group


def test_default_is_the_fields_own() -> None:
    """Settings that nobody wrote are the defaults."""
    assert Three() == Three(linger_ms=5, kinds=("a",), session_ms=7)
