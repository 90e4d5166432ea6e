"""The tokens of the admin API as files hold them; they go nowhere else, and no fault shows one."""

import logging

from bridge.admin.tokens import TokenPair, Tokens
from bridge.config.faults import ConfigError, error_of
from bridge.config.keys import Settings
from bridge.net.own_login import SecretUnreadable, read_secret

LOG = logging.getLogger("epochbridge.app")
ORDER_KEY, READ_KEY = "admin.token.path", "admin.token.read.path"
CHARACTERS_MIN = 16
ALLOWED = "a file that holds one token"


def read_admin_tokens(settings: Settings) -> Tokens:
    """Both tokens, empty where none is given; raises ConfigError for a file that can't be read or is no good token."""
    order, read = _read(ORDER_KEY, settings.admin_token_path), _read(READ_KEY, settings.admin_token_read_path)
    if order and order == read:
        hint = "whoever may read could give orders: write another token into one of the files"
        raise _refuse(READ_KEY, f"{settings.admin_token_read_path} holds the token of {ORDER_KEY}", hint)
    return Tokens(TokenPair(order=order, read=read))


def renew_admin_tokens(settings: Settings, tokens: Tokens) -> str:
    """Have what the files hold by now count at once; gives a sentence where that is something else, or
    can't be used and changes nothing, which is told in the log, too.
    """
    try:
        found = read_admin_tokens(settings)
    except ConfigError as problem:
        return _tell_unusable("; ".join(map(str, problem.faults)))
    if found.pair == tokens.pair:
        return ""
    tokens.pair = found.pair
    return "admin.token: the files hold other tokens, which count from now on"


def _tell_unusable(faults: str) -> str:
    LOG.error(
        "EB-APP-008: a token of the admin API can't be read again, those of before count on: %s; mend the file, then "
        "run epochbridge reload",
        faults,
    )
    return f"admin.token: the tokens of before count on: {faults}"


def _read(key: str, path: str) -> bytes:
    if not path:
        return b""
    try:
        token = read_secret(path).strip()
    except SecretUnreadable as problem:
        raise _refuse(key, str(problem), "check the path, and that this user may read it") from None
    if len(token) < CHARACTERS_MIN or not token.isascii() or not token.isprintable() or " " in token:
        seen = f"what {path} holds is too short for a token, or more than one word of ASCII"
        raise _refuse(key, seen, f"write {CHARACTERS_MIN} characters or more: openssl rand -hex 32 > {path}")
    return token.encode()


def _refuse(key: str, seen: str, hint: str) -> ConfigError:
    return error_of(key, seen, ALLOWED, hint=hint)
