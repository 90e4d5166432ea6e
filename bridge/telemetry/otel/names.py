"""Every name of the traces: spans, their attributes and events, each with its meaning.

Names of OpenTelemetry's semantic conventions (1.45, messaging, in development) are used where there
are some; there are none for rebalances, so `kafka.group.*`, `kafka.member.*` and `kafka.rebalance.*` are ours.
"""

from collections.abc import Mapping

SCOPE = "epochbridge.rebalances"
SCHEMA_URL = "https://opentelemetry.io/schemas/1.37.0"

REBALANCE = "group rebalance"
MEMBER = "member reconcile"
JOIN_WAIT = "join wait"
SYNC = "sync"
REVOKE = "revoke"
RELEASE_WAIT = "release wait"
FIRST_FETCH = "first fetch"
FIRST_COMMIT = "first commit"
UNTOUCHED = "members untouched"

SPANS: Mapping[str, str] = {
    REBALANCE: "the root: from the rebalance's beginning to its end",
    MEMBER: "one member that was disturbed, moved, came or went; from the first to the last that happened to it",
    JOIN_WAIT: "from its JoinGroup, or its first heartbeat, to the answer",
    SYNC: "from the answer of its JoinGroup to that of its SyncGroup",
    REVOKE: "from the answer that told it to give something up, or to rejoin, to its acknowledgement",
    RELEASE_WAIT: "part of its target was held by others; links to the spans in which these gave it up",
    FIRST_FETCH: "from an assignment with new partitions to the first Fetch that names the last of them",
    FIRST_COMMIT: "from the first Fetch, or the rebalance's beginning, to the first commit that was answered",
    UNTOUCHED: "all members to which it was nothing but a new epoch, together",
}

SYSTEM = "messaging.system"
GROUP = "messaging.consumer.group.name"
CLIENT = "messaging.client.id"
GROUP_EPOCH = "kafka.group.epoch"
GROUP_ROAD = "kafka.group.road"
REBALANCE_ID = "kafka.rebalance.id"
CAUSE = "kafka.rebalance.cause"
SENTENCE = "kafka.rebalance.explanation"
EVIDENCE = "kafka.rebalance.evidence"
OUTCOME = "kafka.rebalance.outcome"
MOVED = "kafka.rebalance.moved"
FORCED = "kafka.rebalance.forced_minimum"
DISTURBED = "kafka.rebalance.disturbed"
CRITICAL = "kafka.rebalance.critical_member"
WAITED = "kafka.rebalance.waited"
TOOK = "kafka.rebalance.took"
ASSIGNOR = "kafka.rebalance.assignor"
MEMBER_COUNT = "kafka.group.members"
MEMBER_ID = "kafka.member.id"
INSTANCE = "kafka.member.instance_id"
PROTOCOL = "kafka.member.protocol"
MEMBER_EPOCH = "kafka.member.epoch"
GENERATION = "kafka.member.generation"
LIBRARY = "kafka.member.library"
REVOKED = "kafka.rebalance.revoked"
ASSIGNED = "kafka.rebalance.assigned"
STALL = "kafka.member.stall"
DEPARTURE = "kafka.member.departure"
WAITED_FOR = "kafka.rebalance.waited_for"
LINK = "kafka.link"

ATTRIBUTES: Mapping[str, str] = {
    SYSTEM: "always kafka",
    GROUP: "the group",
    CLIENT: "client.id as its requests say",
    GROUP_EPOCH: "group epoch, or generation of a classic group",
    GROUP_ROAD: "who coordinates the group: pass, embedded or upstream",
    REBALANCE_ID: "the rebalance, as in the event log",
    CAUSE: "why it happened, as in the event log",
    SENTENCE: "the cause and who was waited for, in one sentence",
    EVIDENCE: "ids of the events that show the cause",
    OUTCOME: "completed, superseded, emptied, interrupted, or open",
    MOVED: "partitions that have another owner than before",
    FORCED: "partitions that no assignor could have left where they were",
    DISTURBED: "members that stopped what they did though their assignment stayed",
    CRITICAL: "the member that was waited for longest",
    WAITED: "how long, seconds",
    TOOK: "how long the rebalance took until its group was at rest, seconds; the root span covers first fetches, too",
    ASSIGNOR: "assignor that computed the target",
    MEMBER_COUNT: "members of the group; on `members untouched` how many it stands for",
    MEMBER_ID: "the member",
    INSTANCE: "its group.instance.id",
    PROTOCOL: "what its client speaks: classic or consumer",
    MEMBER_EPOCH: "its epoch in the end",
    GENERATION: "the generation its classic client was shown last",
    LIBRARY: "client software name and version",
    REVOKED: "partitions it lost, as topic-index",
    ASSIGNED: "partitions it gained, as topic-index",
    STALL: "how long it stood still, seconds",
    DEPARTURE: "how it went, if it did",
    WAITED_FOR: "ids of the members that were waited for",
    LINK: "on a link: cause, released-by, supersedes or superseded-by",
}

TOLD = "told"
COMMITTED = "committed while revoking"
SPAN_EVENTS: Mapping[str, str] = {
    TOLD: "an answer brought the news",
    COMMITTED: "a commit was answered while the member was giving partitions up",
}

DURATION = "kafka.rebalance.duration"
MEMBER_STALL = "kafka.member.stall.duration"
COUNT = "kafka.rebalance.count"
MOVES = "kafka.rebalance.partitions.moved"
FORCED_MOVES = "kafka.rebalance.partitions.forced"
METRICS: Mapping[str, str] = {
    DURATION: "how long rebalances took, by group",
    MEMBER_STALL: "how long members that a rebalance touched stood still, by group and protocol",
    COUNT: "rebalances by group and cause",
    MOVES: "partitions that got another owner, by group",
    FORCED_MOVES: "partitions that no assignor could have left where they were, by group",
}
