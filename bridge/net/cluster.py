"""The cluster behind the bridge: where its brokers are, what they speak, and connections to them with patience."""

import logging
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from functools import partial
from importlib.metadata import version as version_of
from math import inf

import trio

from bridge.log_lines import Line, RateLimitedLog
from bridge.migration.route import Road, Router
from bridge.net.broker_connection import BrokerClosed, Entered, LoginConnection, LoginRefused, connect, exchange, log_in
from bridge.net.clock import now_ms
from bridge.net.cluster_memory import (
    ClusterMemory,
    Entrance,
    Finding,
    after,
    handshake_finding,
    recollect,
    refusal_finding,
)
from bridge.net.own_login import RENEWED_SHARE, NoLogin, OwnLogin, Proof, RenewedLogin
from bridge.net.settings import ProxySettings
from bridge.net.shared import LOG
from bridge.net.strange_answers import explain_end, explain_silence
from bridge.net.tls import broker_context
from bridge.net.transport import SocketTransport, Transport, hear_end
from bridge.ports import BrokerUnreachable
from bridge.session.broker_addresses import BROKERS_MAX, Address, Directory
from bridge.session.client_session import Offered
from bridge.session.remembered_answers import Remembered
from bridge.wire.api_versions import (
    VERSION_ASKED_FIRST,
    ApiVersionsAnswer,
    ClientSoftware,
    api_versions_request,
    offered_features,
    read_api_versions,
    version_to_ask,
)
from bridge.wire.apis import ApiKey
from bridge.wire.endpoints import Addresses, Endpoint, brokers_in, rewrite
from bridge.wire.errors import MalformedFrame
from bridge.wire.frames import FrameBytes, RequestHeader, read_response_header, request_frame
from bridge.wire.proxy_protocol import LOCAL_HEADER
from bridge.wire.sasl import AUTHENTICATE_VERSION, FIRST_WITH_LIFETIME, Mechanism, handshake_request, read_handshake
from bridge.wire.versions import offer, speaks
from translators.dialects.ids import Topic

OWN_CLIENT_ID = "epochbridge"
NOT_ASKED = "it has not been asked yet"
OWN_SOFTWARE = ClientSoftware("epochbridge", version_of("epochbridge"))
METADATA_VERSION = 1
BACKOFF_MAX_S = 1.0
"""The longest pause between two tries to connect, unless the first is set longer (`connect.backoff.ms`)."""
HEADERS_ARE_SENT = "; upstream.proxy-protocol is v2, which proxies before brokers read, and Kafka itself does not"
"""What makes a broker fall silent or hang up at the first byte."""
NAMES_ASKED_EVERY_MS = 1_000
"""Whoever comes for a broker that the cluster has not named has it asked again, all of them together so often."""
UNREACHED_MS = 60_000
"""So long it is told of a broker that it could not be reached, since nobody may have tried again."""
UNHEARD_MS = 10_000
"""So long a broker that did not say what it speaks is not asked again where it is known what it spoke."""
SASL_ANSWER_BYTES_MAX = 65_536
VERSIONS_BYTES_MAX = 1_048_576
"""Kafka's own answer has less than 1 kB: 64 MiB of what might be one were read for ten seconds, and nobody served."""
_SIGNS_OF_LIFE = frozenset(
    {
        Finding.ANSWERED_A_STRANGER,
        Finding.LET_US_IN,
        Finding.REFUSED_OUR_LOGIN,
        Finding.TALKED_OF_SASL,
        Finding.FAILED_OUR_LOGIN,
    }
)
"""What only a broker of the cluster can have said."""


@dataclass(slots=True)
class _VersionsQuestion:
    """What one broker speaks, asked for by one client for all who come meanwhile."""

    turn: trio.Lock = field(default_factory=trio.Lock)
    failed_since_ms: float = -inf
    failed_ms: float = -inf
    """When the last one that got no answer began, and when it ended."""


