"""What certificates allow, as lines say it."""

import pytest

from bridge.admin.certificates import CertificateRoles, Certified, RolesUnreadable, parse_roles
from bridge.admin.tokens import Role

LINES = """
# who may what
"CN=ops,O=We & Sons" order
CN=*,OU=monitoring read   # of all hosts
CN=*.ops order
"""


def test_first_line_that_means_a_subject_counts() -> None:
    """Only the star stands for something else."""
    roles = parse_roles(LINES + "CN=a,OU=monitoring order\nCN=[ab]? order\n")
    assert roles.certify("CN=ops,O=We & Sons") == Certified("CN=ops,O=We & Sons", Role.ORDER)
    assert roles.certify("CN=a,OU=monitoring").role is Role.READ
    assert roles.certify("CN=x.ops").role is Role.ORDER
    assert roles.certify("CN=[ab]?").role is Role.ORDER
    assert roles.certify("CN=ax") == Certified("CN=ax", None)
    assert roles.certify("") == Certified()


def test_without_lines_whoever_shows_a_certificate_reads() -> None:
    """And who shows none does not."""
    assert CertificateRoles().certify("CN=a").role is Role.READ
    assert CertificateRoles().certify("").role is None


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("CN=a order\nCN=b admin", "line 2 has 'admin' for a role"),
        ("CN=We and Sons order", "line 1 has 4 words; quote"),
        ("CN='a order", "line 1 can't be read: No closing quotation"),
        ("# nothing", "it has no lines"),
    ],
)
def test_what_cannot_be_meant_is_named(text: str, said: str) -> None:
    """By its line."""
    with pytest.raises(RolesUnreadable, match=said):
        parse_roles(text)
