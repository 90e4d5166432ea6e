"""Records of TLS 1.3 as an end that has its keys may make them: new keys over and over, which hold nothing.

Python's ssl has no way to send them, so they are made by the secrets that it logs (RFC 8446, 4.6.3, 5.2 and 7.2).
"""

import ssl
from pathlib import Path

from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.hashes import SHA384
from cryptography.hazmat.primitives.kdf.hkdf import HKDFExpand

CIPHER = "TLS_AES_256_GCM_SHA384"
OF_CLIENT, OF_SERVER = "CLIENT_TRAFFIC_SECRET_0", "SERVER_TRAFFIC_SECRET_0"
HASH_BYTES, KEY_BYTES, NONCE_BYTES, TAG_BYTES = 48, 32, 12, 16
ALERT, HANDSHAKE, APPLICATION_DATA = 21, 22, 23
KEY_UPDATE = b"\x18\x00\x00\x01\x00"
"""Without asking the other end for the same."""


def _expand(secret: bytes, label: str, size: int) -> bytes:
    name = b"tls13 " + label.encode()
    info = size.to_bytes(2, "big") + bytes([len(name)]) + name + b"\x00"
    return HKDFExpand(SHA384(), size, info).derive(secret)


def logging_context(context: ssl.SSLContext, log: Path) -> ssl.SSLContext:
    """The context, that writes its secrets to a file; a server says nothing of its own behind the handshake."""
    context.minimum_version = ssl.TLSVersion.TLSv1_3
    if context.protocol is ssl.PROTOCOL_TLS_SERVER:
        context.num_tickets = 0
    context.keylog_filename = str(log)
    return context


class EndRecords:
    """What an end says once it has shaken hands, and has said nothing yet."""

    def __init__(self, log: Path, whose: str = OF_CLIENT) -> None:
        lines = (line.split() for line in log.read_text(encoding="ascii").splitlines())
        (secret,) = (bytes.fromhex(words[2]) for words in lines if words[0] == whose)
        assert len(secret) == HASH_BYTES, f"{CIPHER} was agreed on"
        self._use(secret)

    def _use(self, secret: bytes) -> None:
        self._secret, self._count = secret, 0
        self._cipher = AESGCM(_expand(secret, "key", KEY_BYTES))
        self._nonce = _expand(secret, "iv", NONCE_BYTES)

    def data(self, content: bytes, padding_bytes: int = 0) -> bytes:
        """A record with so much of the conversation, made longer by so many bytes."""
        return self._record(APPLICATION_DATA, content, padding_bytes)

    def alert(self, level: int, description: int) -> bytes:
        """A record that says why nothing comes any more."""
        return self._record(ALERT, bytes([level, description]))

    def key_update(self) -> bytes:
        """A record that says that other keys are used behind it."""
        record = self._record(HANDSHAKE, KEY_UPDATE)
        self._use(_expand(self._secret, "traffic upd", HASH_BYTES))
        return record

    def _record(self, kind: int, content: bytes, padding_bytes: int = 0) -> bytes:
        size = len(content) + 1 + padding_bytes + TAG_BYTES
        start = bytes([APPLICATION_DATA, 3, 3]) + size.to_bytes(2, "big")
        nonce = (int.from_bytes(self._nonce, "big") ^ self._count).to_bytes(NONCE_BYTES, "big")
        self._count += 1
        return start + self._cipher.encrypt(nonce, content + bytes([kind]) + bytes(padding_bytes), start)
