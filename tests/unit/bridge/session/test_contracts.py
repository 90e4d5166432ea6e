"""Access to brokers by client connections that may be gone."""

from bridge.session.contracts import AccessOnUse, BrokerAccess, NoAccess
from tests.support.embedded_world import FakeVia, commit_request
from translators.dialects.ids import NOWHERE, Via


def test_no_access_leads_nowhere() -> None:
    """Whoever asks the broker by it hears that the connection is lost."""
    heard: list[object] = []
    NoAccess().ask(None, commit_request(), heard.append)
    assert (heard, NoAccess().highest_version(11), NoAccess().broker_id) == ([None], None, None)


def test_connection_is_looked_up_when_it_is_used() -> None:
    """It may have gone since the request came."""
    there: dict[Via, BrokerAccess] = {Via(0, 3): FakeVia(connection=3)}
    kept = AccessOnUse(lambda via: there.get(via) or NoAccess(), Via(0, 3))
    assert (kept.connection, kept.broker_id, kept.highest_version(11)) == (3, 1, there[Via(0, 3)].highest_version(11))
    there.clear()
    heard: list[object] = []
    kept.ask(None, commit_request(), heard.append)
    assert heard == [None]
    assert AccessOnUse(lambda _: NoAccess(), NOWHERE).connection == NOWHERE.connection
