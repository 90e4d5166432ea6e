"""Which suites there are: each is a value that says where it is had, what of it runs, and what it is told.

It must not know how one is built, run or read.
"""

from collections.abc import Mapping
from dataclasses import replace

from tests.suites.crate import Crate
from tests.suites.go_suite import GoSuite
from tests.suites.librdkafka_suite import LibrdkafkaSuite
from tests.suites.outcome import Suite
from tests.suites.rust_suite import RustSuite

FRANZ_GO = GoSuite(
    module="github.com/twmb/franz-go",
    version="v1.22.2",
    package="pkg/kgo",
    variables={
        "KGO_SEEDS": "{address}",
        "KGO_TEST_RF": "1",
        "KGO_TEST_RECORDS": "50000",
        "KGO_LOG_LEVEL": "none",
    },
)
COMPOSE = "github.com/testcontainers/testcontainers-go/modules/compose"
NO_CONTAINERS = f"""// Package compose stands in for one whose containers are not asked for: brokers are there already.
package compose

type LocalDockerCompose struct{{}}

func NewLocalDockerCompose([]string, string) *LocalDockerCompose {{ return &LocalDockerCompose{{}} }}

func (made *LocalDockerCompose) WithCommand([]string) *LocalDockerCompose {{ return made }}

func (made *LocalDockerCompose) Invoke() struct{{ Error error }} {{ panic("{COMPOSE} is not here") }}

func (made *LocalDockerCompose) Down() {{}}
"""
CONFLUENT_KAFKA_GO = GoSuite(
    module="github.com/confluentinc/confluent-kafka-go/v2",
    version="v2.11.1",
    package="kafka",
    variables={"SUITE_BROKERS": "{address}"},
    tests="^TestIntegration$",
    files={
        "kafka/testconf.json": '{"Brokers": "$SUITE_BROKERS", "TopicName": "test", "GroupID": "testgroup"}',
        "no_containers/go.mod": f"module {COMPOSE}\n\ngo 1.21\n",
        "no_containers/compose.go": NO_CONTAINERS,
    },
    stand_ins={COMPOSE: "./no_containers"},
)
"""librdkafka comes with it, built. Its containers would be Docker's whole Compose, to be built first. Two more tests of
transactions name their topics alike within a second, and fail direct as often as here.
"""
KAFKA_GO = GoSuite(
    module="github.com/segmentio/kafka-go",
    version="v0.4.51",
    package=".",
    variables={"SUITE_BROKERS": "{address}", "KAFKA_VERSION": "3.9.0"},
    files={"suite_brokers_test.go": 'package kafka\n\nimport "os"\n\nvar suiteBrokers = os.Getenv("SUITE_BROKERS")\n'},
    edits={
        'const (\n\t\ttcp   = "tcp"\n\t\tkafka = ': 'var (\n\t\ttcp   = "tcp"\n\t\tkafka = ',
        "const broker = ": "var broker = ",
        '"localhost:9092"': "suiteBrokers",
        'TCP("localhost")': "TCP(suiteBrokers)",
        'Dial("tcp", "127.0.0.1:9092")': 'Dial("tcp", suiteBrokers)',
    },
    tests="Group|Reader|Generation|Rebalance|Commit|ClientHeartbeat|ClientOffset",
)
"""Its tests know one address. The version is the newest that they know of."""
SARAMA = GoSuite(
    module="github.com/IBM/sarama",
    version="v1.61.1",
    package=".",
    tags="functional",
    variables={
        "SUITE_BROKERS": "{address}",
        "KAFKA_VERSION": "{version}",
        "TOXIPROXY_ADDR": "http://127.0.0.1:1",
    },
    edits={
        "ReplicationFactor: 3,": "ReplicationFactor: 1,",
        "env.KafkaBrokerAddrs = nil\n\tfor i := 1; i <= 5;": (
            'env.KafkaBrokerAddrs = []string{os.Getenv("SUITE_BROKERS")}\n\tfor i := 1; i <= 0;'
        ),
        "err := FunctionalTestEnv.ToxiproxyClient.ResetState()": "err := error(nil)",
    },
    tests="^Test(Func|ConsumerHigh|ConsumerPartial|ConsumerGroup|VersionMatrix|ReadOnly|Interceptors)",
    left_out=(
        "BrokerFailure|ConnectionFailure|NetworkError|ElectLeaders|Reassignments|ListConsumerGroupOffsets$|"
        "IdempotentBuffered|AdminQuotas"
    ),
)
"""Its five brokers and the toxiproxy before each are one broker here and nothing: tests that stop a broker, cut a
connection or want several are left out.
"""
AUTHORIZER: Mapping[str, str] = {
    "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
    "super.users": "User:ANONYMOUS",
}
"""For tests of ACLs; it forbids nobody anything."""
LIBRDKAFKA = LibrdkafkaSuite(
    crate=Crate("rdkafka-sys", "4.10.0+2.12.1"),
    left_out={
        "0038": "measures",
        "0101": "wants brokers in racks",
    },
    variables={"TEST_KAFKA_VERSION": "{version}", "BROKERS": "{address}"},
    broker={"num.partitions": "4", **AUTHORIZER},
)
RDKAFKA = RustSuite(
    crate=Crate("rdkafka", "0.39.0"),
    variables={"KAFKA_HOST": "{address}", "KAFKA_VERSION": "{version}", "RUST_LOG": "off"},
    broker={"num.partitions": "3"},
)
"""Its tests know their broker as 0 at port 9092: `test_metadata` and `test_configs` fail for that. What it
logs would break the lines that say how a test ended.
"""
SUITES: Mapping[str, Suite] = {
    "franz-go": FRANZ_GO,
    "kafka-go": KAFKA_GO,
    "sarama": SARAMA,
    "rdkafka": RDKAFKA,
    "librdkafka": LIBRDKAFKA,
    "librdkafka, KIP-848": replace(
        LIBRDKAFKA, variables={**LIBRDKAFKA.variables, "TEST_CONSUMER_GROUP_PROTOCOL": "consumer"}
    ),
    "confluent-kafka-go": CONFLUENT_KAFKA_GO,
    "confluent-kafka-go, KIP-848": replace(
        CONFLUENT_KAFKA_GO,
        variables={**CONFLUENT_KAFKA_GO.variables, "TEST_CONSUMER_GROUP_PROTOCOL": "consumer"},
    ),
}
