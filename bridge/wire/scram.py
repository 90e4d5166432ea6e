"""The three messages of SCRAM (RFC 5802, KIP-84): what proves a password to a broker, and the broker to us."""

import binascii
import hashlib
import hmac
from dataclasses import dataclass, field

from bridge.wire.sasl import Credentials, Mechanism

HASHES = {Mechanism.SCRAM_SHA_256: "sha256", Mechanism.SCRAM_SHA_512: "sha512"}
ITERATIONS_MIN, ITERATIONS_MAX = 4_096, 1_000_000
"""Fewer are no proof (RFC 5802; Kafka's own least); more would keep the bridge busy for seconds."""
_GS2 = "n,,"


class ScramFailed(Exception):
    """A broker's message that can't be read, or that proves nothing; the text holds no secret."""


@dataclass(frozen=True, slots=True)
class Proof:
    """The client's last message, and the signature by which the broker shows that it knows the password too."""

    message: bytes = field(repr=False)
    server_signature: bytes = field(repr=False)


def first_message(credentials: Credentials, nonce: str) -> bytes:
    """Who we are, and our nonce."""
    return (_GS2 + _bare(credentials, nonce)).encode()


def prove(credentials: Credentials, nonce: str, server_first: bytes) -> Proof:
    """Answer the broker's salt and count of iterations. Raises ScramFailed."""
    fields = _fields(server_first)
    whole_nonce, salt, iterations = fields.get("r", ""), _decode(fields.get("s", "")), _count(fields.get("i", ""))
    if not whole_nonce.startswith(nonce) or whole_nonce == nonce:
        raise ScramFailed("the broker's nonce does not go on from ours")
    hash_name = HASHES[credentials.mechanism]
    without_proof = f"c={_encode(_GS2.encode())},r={whole_nonce}"
    spoken = ",".join((_bare(credentials, nonce), server_first.decode(), without_proof)).encode()
    salted = hashlib.pbkdf2_hmac(hash_name, credentials.password.encode(), salt, iterations)
    client_key = hmac.digest(salted, b"Client Key", hash_name)
    signature = hmac.digest(hashlib.new(hash_name, client_key).digest(), spoken, hash_name)
    proof = bytes(one ^ other for one, other in zip(client_key, signature, strict=True))
    server_key = hmac.digest(salted, b"Server Key", hash_name)
    return Proof(f"{without_proof},p={_encode(proof)}".encode(), hmac.digest(server_key, spoken, hash_name))


def check_server(server_final: bytes, proof: Proof) -> None:
    """See whether the broker knows the password. Raises ScramFailed."""
    fields = _fields(server_final)
    if "e" in fields:
        raise ScramFailed(f"the broker ended it with {fields['e']!r}")
    if not hmac.compare_digest(_decode(fields.get("v", "")), proof.server_signature):
        raise ScramFailed("the broker does not know the password: something else may stand in its place")


def _bare(credentials: Credentials, nonce: str) -> str:
    name = credentials.username.replace("=", "=3D").replace(",", "=2C")
    return f"n={name},r={nonce}"


def _fields(message: bytes) -> dict[str, str]:
    try:
        parts = message.decode().split(",")
    except UnicodeDecodeError as problem:
        raise ScramFailed("the broker's message is no text") from problem
    return {part[:1]: part[2:] for part in parts if part[1:2] == "="}


def _count(text: str) -> int:
    count = int(text) if text.isascii() and text.isdecimal() and len(text) < 10 else 0
    if not ITERATIONS_MIN <= count <= ITERATIONS_MAX:
        raise ScramFailed(f"{text[:20]!r} iterations, {ITERATIONS_MIN} to {ITERATIONS_MAX} are made")
    return count


def _encode(data: bytes) -> str:
    return binascii.b2a_base64(data, newline=False).decode()


def _decode(text: str) -> bytes:
    try:
        return binascii.a2b_base64(text, strict_mode=True)
    except (binascii.Error, ValueError) as problem:
        raise ScramFailed("the broker's message is not base64 where it has to be") from problem
