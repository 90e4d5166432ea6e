"""The bridge's own credentials, with the password from its file.

It must not know connections; the password goes nowhere but into the credentials.
"""

from pathlib import Path

from bridge.config.configuration import Config
from bridge.config.faults import ConfigError, Fault, FaultCode
from bridge.wire.sasl import Credentials, Mechanism

OFF = "off"
FILE_KEY = "upstream.sasl.password.path"


def read_credentials(config: Config) -> Credentials | None:
    """Who the bridge is to the cluster, None if it does not log in.

    Raises ConfigError for a mechanism without a name or a password that can be read.
    """
    settings = config.settings
    if settings.upstream_sasl_mechanism == OFF:
        return None
    if not settings.upstream_sasl_username:
        raise _fault("upstream.sasl.username", "nothing is given", "the name to log in with", FaultCode.MISSING)
    return Credentials(
        mechanism=Mechanism(settings.upstream_sasl_mechanism),
        username=settings.upstream_sasl_username,
        password=_read_password(settings.upstream_sasl_password_path),
    )


def _read_password(path: str) -> str:
    allowed = "a file that holds the password"
    if not path:
        raise _fault(FILE_KEY, "nothing is given", allowed, FaultCode.MISSING)
    try:
        password = Path(path).read_text(encoding="utf-8").removesuffix("\n").removesuffix("\r")
    except (OSError, UnicodeDecodeError) as problem:
        # A decoding error would quote the password.
        why = problem.strerror if isinstance(problem, OSError) else "it is no UTF-8"
        raise _fault(FILE_KEY, f"{path} can't be read: {why}", allowed, FaultCode.WRONG_KIND) from None
    if not password:
        raise _fault(FILE_KEY, f"{path} is empty", allowed, FaultCode.WRONG_KIND)
    return password


def _fault(key: str, seen: str, allowed: str, code: FaultCode) -> ConfigError:
    return ConfigError([Fault(code=code, source="configuration", key=key, seen=seen, allowed=allowed)])
