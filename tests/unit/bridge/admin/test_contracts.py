"""The one piece of behaviour among the values."""

from bridge.admin.contracts import AdminError


def test_error_carries_its_code_twice() -> None:
    """In the text for people, as a field for programs."""
    problem = AdminError("EB-ADMIN-001", "the port is taken")
    assert (problem.code, str(problem)) == ("EB-ADMIN-001", "EB-ADMIN-001: the port is taken")
