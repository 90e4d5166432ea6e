"""What an endpoint answers, read with care: it holds a secret or tells why there is none."""

import pytest

from bridge.config.named_files import SECRET_BYTES_MAX
from bridge.net.own_login import Granted, SecretUnreadable, TokenEndpoint
from bridge.net.token_endpoint import LIFE_MAX_S, LIFE_S, ask_endpoint
from bridge.wire.sasl import BearerToken
from tests.support.token_endpoint import endpoint


def at(url: str) -> TokenEndpoint:
    """By a client id."""
    return TokenEndpoint(url=url, client_id="me")


@pytest.mark.parametrize(
    ("told", "life_s"),
    [
        ({"expires_in": 60}, 60.0),
        ({}, LIFE_S),
        ({"expires_in": "x"}, LIFE_S),
        ({"expires_in": "60"}, 60.0),
        ({"expires_in": "-60"}, LIFE_S),
        ({"expires_in": "²"}, LIFE_S),
        ({"expires_in": "9" * 5_000}, LIFE_MAX_S),
        ({"expires_in": 0}, LIFE_S),
        ({"expires_in": float("nan")}, LIFE_S),
        ({"expires_in": 10**400}, LIFE_MAX_S),
    ],
)
async def test_token_comes_with_its_life(told: dict[str, object], life_s: float) -> None:
    """Where the endpoint says nothing of use, a short one is taken."""
    with endpoint([(200, {"access_token": "one", **told})]) as (url, _):
        assert await ask_endpoint(at(url), "s3cret") == Granted(BearerToken("one"), life_s)


@pytest.mark.parametrize(
    ("status", "document", "told"),
    [
        (401, {"error": "invalid_client", "error_description": "no such client"}, "401 (no such client); see upstream"),
        (400, {"error": "invalid_scope"}, "400 (invalid_scope)"),
        (200, {}, "200 (no token)"),
        (200, [1], "200 (no token)"),
        (302, {}, "302 (it leads elsewhere, where no secret is sent); name that place itself in upstream.sasl.token"),
        (
            200,
            b"\n<!DOCTYPE html><title>Log in</title>",
            "200 (a page, HTML or XML, and no JSON); most likely",
        ),
        (403, b"<html>blocked</html>", "403 (a page, HTML or XML, and no JSON)"),
        (401, b"<html>401 Unauthorized</html>", "401 (no token); see upstream.sasl.username"),
        (404, {}, "404 (no token, and no reason); see upstream.sasl.token.endpoint"),
        (503, b"", "503 (no token, and no reason); see upstream.sasl.token.endpoint"),
        (500, {"error": "server_error"}, "500 (server_error)"),
        (200, {"access_token": ""}, "200 (no token)"),
        (200, {"access_token": "a\x01b"}, "200 (no token)"),
        (200, "x" * (SECRET_BYTES_MAX + 1), f"answered more than {SECRET_BYTES_MAX} bytes"),
    ],
)
async def test_endpoint_that_gives_no_token_is_told_in_its_own_words(status: int, document: object, told: str) -> None:
    """Never the secret; and where a redirect leads it is not sent."""
    with endpoint([(status, document)]) as (url, asked):
        with pytest.raises(SecretUnreadable) as found:
            await ask_endpoint(at(url), "s3cret")
        assert len(asked) == 1
    assert told in str(found.value)
    assert "s3cret" not in str(found.value)


@pytest.mark.parametrize("host", ["a..b", "a" * 64])
async def test_host_that_no_resolver_is_asked_for_is_told(host: str) -> None:
    """What the library raises for it is none of its own kinds: it ended the bridge's login, and the bridge with it."""
    with pytest.raises(SecretUnreadable, match=r"can't be asked: .*upstream\.sasl\.token\.endpoint"):
        await ask_endpoint(at(f"http://{host}/"), "s3cret")


async def test_endpoint_that_is_not_there_is_told() -> None:
    """With the keys to look at."""
    with pytest.raises(SecretUnreadable, match=r"http://127\.0\.0\.1:1/ can't be asked: .*upstream\.sasl\.token"):
        await ask_endpoint(at("http://127.0.0.1:1/"), "s3cret")
