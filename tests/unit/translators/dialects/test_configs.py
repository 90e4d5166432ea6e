"""Whose settings are meant."""

from translators.dialects.configs import BROKER, GROUP, Resource, groups_among


def test_groups_are_told_from_other_resources() -> None:
    """In their order, and as often as they are named."""
    resources = (Resource(GROUP, "a"), Resource(BROKER, "1"), Resource(GROUP, "b"), Resource(GROUP, "a"))
    assert [one.group_id for one in resources] == ["a", None, "b", "a"]
    assert groups_among(resources) == ("a", "b", "a")
