"""SCRAM (RFC 5802, KIP-84) on both sides: the messages that prove a password, and the keys that are kept for one."""

import binascii
import hashlib
import hmac
import re
from dataclasses import dataclass, field

from bridge.wire.sasl import Credentials, Mechanism

# -------------------------------------------------------------------------------------------- scram
# The three messages of SCRAM (RFC 5802, KIP-84): what proves a password to a broker, and the broker to us.

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
    whole_nonce, salt, iterations = (
        fields.get("r", ""),
        _decode_broker_text(fields.get("s", "")),
        _count(fields.get("i", "")),
    )
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
    if not hmac.compare_digest(_decode_broker_text(fields.get("v", "")), proof.server_signature):
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


def _decode_broker_text(text: str) -> bytes:
    try:
        return binascii.a2b_base64(text, strict_mode=True)
    except (binascii.Error, ValueError) as problem:
        raise ScramFailed("the broker's message is not base64 where it has to be") from problem


# ------------------------------------------------------------------------------------- scram server
# SCRAM as a broker speaks it (RFC 5802, KIP-84): keys that are kept for a password, and what is said by them.

SALT_BYTES_MIN = 8
_FIRST = re.compile(
    r"(?P<gs2>[ny],(?:a=(?P<authorization>[^,]*))?,)(?P<bare>n=(?P<name>[^,]+),r=(?P<nonce>[!-+\--~]+)(?:,.*)?)"
)
_FINAL = re.compile(r"(?P<unproven>c=(?P<binding>[^,]+),r=(?P<nonce>[^,]+)(?:,[^p].*)?),p=(?P<proof>[^,]+)")
_KEYS = re.compile(
    r"(?P<mechanism>SCRAM-SHA-(?:256|512))\$(?P<count>\d{1,7}):(?P<salt>[^$]+)\$(?P<stored>[^:]+):(?P<server>.+)"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class ScramKeys:
    """What shows that somebody knows a password, from which nobody learns it; never shown all the same."""

    mechanism: Mechanism
    iterations: int
    salt: bytes = field(repr=False)
    stored_key: bytes = field(repr=False)
    server_key: bytes = field(repr=False)


@dataclass(frozen=True, slots=True)
class ClientFirst:
    """What a client says first: who it is, whom it asks to be (empty: nobody else), and its nonce."""

    username: str
    authorization: str
    nonce: str
    gs2: str = field(repr=False)
    bare: str = field(repr=False)


def make_keys(mechanism: Mechanism, password: str, salt: bytes, iterations: int) -> ScramKeys:
    """The keys of a password; takes milliseconds on purpose."""
    hash_name = HASHES[mechanism]
    salted = hashlib.pbkdf2_hmac(hash_name, password.encode(), salt, iterations)
    client_key = hmac.digest(salted, b"Client Key", hash_name)
    return ScramKeys(
        mechanism=mechanism,
        iterations=iterations,
        salt=salt,
        stored_key=hashlib.new(hash_name, client_key).digest(),
        server_key=hmac.digest(salted, b"Server Key", hash_name),
    )


def is_password(keys: ScramKeys, password: str) -> bool:
    """Whether the keys are this password's; as slow as making them."""
    made = make_keys(keys.mechanism, password, keys.salt, keys.iterations)
    return hmac.compare_digest(made.stored_key, keys.stored_key)


def keys_text(keys: ScramKeys) -> str:
    """The keys in one word, as PostgreSQL keeps them."""
    parts = keys.mechanism, keys.iterations, *map(_encode, (keys.salt, keys.stored_key, keys.server_key))
    return "{}${}:{}${}:{}".format(*parts)


def read_keys(text: str) -> ScramKeys | None:
    """The keys of such a word; None for any other."""
    found = _KEYS.fullmatch(text)
    if found is None or not ITERATIONS_MIN <= int(found["count"]) <= ITERATIONS_MAX:
        return None
    mechanism = Mechanism(found["mechanism"])
    size = hashlib.new(HASHES[mechanism]).digest_size
    try:
        salt, stored, server = (_decode_client_text(found[name]) for name in ("salt", "stored", "server"))
    except ScramFailed:
        return None
    if len(salt) < SALT_BYTES_MIN or len(stored) != size or len(server) != size:
        return None
    return ScramKeys(
        mechanism=mechanism, iterations=int(found["count"]), salt=salt, stored_key=stored, server_key=server
    )


def read_first(token: bytes) -> ClientFirst:
    """What a client says first. Raises ScramFailed."""
    found = _FIRST.fullmatch(_text(token))
    if found is None:
        raise ScramFailed("the client's first message is none of SCRAM without channel binding")
    name = found["name"].replace("=2C", ",").replace("=3D", "=")
    authorization = (found["authorization"] or "").replace("=2C", ",").replace("=3D", "=")
    return ClientFirst(name, authorization, found["nonce"], found["gs2"], found["bare"])


def challenge(keys: ScramKeys, first: ClientFirst, nonce: str) -> bytes:
    """The answer to it, with a nonce that nobody has had."""
    return f"r={first.nonce}{nonce},s={_encode(keys.salt)},i={keys.iterations}".encode()


def judge_final(keys: ScramKeys, first: ClientFirst, challenged: bytes, token: bytes) -> bytes:
    """What to say to a client that proves that it knows the password. Raises ScramFailed for one that does not."""
    found = _FINAL.fullmatch(_text(token))
    if found is None:
        raise ScramFailed("the client's final message is none of SCRAM")
    nonce = challenged.decode().partition(",")[0].removeprefix("r=")
    if found["nonce"] != nonce or _decode_client_text(found["binding"]) != first.gs2.encode():
        raise ScramFailed("the client's final message does not go on from its first")
    hash_name = HASHES[keys.mechanism]
    spoken = ",".join((first.bare, challenged.decode(), found["unproven"])).encode()
    signature, proof = hmac.digest(keys.stored_key, spoken, hash_name), _decode_client_text(found["proof"])
    if len(proof) != len(signature):
        raise ScramFailed("the client's proof has another length")
    client_key = bytes(one ^ other for one, other in zip(proof, signature, strict=True))
    if not hmac.compare_digest(hashlib.new(hash_name, client_key).digest(), keys.stored_key):
        raise ScramFailed("the client does not know the password")
    return f"v={_encode(hmac.digest(keys.server_key, spoken, hash_name))}".encode()


def _text(token: bytes) -> str:
    try:
        return token.decode()
    except UnicodeDecodeError:
        raise ScramFailed("the client's message is no text") from None


def _decode_client_text(text: str) -> bytes:
    try:
        return binascii.a2b_base64(text, strict_mode=True)
    except (binascii.Error, ValueError):
        raise ScramFailed("what has to be base64 is not") from None