class UpstreamCluster:
    """Knows the brokers as last heard; `listen_for` opens a listener for a node and returns whether it could."""

    login_ends_ms = inf
    """Connections of clients are theirs, and so are the logins there."""
    login_proof: Proof | None = None

    def __init__(
        self,
        settings: ProxySettings,
        directory: Directory,
        listen_for: Callable[[int], bool],
        log: RateLimitedLog | None = None,
    ) -> None:
        self._log = log or RateLimitedLog(LOG)
        self.directory = directory
        self.is_reachable = False
        self.entrance = Entrance.UNKNOWN
        self.tls = None if settings.broker_tls is None else broker_context(settings.broker_tls)
        """For connections from now on; None: without TLS."""
        self._login = OwnLogin(settings.login, self._log, broker_wait_s=settings.connect_timeout_ms / 1000)
        self._is_known_away = False
        self._away_fault = NOT_ASKED
        self._login_fault = ""
        self._settings = settings
        self._listen_for = listen_for
        self._offered: dict[int | None, tuple[int, Offered]] = {}
        self._questions: dict[int | None, _VersionsQuestion] = {}
        self._question_of_names = trio.Lock()
        self._names_asked_ms = -NAMES_ASKED_EVERY_MS
        self._unreached: dict[int, tuple[int, str]] = {}
        self._bootstrap_turn = 0
        self._recollection: ClusterMemory | None = None
        self._recalled_offer: Offered | None = None
        self.has_answered = False
        """Whether a broker was heard in this life."""
        self.has_looked = False
        """Whether it was asked for its brokers, whatever came of it."""
        self._next_look = trio.Event()
        self._doubt = trio.Event()
        self.keep: Callable[[str], None] = lambda _: None
        """Takes what the next life shall know, whenever that may have changed."""
        self.coordinates: Callable[[], bool] = lambda: any(rule.road is Road.EMBEDDED for rule in settings.rules)
        """Whether any group is coordinated here, so that clients are offered what that takes."""
        self.takes_groups: Callable[[], bool] = lambda: any(rule.road is not Road.PASS for rule in settings.rules)
        """Whether any group is not passed on, and so some requests of old clients are said anew."""

    # -------- what an earlier life knew

    def resume(self, text: str, topics: Callable[[], Iterable[Topic]], router: Router) -> None:
        """Begin with what an earlier life knew of the same cluster: until a broker answers in this one, it counts.

        Listeners are opened for the brokers of then, so that clients find them where they were.
        """
        recollection = recollect(text)
        if recollection is None or recollection.bootstrap != self._bootstrap_names():
            return
        self._recollection = recollection
        self.recall(recollection.entrance)
        self._recalled_offer = self._offer(ApiVersionsAnswer(versions=recollection.versions))
        if self.is_open:
            # Where the cluster wants a login, only who has proved to be somebody may hear what topics there are.
            remembered = Remembered(
                addresses=self.directory.ours,
                topics=topics,
                is_ours=lambda group_id: router.road(group_id) is Road.EMBEDDED,
            )
            self._recalled_offer = replace(self._recalled_offer, remembered=remembered)
        self.learn(recollection.brokers)

    def _remember(self) -> None:
        """Let the next life know; without a word of a broker's versions there is nothing to begin with."""
        _, offered = next(iter(self._offered.values()), (0, None))
        if offered is not None:
            versions = offered.broker
        elif self._recollection is not None:
            versions = self._recollection.versions
        else:
            return
        brokers = tuple(Endpoint(node_id, *address) for node_id, address in sorted(self.directory.brokers.items()))
        known = ClusterMemory(
            bootstrap=self._bootstrap_names(), entrance=self.entrance, brokers=brokers, versions=versions
        )
        self.keep(known.text())

    def _bootstrap_names(self) -> tuple[str, ...]:
        return tuple(map(str, self._settings.bootstrap))

    # -------- addresses

    def learn(self, brokers: tuple[Endpoint, ...]) -> None:
        """Take in the brokers of an answer and open the listeners that are missing."""
        if self.directory.is_settled(brokers):
            return
        for node_id in self.directory.learn(brokers):
            self._listen_for(node_id)
        left_out = self.directory.left_out(brokers)
        if left_out:
            told = (
                "EB-NET-072: %d brokers that an answer names are left out, %d are known already; see what answers there"
            )
            self._log.write(now_ms(), 72, Line(logging.ERROR, told, (left_out, BROKERS_MAX)))

    def rewritten(self, api_key: int, version: int, frame: bytes) -> FrameBytes:
        """See `broker_side.Cluster`."""
        return rewrite(api_key, version, frame, self._advertise)

    def _advertise(self, brokers: tuple[Endpoint, ...]) -> Addresses:
        self.learn(brokers)
        return self.directory.ours

    async def names(self, broker_id: int) -> bool:
        """Whether the cluster has such a broker; it is asked again where it has not named it yet."""
        async with self._question_of_names:
            now = now_ms()
            if broker_id not in self.directory.brokers and now - self._names_asked_ms >= NAMES_ASKED_EVERY_MS:
                await self.refresh()
                # Those who waited meanwhile have heard it, too: else each of them waits for a look of its own.
                self._names_asked_ms = now_ms()
        return broker_id in self.directory.brokers

    # -------- connections

    async def connect(self, broker_id: int | None, announcement: bytes = b"") -> Transport | None:
        """A connection to the broker, or to any of the bootstrap list; retried with backoff within the limits.

        `announcement` says in front of it whose it is, where it is a client's; see `broker_side.Cluster`.
        """
        return await self._connect(broker_id, self._settings.limits.upstream_wait_max_ms / 1000, announcement)

    async def _connect(
        self, broker_id: int | None, wait_max_s: float, announcement: bytes = b""
    ) -> SocketTransport | None:
        backoff_s = self._settings.connect_backoff_ms / 1000
        with trio.move_on_after(wait_max_s):
            while True:
                try:
                    return await self._connect_once(broker_id, announcement)
                except BrokerUnreachable as error:
                    self._doubt.set()
                    told = "EB-NET-012: %s; tried again in %.2f s"
                    self._log.write(now_ms(), (12, broker_id), Line(logging.INFO, told, (error, backoff_s)))
                await trio.sleep(backoff_s)
                backoff_s = max(backoff_s, min(BACKOFF_MAX_S, backoff_s * 2))
        return None

    async def _connect_once(self, broker_id: int | None, announcement: bytes) -> SocketTransport:
        try:
            transport = await self._dial(self._address(broker_id), announcement)
        except BrokerUnreachable as error:
            if broker_id is not None:
                self._unreached[broker_id] = now_ms(), str(error)
            raise
        if broker_id is not None:
            self._unreached.pop(broker_id, None)
        return transport

    def unreached(self) -> Iterator[str]:
        """What is to be said of brokers that could not be connected with of late, though the cluster answers: it names
        them by hosts that only they know, as inside containers, and every client is closed at its second step.
        """
        for broker_id, (at_ms, why) in sorted(self._unreached.items()):
            if self.is_reachable and now_ms() - at_ms < UNREACHED_MS and broker_id in self.directory.brokers:
                yield (
                    f"broker {broker_id} can't be reached where the cluster says that it is (advertised.listeners), and"
                    f" whoever asks for it is closed: {why}"
                )

    async def _dial(self, address: Address, announcement: bytes = b"") -> SocketTransport:
        """One attempt; without an announcement it is the bridge that comes."""
        if self._settings.announces_clients and not announcement:
            announcement = LOCAL_HEADER
        return await connect(address, self._settings.connect_timeout_ms / 1000, self.tls, announcement)

    @property
    def can_log_in(self) -> bool:
        """Whether the bridge has credentials of its own."""
        return self._login.source is not None

    async def enter(self, transport: Transport) -> float:
        """Log in on a connection of the bridge's own, if it has a login; gives when that has to be done again.

        Raises BrokerUnreachable.
        """
        return (await self._enter_as(transport, self._login))[0] if self.can_log_in else inf

    async def connect_as(self, login: OwnLogin, broker_id: int | None, announcement: bytes = b"") -> Entered | None:
        """See `subject_logins.EnteredCluster`."""
        transport = await self.connect(broker_id, announcement)
        if transport is None:
            return None
        limit_s = self._settings.connect_timeout_ms / 1000
        try:
            with trio.fail_after(limit_s):
                return Entered(transport, *await self._enter_as(transport, login))
        except trio.TooSlowError:
            transport.close()
            raise BrokerUnreachable(explain_silence(limit_s)) from None
        except BaseException:
            transport.close()
            raise

    async def _enter_as(self, transport: Transport, login: OwnLogin) -> tuple[float, Proof]:
        known = self.offered_nowait(None)
        tells_lifetime = known is not None and speaks(known.broker, ApiKey.SASL_AUTHENTICATE, FIRST_WITH_LIFETIME)
        version = FIRST_WITH_LIFETIME if tells_lifetime else AUTHENTICATE_VERSION
        proof = await login.proof()
        try:
            lifetime_ms = await log_in(LoginConnection(transport, OWN_CLIENT_ID, version), proof)
        except LoginRefused:
            login.forget()
            raise
        return now_ms() + lifetime_ms * RENEWED_SHARE if lifetime_ms else inf, proof

    def renewed_login(self, transport: Transport) -> RenewedLogin:
        """The login at a connection of the bridge's own that is asked on more than once."""
        return RenewedLogin(partial(self.enter, transport))

    def _address(self, broker_id: int | None) -> Address:
        if broker_id is not None:
            return self.directory.brokers[broker_id]
        choices = self._settings.bootstrap
        self._bootstrap_turn += 1
        return choices[(self._bootstrap_turn - 1) % len(choices)]

    # -------- versions

    def offered_nowait(self, broker_id: int | None) -> Offered | None:
        """What the broker speaks, where that is known and fresh; before any has answered, what an earlier life knew."""
        if self._recalled_offer is not None and not self.has_answered:
            return self._recalled_offer
        known = self._offered.get(broker_id)
        if known is None or now_ms() - known[0] > self._settings.versions_max_age_ms:
            return None
        return known[1]

    async def offered(self, broker_id: int | None) -> Offered | None:
        """What the broker speaks; while it is down, what it or any other broker of the cluster spoke.

        Nobody waits for more than two questions, and nobody for one where something is known: a hundred members of
        groups that are coordinated here had each a question of its own to a broker that was frozen, one after the
        other, and the last was answered after eight minutes.
        """
        known = self.offered_nowait(broker_id)
        if known is not None:
            return known
        came_ms, question = now_ms(), self._questions.setdefault(broker_id, _VersionsQuestion())
        _, stale = self._offered.get(broker_id) or next(iter(self._offered.values()), (0, None))
        if stale is not None and (question.turn.locked() or came_ms - question.failed_ms < UNHEARD_MS):
            return stale
        async with question.turn:
            fresh = self.offered_nowait(broker_id)
            if fresh is not None or question.failed_since_ms >= came_ms:
                return fresh or stale
            began_ms = now_ms()
            limits = self._settings.limits
            wait_max_s = (self._settings.connect_timeout_ms if stale else limits.upstream_wait_max_ms) / 1000
            with trio.move_on_after(wait_max_s):
                answer = await self._ask_versions(broker_id, wait_max_s)
                if answer is not None:
                    self._offered[broker_id] = (now_ms(), self._offer(answer))
                    self._remember()
                    return self._offered[broker_id][1]
            question.failed_since_ms, question.failed_ms = began_ms, now_ms()
            return stale

    def _offer(self, answer: ApiVersionsAnswer) -> Offered:
        offered = offer(
            answer.versions,
            rewrites_node_endpoints=self._settings.rewrites_node_endpoints,
            has_embedded_rule=self.coordinates(),
            takes_groups=self.takes_groups(),
        )
        features = offered_features(answer.features, offered)
        return Offered(broker=answer.versions, answer=ApiVersionsAnswer(versions=offered, features=features))

    async def _ask_versions(self, broker_id: int | None, wait_max_s: float) -> ApiVersionsAnswer | None:
        version: int | None = VERSION_ASKED_FIRST
        answer: ApiVersionsAnswer | None = None
        while version is not None:
            transport = await self._connect(broker_id, wait_max_s)
            if transport is None:
                return None
            try:
                answer = await self._ask_version(transport, version)
            except (BrokerUnreachable, MalformedFrame) as error:
                # Brokers of before 0.10.2 close the connection at a version they don't know.
                told = "EB-NET-018: ApiVersions v%d got no readable answer: %s"
                self._log.write(now_ms(), (18, broker_id), Line(logging.INFO, told, (version, error)))
                answer = None
            finally:
                transport.close()
            version = version_to_ask(version, answer)
        return answer

    async def _ask_version(self, transport: SocketTransport, version: int) -> ApiVersionsAnswer:
        request = api_versions_request(version, version, OWN_CLIENT_ID, OWN_SOFTWARE)
        frame = await exchange(transport, request, VERSIONS_BYTES_MAX)
        header = read_response_header(frame, ApiKey.API_VERSIONS, version)
        assert header is not None, "the frame is whole"
        return read_api_versions(version, frame, header.body_offset)

    # -------- its brokers

    @property
    def is_open(self) -> bool:
        """Whether everybody is known to be answered without a login."""
        return self.entrance is Entrance.OPEN

    @property
    def wants_login(self) -> bool:
        """Whether nobody is known to be answered without one."""
        return self.entrance is Entrance.LOGIN

    def recall(self, entrance: Entrance) -> None:
        """Begin with what an earlier run knew, unless this one knows already."""
        if self.entrance is Entrance.UNKNOWN:
            self.entrance = entrance

    async def refresh(self) -> bool:
        """Ask the cluster once for its brokers; False when no broker of the bootstrap list says anything to that."""
        if self._doubt.is_set():
            self._doubt = trio.Event()
        finding, why = await self._look_around()
        is_heard, is_there = finding in _SIGNS_OF_LIFE, finding is Finding.HAD_NO_LOGIN
        if not is_heard and not is_there:
            self._unreachable(why + (HEADERS_ARE_SENT if self._settings.announces_clients else ""))
        elif is_heard and self._is_known_away:
            self._is_known_away = False
            LOG.info("the cluster answers again")
        self.is_reachable = is_heard or is_there
        if is_heard:
            self.has_answered = True
            self._remember()
        self.has_looked = True
        self._next_look.set()
        self._next_look = trio.Event()
        return self.is_reachable

    async def wait_for_doubt(self, most_s: float) -> None:
        """Wait until a broker could not be reached since the cluster was asked last, so long at most.

        As long as nobody comes, nobody could notice: so one connection is held that does nothing else (decision 782).
        """
        with trio.move_on_after(most_s):
            async with trio.open_nursery() as nursery:
                nursery.start_soon(self._hold_on, self._doubt)
                await self._doubt.wait()
                nursery.cancel_scope.cancel()

    async def _hold_on(self, doubt: trio.Event) -> None:
        try:
            transport = await self._dial(self._address(None))
        except BrokerUnreachable:
            doubt.set()
            return
        try:
            await hear_end(transport)
        finally:
            transport.close()
        doubt.set()

    async def next_look(self) -> None:
        """Wait until the cluster has been asked for its brokers once more."""
        await self._next_look.wait()

    def _note(self, finding: Finding) -> None:
        before, self.entrance = self.entrance, after(self.entrance, finding)
        if self.entrance is not before:
            LOG.info("the cluster %s: it %s", "is open" if self.is_open else "wants a login", finding.value)

    async def _look_around(self) -> tuple[Finding, str]:
        """Ask brokers of the bootstrap list until one is there, and what is to be said where none is.

        A broker that is being restarted says nothing of its cluster: with it alone asked, the bridge was not ready, and
        the cluster called away, each time that its turn came.
        """
        finding, faults = Finding.UNREACHABLE, dict[Address, str]()
        for _ in self._settings.bootstrap:
            address = self._address(None)
            finding, why = await self._look(address)
            self._note(finding)
            if finding in _SIGNS_OF_LIFE or finding is Finding.HAD_NO_LOGIN:
                return finding, why
            faults[address] = why
        # All have been asked; whose turn it was is chance, and a fault that is told anew each second is a line each.
        return finding, faults.get(self._settings.bootstrap[0], "") or next(iter(faults.values()), "")

    async def _look(self, address: Address) -> tuple[Finding, str]:
        """Ask one broker of the bootstrap list, and what is to be said where that came to nothing."""
        try:
            transport = await self._dial(address)
        except BrokerUnreachable as error:
            return Finding.UNREACHABLE, str(error)
        try:
            with trio.fail_after(self._settings.connect_timeout_ms / 1000):
                await self.enter(transport)
                frame = await exchange(transport, metadata_request(), self._settings.limits.rewritten_answer_bytes_max)
                brokers = brokers_in(ApiKey.METADATA, METADATA_VERSION, frame)
        except LoginRefused as problem:
            self._note_refusal(str(problem))
            return refusal_finding(problem), str(problem)
        except NoLogin as problem:
            self._note_refusal(str(problem))
            return Finding.HAD_NO_LOGIN, str(problem)
        except BrokerClosed as error:
            finding = Finding.CLOSED if self.can_log_in else await self._ask_for_sasl(address)
            return finding, explain_end(str(error), is_asked_for_login=not self.can_log_in)
        except trio.TooSlowError:
            return Finding.SILENT, explain_silence(self._settings.connect_timeout_ms / 1000)
        except (BrokerUnreachable, MalformedFrame) as error:
            return Finding.UNREADABLE, str(error)
        finally:
            transport.close()
        self._login_fault = ""
        self.learn(brokers)
        if self.can_log_in:
            return Finding.LET_US_IN, ""
        return (Finding.ANSWERED_A_STRANGER if brokers else Finding.NAMED_NO_BROKERS), "Metadata names no brokers"

    async def _ask_for_sasl(self, address: Address) -> Finding:
        """Whether the listener that closed at Metadata wants a login: one that does names its mechanisms when asked.

        That it speaks ApiVersions would prove nothing: whoever closed may be another broker than who speaks now, or the
        one that has just been killed and is back.
        """
        limit_s = self._settings.connect_timeout_ms / 1000
        try:
            with trio.fail_after(limit_s):
                transport = await self._dial(address)
                try:
                    request = handshake_request(Mechanism.PLAIN, OWN_CLIENT_ID)
                    return handshake_finding(read_handshake(await exchange(transport, request, SASL_ANSWER_BYTES_MAX)))
                finally:
                    transport.close()
        except (BrokerUnreachable, MalformedFrame, trio.TooSlowError):
            return Finding.CLOSED

    @property
    def fault(self) -> str:
        """Why the cluster can't be worked with: it is away, or does not let the bridge in; empty where it can."""
        return self._login_fault if self.is_reachable else self._away_fault

    def _note_refusal(self, fault: str) -> None:
        """The cluster is there and the bridge does not get in: news when it begins, and when the reason changes."""
        level = logging.DEBUG if fault == self._login_fault else logging.ERROR
        self._login_fault = fault
        LOG.log(level, "%s", fault)

    def _unreachable(self, why: str) -> None:
        # Asked again every second: the first failure is news, the others are not.
        level = logging.DEBUG if self._is_known_away and why == self._away_fault else logging.WARNING
        self._is_known_away, self._away_fault = True, why
        LOG.log(
            level, "EB-NET-012: the cluster can't be asked for its brokers: %s; check bootstrap and that it runs", why
        )


def metadata_request() -> bytes:
    """Metadata without topics: just the brokers."""
    header = RequestHeader(0, ApiKey.METADATA, METADATA_VERSION, 0, OWN_CLIENT_ID, 0)
    return request_frame(header, (0).to_bytes(4, "big"))
