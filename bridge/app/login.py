"""Who the bridge is to the cluster, out of the configuration; passwords and tokens go nowhere else."""

from collections.abc import Mapping
from urllib.parse import urlsplit

from bridge.config.causes import is_host
from bridge.config.configuration import Config
from bridge.config.faults import FaultCode, error_of
from bridge.config.keys import Settings
from bridge.net.own_login import (
    LoginSource,
    PasswordFile,
    SecretUnreadable,
    TokenEndpoint,
    TokenFile,
    check_trust,
    read_secret,
    read_token,
)
from bridge.wire.sasl import Credentials, Mechanism

USERNAME, FILE_KEY, VARIABLE_KEY = (
    "upstream.sasl.username",
    "upstream.sasl.password.path",
    "upstream.sasl.password.variable",
)
TOKEN_KEY, ENDPOINT_KEY = "upstream.sasl.token.path", "upstream.sasl.token.endpoint"
SCOPE_KEY, TRUST_KEY = "upstream.sasl.token.scope", "upstream.sasl.token.trust.path"
PASSWORD = "a file that holds the password"  # noqa: S105 - what is said of one
LOOPBACK = frozenset({"127.0.0.1", "::1", "localhost"})


def read_login(config: Config, environment: Mapping[str, str]) -> LoginSource | None:
    """Who the bridge is to the cluster, None if it does not log in. Raises ConfigError for what is missing, is read by
    nothing, or can't be read now.
    """
    settings = config.settings
    match settings.upstream_sasl_mechanism:
        case "off":
            _refuse_unread(settings, "upstream.sasl.mechanism beside it")
            return None
        case "OAUTHBEARER":
            return _read_bearer(settings, environment)
        case mechanism:
            return _read_password(settings, Mechanism(mechanism), environment)


def _read_password(settings: Settings, mechanism: Mechanism, environment: Mapping[str, str]) -> LoginSource:
    _refuse_unread(settings, "upstream.sasl.mechanism: OAUTHBEARER beside it", but=(USERNAME, FILE_KEY, VARIABLE_KEY))
    if not settings.upstream_sasl_username:
        raise error_of(USERNAME, "nothing is given", "the name to log in with", FaultCode.MISSING)
    username = settings.upstream_sasl_username
    password = _from_environment(settings, environment)
    if password:
        return Credentials(mechanism=mechanism, username=username, password=password)
    return PasswordFile(mechanism, username, _checked_secret(settings))


def _read_bearer(settings: Settings, environment: Mapping[str, str]) -> LoginSource:
    """A token from a file, or from an endpoint."""
    if settings.upstream_sasl_token_path:
        _refuse_unread(settings, f"{TOKEN_KEY} alone", but=(TOKEN_KEY,))
        try:
            read_token(settings.upstream_sasl_token_path)
        except SecretUnreadable as problem:
            raise error_of(TOKEN_KEY, str(problem), "a file that holds one token", FaultCode.WRONG_KIND) from None
        return TokenFile(settings.upstream_sasl_token_path)
    url = settings.upstream_sasl_token_endpoint
    if not url:
        seen = "neither it nor upstream.sasl.token.endpoint is given"
        raise error_of(
            TOKEN_KEY, seen, "a file that holds one token, or an endpoint that gives some", FaultCode.MISSING
        )
    _check_url(url)
    _check_trust(settings.upstream_sasl_token_trust_path, url)
    if not settings.upstream_sasl_username:
        raise error_of(USERNAME, "nothing is given", f"the client id for {ENDPOINT_KEY}", FaultCode.MISSING)
    secret = _from_environment(settings, environment)
    return TokenEndpoint(
        url=url,
        client_id=settings.upstream_sasl_username,
        secret_path="" if secret else _checked_secret(settings),
        secret=secret,
        scope=settings.upstream_sasl_token_scope,
        trust_path=settings.upstream_sasl_token_trust_path,
    )


def _check_url(url: str) -> None:
    try:
        parts = urlsplit(url)
        is_whole = parts.scheme in {"http", "https"} and is_host(parts.hostname or "") and parts.port != 0
        host, is_plain, has_login = parts.hostname or "", parts.scheme == "http", "@" in parts.netloc
    except ValueError:
        is_whole, host, is_plain, has_login = False, "", False, False
    if not is_whole or has_login:
        # The URL is not quoted where it holds a login: its password would stand in the log.
        seen = "a login is in it" if has_login else f"{url!r} is no URL"
        raise error_of(ENDPOINT_KEY, seen, "https://HOST/PATH", FaultCode.WRONG_KIND)
    if is_plain and host not in LOOPBACK:
        seen = f"{url!r} would send the secret as it is"
        raise error_of(ENDPOINT_KEY, seen, "https://HOST/PATH beyond this machine", FaultCode.WRONG_KIND)


def _check_trust(path: str, url: str) -> None:
    """Asked for at the first login only, it would let a bridge begin that never gets in."""
    if path and urlsplit(url).scheme == "http":
        seen = f"{path!r} is given, and nothing reads it"
        raise error_of(TRUST_KEY, seen, f"an https URL in {ENDPOINT_KEY}", FaultCode.CONTRADICTION)
    try:
        check_trust(path)
    except SecretUnreadable as problem:
        raise error_of(TRUST_KEY, str(problem), "a file of certificates as PEM", FaultCode.WRONG_KIND) from None


def _from_environment(settings: Settings, environment: Mapping[str, str]) -> str:
    """The secret that a variable holds; empty where none is named."""
    name = settings.upstream_sasl_password_variable
    if not name:
        return ""
    if settings.upstream_sasl_password_path:
        seen = f"{FILE_KEY} is given, too"
        raise error_of(VARIABLE_KEY, seen, "one place that the password is in", FaultCode.CONTRADICTION)
    secret = environment.get(name, "")
    if not secret:
        seen = f"no variable {name!r} is set"
        raise error_of(VARIABLE_KEY, seen, "the name of a variable that holds the password", FaultCode.MISSING)
    return secret


def _checked_secret(settings: Settings) -> str:
    path = settings.upstream_sasl_password_path
    if not path:
        raise error_of(FILE_KEY, "nothing is given", PASSWORD, FaultCode.MISSING)
    try:
        read_secret(path)
    except SecretUnreadable as problem:
        raise error_of(FILE_KEY, str(problem), PASSWORD, FaultCode.WRONG_KIND) from None
    return path


def _refuse_unread(settings: Settings, allowed: str, but: tuple[str, ...] = ()) -> None:
    """Whoever gives what nothing reads expects something of it."""
    for key, value in (
        (USERNAME, settings.upstream_sasl_username),
        (FILE_KEY, settings.upstream_sasl_password_path),
        (VARIABLE_KEY, settings.upstream_sasl_password_variable),
        (TOKEN_KEY, settings.upstream_sasl_token_path),
        (ENDPOINT_KEY, settings.upstream_sasl_token_endpoint),
        (SCOPE_KEY, settings.upstream_sasl_token_scope),
        (TRUST_KEY, settings.upstream_sasl_token_trust_path),
    ):
        if value and key not in but:
            raise error_of(key, f"{value!r} is given, and nothing reads it", allowed, FaultCode.CONTRADICTION)
