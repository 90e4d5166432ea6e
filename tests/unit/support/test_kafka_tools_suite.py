"""What Kafka's programs say of two sides is the same where only names, ids, addresses and times differ."""

from tests.suites.kafka_tools import Side
from tests.support.java_tools import Said

DIRECT, HERE = Side("127.0.0.1:9092", "direct-"), Side("127.0.0.1:9192", "pass-")
MEMBERS = """\
GROUP          CONSUMER-ID                                        HOST            CLIENT-ID
{0}classic {1}  /127.0.0.1      consumer-{0}classic-1
"""


def test_sides_say_the_same_with_other_names_ids_and_addresses() -> None:
    """A classic client's id is its client id and a UUID; by the new protocol it is a UUID alone, in letters."""
    words = "--describe --group @classic --members"
    told = []
    for side, member in ((DIRECT, "consumer-direct-classic-1-{}"), (HERE, "{}")):
        member_id = member.format("f2a2da7a-51a6-4bd6-9d0a-1c1f4b1a3a55"[: 36 if side is DIRECT else 22])
        told.append(side.plain(side.groups(words), Said(0, MEMBERS.format(side.prefix, member_id))))
    assert told[0] == told[1]
    assert told[0][1][0] == "$classic <id> /127.0.0.1 consumer-$classic-1"


def test_another_status_or_another_word_is_a_difference() -> None:
    """Else all would be alike."""
    command = DIRECT.groups("--delete --group @classic")
    said = DIRECT.plain(command, Said(0, "Deletion of requested consumer groups ('direct-classic') was successful."))
    assert DIRECT.plain(command, Said(1, "Deletion of some consumer groups failed")) != said
    assert (
        HERE.plain(command, Said(0, "Deletion of requested consumer groups ('pass-classic') was successful.")) == said
    )


def test_lists_show_the_groups_of_one_side_only() -> None:
    """All roads are tried at one broker."""
    command = HERE.groups("--list --type")
    listed = "GROUP TYPE\ndirect-classic Classic\npass-classic Classic\n"
    assert HERE.plain(command, Said(0, listed)) == (0, ["$classic Classic"])


def test_events_of_consumers_are_told_without_their_time_and_with_partitions_in_order() -> None:
    """Which partition is fetched first is chance."""
    command = DIRECT.work("VerifiableConsumer --topic @classic --group-id @classic")
    event = '{{"timestamp":{},"name":"records_consumed","count":2,"partitions":[{}]}}'
    parts = ['{"topic":"direct-classic","partition":0}', '{"topic":"direct-classic","partition":1}']
    first, second = event.format(17, ",".join(parts)), event.format(18, ",".join(reversed(parts)))
    assert DIRECT.plain(command, Said(0, first)) == DIRECT.plain(command, Said(0, second))


def test_the_copier_says_where_brokers_are_by_another_word() -> None:
    """TransactionalMessageCopier is as old as that."""
    assert HERE.work("TransactionalMessageCopier --input-topic @classic")[1:] == [
        *("--broker-list", HERE.bootstrap, "--input-topic", "pass-classic")
    ]
