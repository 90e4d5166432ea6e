"""The doctor for the command line: a running bridge is asked, or a cluster is looked at without any bridge running."""

from collections.abc import Iterator, Mapping
from contextlib import closing
from dataclasses import replace
from functools import partial

import trio

from bridge.admin.bridge_option import CannotAsk, TlsFiles, bring_files, bring_token
from bridge.admin.client import NoAnswer, NobodyThere, ask_doctor, parse
from bridge.admin.doctor_page import examination_document
from bridge.app.composition import AppError, fresh_member_id
from bridge.app.examination import ClusterAccess, bridge_facts, examine_cluster
from bridge.app.settings import proxy_settings
from bridge.config.configuration import Config
from bridge.migration.diagnosis import Examined
from bridge.net.bridge_questions import BridgeQuestions
from bridge.net.cluster import UpstreamCluster
from bridge.net.cluster_survey import ClusterSurvey
from bridge.net.listener import CannotListen, listen
from bridge.net.settings import ProxySettings
from bridge.session.broker_addresses import Address, Advertised, Directory

EXAMINATION_TIMEOUT_S = 120.0
NO_FILES = TlsFiles()


def ask_bridge(admin: str, token_path: str = "", files: TlsFiles = NO_FILES) -> Mapping[str, object]:
    """What a running bridge finds, asked with the token of that file, and so in TLS; raises AppError where none
    answers.
    """
    try:
        bring_token(token_path)
        bring_files(files)
        return parse(ask_doctor(admin), admin)
    except (NoAnswer, CannotAsk) as problem:
        away = "; --bootstrap HOST:PORT looks at a cluster without a bridge" if isinstance(problem, NobodyThere) else ""
        raise AppError(f"{problem}{away}") from None


def look_from_here(config: Config) -> Mapping[str, object]:
    """What can be found without a running bridge, for one with this configuration; raises ConfigError and AppError."""
    return examination_document(trio.run(partial(_examine, config)))


async def _examine(config: Config) -> Examined:
    settings = proxy_settings(config)
    directory = Directory(Advertised(host="", first_port=0, ports={}))
    cluster = UpstreamCluster(settings, directory, lambda _: False)
    questions = BridgeQuestions()
    questions.attach(cluster)
    access = ClusterAccess(cluster, ClusterSurvey(cluster), questions, fresh_member_id)
    try:
        with closing(questions), trio.fail_after(EXAMINATION_TIMEOUT_S):
            examined = await examine_cluster(access)
    except trio.TooSlowError:
        raise AppError(
            f"EB-DOCTOR-011: the cluster was not looked at to the end within {EXAMINATION_TIMEOUT_S:.0f} s; a broker"
            " may hang: see which one answers"
        ) from None
    taken = tuple(sorted(_taken_ports(settings, tuple(directory.brokers))))
    return replace(examined, bridge=replace(bridge_facts(config), taken_ports=taken))


def _taken_ports(settings: ProxySettings, node_ids: tuple[int, ...]) -> Iterator[int]:
    """Ports that a bridge would listen at and can't: its own, and one for each broker."""
    own = settings.listen.port
    first = settings.first_broker_port or (own and own + 1)
    theirs = Directory(Advertised(host="", first_port=first, ports=settings.broker_ports))
    with_ports = () if settings.host_pattern is not None else sorted({*node_ids, *settings.broker_ports})
    for port in (own, *map(theirs.port, with_ports)):
        if not port:
            continue
        try:
            listen(Address(settings.listen.host, port)).close()
        except CannotListen:
            yield port
