"""Asks an endpoint for a token by client credentials (OAuth 2.0, RFC 6749 section 4.4).

It is loaded only where there is one. Neither the secret nor the token is ever shown.
"""

import ssl
from collections.abc import Mapping

import httpx
import trio

from bridge.config.named_files import SECRET_BYTES_MAX
from bridge.net.own_login import Granted, SecretUnreadable, TokenEndpoint, is_token
from bridge.wire.sasl import BearerToken

TIMEOUT_S = 10.0
LIFE_S = 300.0
"""Of a token whose endpoint does not say how long it lasts."""
LIFE_MAX_S = 31_536_000.0
"""A year; what is said to last longer is asked for anew by then."""
WORDS_CHARS_MAX = 200
_NOT_HERE = frozenset((httpx.codes.NOT_FOUND, httpx.codes.METHOD_NOT_ALLOWED))


async def ask_endpoint(endpoint: TokenEndpoint, secret: str, threads: trio.CapacityLimiter | None = None) -> Granted:
    """Ask once; raises SecretUnreadable with the endpoint's own word where it gave one."""
    answer = await trio.to_thread.run_sync(_post, endpoint, secret, abandon_on_cancel=True, limiter=threads)
    document = _document(answer)
    token = document.get("access_token")
    if answer.status_code != httpx.codes.OK or not isinstance(token, str) or not is_token(token):
        raise SecretUnreadable(f"{endpoint.url} answered {answer.status_code} {_why_no_token(answer, document)}")
    return Granted(BearerToken(token), _life_s(document.get("expires_in")))


def _why_no_token(answer: httpx.Response, document: Mapping[str, object]) -> str:
    """What else it answered, and what to look at for that: a page for people says nothing of who asked for a token."""
    word = document.get("error_description") or document.get("error")
    if not word and answer.is_redirect:
        return "(it leads elsewhere, where no secret is sent); name that place itself in upstream.sasl.token.endpoint"
    if not word and answer.content.lstrip().startswith(b"<") and answer.status_code != httpx.codes.UNAUTHORIZED:
        return (
            "(a page, HTML or XML, and no JSON); most likely it is no token endpoint, or a proxy in front of one: see "
            "upstream.sasl.token.endpoint"
        )
    if not word and (answer.is_server_error or answer.status_code in _NOT_HERE):
        return "(no token, and no reason); see upstream.sasl.token.endpoint, and the log of what listens there"
    return (
        f"({word or 'no token'!s:.{WORDS_CHARS_MAX}}); see upstream.sasl.username, "
        "its secret in the file of upstream.sasl.password.path, and upstream.sasl.token.scope"
    )


def _life_s(told: object) -> float:
    """How long a token lasts by what its endpoint says, which some write as a text."""
    if isinstance(told, str) and told.isascii() and told.isdigit():
        told = float(told)
    # Cut to the limit before it becomes a float: JSON may hold an integer that is too large for one.
    return float(min(told, LIFE_MAX_S)) if isinstance(told, int | float) and told > 1 else LIFE_S


def _post(endpoint: TokenEndpoint, secret: str) -> httpx.Response:
    form = {"grant_type": "client_credentials"} | ({"scope": endpoint.scope} if endpoint.scope else {})
    try:
        context = ssl.create_default_context(cafile=endpoint.trust_path or None)
        # Redirects are not followed: the secret is for this place alone.
        with (
            httpx.Client(verify=context, timeout=TIMEOUT_S, trust_env=False) as client,
            client.stream("POST", endpoint.url, data=form, auth=(endpoint.client_id, secret)) as answer,
        ):
            data = b""
            for chunk in answer.iter_bytes():
                data += chunk
                if len(data) > SECRET_BYTES_MAX:
                    raise SecretUnreadable(f"{endpoint.url} answered more than {SECRET_BYTES_MAX} bytes")
            return httpx.Response(answer.status_code, content=data)
    except (httpx.HTTPError, httpx.InvalidURL, OSError, UnicodeError) as problem:
        # UnicodeError for a host that no resolver is asked for: two dots in a row, a word of more than 63 signs.
        why = str(problem) or type(problem).__name__
        raise SecretUnreadable(
            f"{endpoint.url} can't be asked: {why:.{WORDS_CHARS_MAX}}; see upstream.sasl.token.endpoint and "
            "upstream.sasl.token.trust.path"
        ) from None


def _document(answer: httpx.Response) -> Mapping[str, object]:
    try:
        document: object = answer.json()
    except (ValueError, RecursionError):
        document = None
    return document if isinstance(document, dict) else {}
