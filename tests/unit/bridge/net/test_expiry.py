"""Certificates of the bridge's own: until when they are valid, read as a library reads it, and who is told in time."""

import logging
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from cryptography import x509
from hypothesis import given
from hypothesis import strategies as st

from bridge.net.expiry import CODE_OVER, CODE_SOON, REPEAT_MS, SOON, Expiry, ExpiryWatch, Fading, fading_of, over_of
from bridge.net.tls import Certificates, TlsIdentity, own_certificate
from tests.support.certificates import LONG_AGO, Authority, key_store, store_word, written
from tests.support.scripted_broker import LOOPBACK

OVER = datetime(2031, 5, 6, 7, 8, 9, tzinfo=UTC)
UNTIL = "2031-05-06 07:08 UTC"
AFTER_2049 = datetime(2061, 5, 6, 7, 8, 9, tzinfo=UTC)
"""Written with four digits for the year."""


def ms(moment: datetime) -> int:
    """Since 1970."""
    return int(moment.timestamp() * 1000)


def pair(folder: Path, until: datetime) -> TlsIdentity:
    """As PEM."""
    return TlsIdentity(certificate=Authority(folder).pair(LOOPBACK, until=until))


@pytest.mark.parametrize("until", [OVER, AFTER_2049])
def test_end_is_what_a_library_reads(tmp_path: Path, until: datetime) -> None:
    """As PEM, where the authority's own follows it, and as PKCS#12."""
    authority = Authority(tmp_path)
    stored = key_store(tmp_path, authority.issue(LOOPBACK, until=until))
    for identity in (
        pair(tmp_path, until),
        TlsIdentity(certificate=stored, password=store_word(tmp_path)),
    ):
        der = own_certificate(identity)
        assert over_of(der) == x509.load_der_x509_certificate(der).not_valid_after_utc == until


@given(st.binary(max_size=400))
def test_bytes_that_are_no_certificate_are_told(data: bytes) -> None:
    """Nobody waits, and nothing else is raised."""
    try:
        over_of(data)
    except (IndexError, ValueError):
        return


@pytest.mark.parametrize(
    ("now", "seen"),
    [
        (OVER - SOON - timedelta(seconds=1), None),
        (
            OVER - SOON,
            Fading(logging.WARNING, CODE_SOON, f"a.pem is valid until {UNTIL}, 14 days from now"),
        ),
        (
            OVER - timedelta(days=1, hours=2),
            Fading(logging.WARNING, CODE_SOON, f"a.pem is valid until {UNTIL}, 1 day from now"),
        ),
        (
            OVER,
            Fading(
                logging.ERROR,
                CODE_OVER,
                f"a.pem was valid until {UNTIL}: whoever checks it refuses the connection",
            ),
        ),
    ],
)
def test_what_is_said_at_a_time(now: datetime, seen: Fading | None) -> None:
    """Two weeks ahead, and once it is over."""
    assert Expiry(Path("a.pem"), OVER).seen_at(ms(now)) == seen


def test_file_that_can_not_be_read_is_left_to_others(tmp_path: Path) -> None:
    """They say so with another code, and what was read before counts on."""
    for path in (tmp_path / "none.pem", written(tmp_path / "other.pem", b"-----BEGIN OTHER-----")):
        assert fading_of(TlsIdentity(certificate=path), ms(OVER)) is None


async def test_end_is_told_once_a_day_and_of_a_new_file_at_once(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """A log is not filled by it, and who puts the wrong file in place hears of that."""
    now_ms = [ms(OVER)]
    watch = ExpiryWatch("listen.tls", pair(tmp_path, OVER), lambda: now_ms[0])
    counts = []
    for look_ms, is_new in ((0, False), (REPEAT_MS - 1, False), (REPEAT_MS, False), (REPEAT_MS, True)):
        now_ms[0] = ms(OVER) + look_ms
        await watch.look(is_new=is_new)
        counts.append(len(caplog.records))
    assert counts == [1, 1, 2, 3]
    assert {record.levelno for record in caplog.records} == {logging.ERROR}
    assert f"{CODE_OVER}: listen.tls.certificate.path: " in caplog.records[0].getMessage()
    assert "which is read without a restart" in caplog.records[0].getMessage()


async def test_certificates_of_a_side_are_watched_with_its_files(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """Where SIGHUP has them read again nothing is said that was said before."""
    watch = ExpiryWatch("upstream.tls", pair(tmp_path, LONG_AGO + timedelta(days=9)), lambda: ms(OVER))
    certificates = Certificates((), 10_000, (watch,))
    for _ in range(2):
        assert await certificates.read_changed() == ()
    assert [CODE_OVER in record.getMessage() for record in caplog.records] == [True]
