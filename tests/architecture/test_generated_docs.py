"""What is generated in the docs is what the code says."""

from deploy.reference import outdated


def test_generated_parts_are_up_to_date() -> None:
    """Mend with `python -m deploy.reference`."""
    assert outdated() == []
