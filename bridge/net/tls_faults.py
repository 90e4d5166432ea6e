"""What went wrong in TLS, in one sentence with the likely cause and the next step, instead of OpenSSL's words.

It is given what was raised.
"""

import ssl

from bridge.session.close_reasons import CloseReason
from bridge.session.requests import Rejected


def tell_ending(error: BaseException) -> str:
    """What the other end said of why it ended a connection; empty where it said nothing."""
    return _ALERTS.get(_reason(error), "")


def explain_broker(host: str, address: str, error: Exception) -> str:
    """Why there is no TLS with a broker."""
    if isinstance(error, ssl.SSLCertVerificationError):
        return f"EB-NET-045: the certificate of {address} is not accepted: {_explain_certificate(host, error)}"
    told = tell_ending(error)
    if told:
        return (
            f"EB-NET-046: {address} refused the connection in TLS: {told}; see upstream.tls.version.min, "
            "upstream.tls.certificate.path, and the broker's ssl.client.auth and ssl.truststore"
        )
    if not isinstance(error, OSError):
        return f"EB-NET-045: {host!r} can't be asked for in TLS ({error}); name the broker by a host in bootstrap"
    return (
        f"EB-NET-044: {address} does not answer in TLS ({_reason(error) or error.strerror or 'it hung up'}); most "
        "likely its listener has none: name one with security protocol SSL or SASL_SSL in bootstrap, or set "
        "upstream.tls: false"
    )


def explain_client(error: Exception) -> Rejected:
    """Why there is no TLS with a client, which is the other end's word where it said one."""
    if isinstance(error, ssl.SSLCertVerificationError):
        why = {**_AGES, **_FOREIGN}.get(error.verify_code, error.verify_message)
        return Rejected(CloseReason.CERTIFICATE_REFUSED, why)
    reason = _reason(error)
    if reason == "PEER_DID_NOT_RETURN_A_CERTIFICATE":
        return Rejected(CloseReason.NO_CERTIFICATE, "")
    if reason in _OF_CERTIFICATES:
        return Rejected(CloseReason.CERTIFICATE_NOT_TRUSTED, tell_ending(error))
    if not isinstance(error, ssl.SSLError) or isinstance(error, (ssl.SSLEOFError, ssl.SSLZeroReturnError)):
        return Rejected(CloseReason.CLIENT_GONE, "before there was TLS")
    return Rejected(CloseReason.NO_TLS, tell_ending(error) or reason.lower().replace("_", " "))


_TRUST = (
    "it is signed by nobody that is trusted; add the authority that signed it (or the certificate itself, if it signs "
    "itself) to upstream.tls.trust.path"
)
_UNLINKED = (
    "nothing leads from it to an authority that is trusted; add the authority that signed it to "
    "upstream.tls.trust.path, or, where that is in it, have the broker send the certificates in between, too: its "
    "keystore lacks its chain"
)
_EXPIRED = 10
_NOT_YET_VALID = 9
_SELF_SIGNED, _WITHOUT_ISSUER = frozenset({18, 19}), frozenset({2, 20, 21})
"""What signs itself, alone or at the end of a chain, is no trusted authority; or who signed it did not come with it."""
_AGES = {
    _EXPIRED: "it has expired, by the clock of this machine",
    _NOT_YET_VALID: "it is not valid yet, by the clock of this machine",
}
_FOREIGN = {
    **dict.fromkeys(_SELF_SIGNED, "it is signed by nobody that is trusted"),
    **dict.fromkeys(
        _WITHOUT_ISSUER, "it is signed by nobody that is trusted, or comes without the certificates in between"
    ),
}
_OTHER_HOST = frozenset({62, 64})


def _explain_certificate(host: str, error: ssl.SSLCertVerificationError) -> str:
    """By OpenSSL's numbers (X509_V_ERR_…), which stay what they are; its words do not."""
    code = error.verify_code
    if code == _EXPIRED:
        return "it has expired; renew it at the broker, or set the clock of this machine"
    if code == _NOT_YET_VALID:
        return "it is not valid yet; set the clock of this machine, or of the one that made it"
    if code in _OTHER_HOST:
        return (
            f"it names other hosts than {host!r}; let the broker advertise a host of its certificate, give it one that "
            "names this host, or set upstream.tls.verify.hostname: false where the network is trusted"
        )
    if code in _WITHOUT_ISSUER:
        return _UNLINKED
    return _TRUST if code in _SELF_SIGNED else f"{error.verify_message}; see upstream.tls.trust.path"


def _reason(error: BaseException) -> str:
    reason = getattr(error, "reason", None)
    return reason if isinstance(reason, str) else ""


_ALERTS = {
    "TLSV13_ALERT_CERTIFICATE_REQUIRED": "it wants a certificate",
    "SSLV3_ALERT_HANDSHAKE_FAILURE": "it has no version or cipher in common, or wants a certificate",
    "TLSV1_ALERT_PROTOCOL_VERSION": "it does not speak this version of TLS",
    "TLSV1_ALERT_UNKNOWN_CA": "it does not trust who signed the certificate",
    "SSLV3_ALERT_CERTIFICATE_EXPIRED": "it says that the certificate has expired",
    "SSLV3_ALERT_CERTIFICATE_UNKNOWN": "it does not accept the certificate",
    "SSLV3_ALERT_CERTIFICATE_REVOKED": "it says that the certificate is revoked",
    "SSLV3_ALERT_BAD_CERTIFICATE": "it does not accept the certificate, or wants one",
    "SSLV3_ALERT_UNSUPPORTED_CERTIFICATE": "it takes no certificate of this kind",
    "TLSV1_ALERT_DECRYPT_ERROR": "it finds the signature of the certificate wrong",
    "TLSV1_ALERT_ACCESS_DENIED": "it takes the certificate, but not who has it",
    "TLSV1_UNRECOGNIZED_NAME": "it knows no host of this name",
    "TLSV1_ALERT_INTERNAL_ERROR": "it failed",
}
"""Alerts by OpenSSL's names, in words."""
_OF_CERTIFICATES = frozenset(
    {
        "TLSV1_ALERT_UNKNOWN_CA",
        "SSLV3_ALERT_CERTIFICATE_EXPIRED",
        "SSLV3_ALERT_CERTIFICATE_UNKNOWN",
        "SSLV3_ALERT_CERTIFICATE_REVOKED",
        "SSLV3_ALERT_BAD_CERTIFICATE",
        "SSLV3_ALERT_UNSUPPORTED_CERTIFICATE",
    }
)
"""Those that speak of the certificate that was shown."""
