"""What a subscription's regular expression matches in a cluster, asked without any bridge running."""

from functools import partial

import trio

from bridge.app.composition import AppError
from bridge.app.settings import proxy_settings
from bridge.config.configuration import Config
from bridge.coordinators.embedded.regular_expressions import Resolution, resolve
from bridge.net.bridge_questions import BridgeQuestions
from bridge.net.cluster import UpstreamCluster
from bridge.ports import BrokerUnreachable, ClusterTopics
from bridge.session.broker_addresses import Advertised, Directory


def resolve_in_cluster(pattern: str, config: Config) -> Resolution:
    """The topics of the cluster at `config`'s bootstrap that a member with this pattern would get, or why none.

    A pattern that can't be read needs no cluster. Raises AppError when no broker answers, and ConfigError.
    """
    readable = resolve(pattern, ())
    if readable.error is not None:
        return readable
    found = trio.run(partial(_fetch_topics, config))
    return resolve(pattern, (topic.name for topic in found.topics))


async def _fetch_topics(config: Config) -> ClusterTopics:
    settings = proxy_settings(config)
    directory = Directory(Advertised(host="", first_port=0, ports={}))
    questions = BridgeQuestions()
    questions.attach(UpstreamCluster(settings, directory, lambda _: False))
    try:
        with trio.fail_after(settings.limits.upstream_wait_max_ms / 1000):
            return await questions.fetch_topics()
    except (BrokerUnreachable, trio.TooSlowError) as problem:
        brokers = ", ".join(map(str, settings.bootstrap))
        raise AppError(
            f"EB-APP-003: the topics could not be asked for at {brokers} ({str(problem) or 'no answer in time'}); "
            "check that a broker or a bridge listens there, and what it wants of clients: TLS and login are those of a "
            "configuration, which --config FILE names"
        ) from problem
