// A kafkajs consumer as a member process: eager, classic only, no static membership. It must not know the fleet.
// kafkajs has no rebalance callbacks; its instrumentation events stand for them: REBALANCING comes right before it
// rejoins, GROUP_JOIN when it has its assignment.
import { readFileSync } from "node:fs";
import { parseArgs } from "node:util";
import kafkajs from "kafkajs";

const { values: options } = parseArgs({
  options: {
    bootstrap: { type: "string" },
    group: { type: "string" },
    topic: { type: "string", multiple: true },
    name: { type: "string" },
    "client-id": { type: "string" },
    "instance-id": { type: "string" },
    assignor: { type: "string", default: "roundrobin" },
    protocol: { type: "string", default: "classic" },
    "session-timeout-ms": { type: "string", default: "30000" },
    "heartbeat-interval-ms": { type: "string", default: "3000" },
    "auto-offset-reset": { type: "string", default: "earliest" },
    "metadata-max-age-ms": { type: "string", default: "5000" },
    "library-version": { type: "string", default: "" },
  },
});

if (options.protocol !== "classic" || options.assignor !== "roundrobin" || options["instance-id"] !== undefined) {
  process.stderr.write("kafkajs speaks the classic protocol with roundrobin and dynamic members only.\n");
  process.exit(2);
}

const EAGER = { mode: "eager" };
const parent = process.ppid;
let owned = [];
let stopping = false;

// hrtime is CLOCK_MONOTONIC; its nanoseconds are safe integers for the first 104 days after boot, then rounded a little.
function write(event, fields = {}) {
  const line = { event, at_ns: Number(process.hrtime.bigint()), ...fields };
  process.stdout.write(`${JSON.stringify(line)}\n`);
}

function assigned({ payload }) {
  owned = Object.entries(payload.memberAssignment).flatMap(([topic, indexes]) => indexes.map((index) => [topic, index]));
  write("assigned", { partitions: owned, ...EAGER });
}

function revoked() {
  write("revoked", { partitions: owned, ...EAGER });
  owned = [];
}

function consumed(topic, partition, offsets) {
  let first = offsets[0];
  offsets.forEach((offset, position) => {
    if (offsets[position + 1] !== offset + 1) {
      write("consumed", { partition: [topic, partition], first, last: offset, count: offset - first + 1 });
      first = offsets[position + 1];
    }
  });
}

async function eachBatch({ batch, resolveOffset, heartbeat, isRunning, isStale }) {
  if (stopping || !isRunning() || isStale() || batch.messages.length === 0) return;
  const offsets = batch.messages.map((message) => Number(message.offset));
  const next = offsets.at(-1) + 1;
  consumed(batch.topic, batch.partition, offsets);
  resolveOffset(String(next - 1));
  try {
    await consumer.commitOffsets([{ topic: batch.topic, partition: batch.partition, offset: String(next) }]);
    write("committed", { offsets: [[batch.topic, batch.partition, next]] });
  } catch (error) {
    write("failed", { reason: `commit refused: ${error}` });
    throw error;
  }
  await heartbeat();
}

async function stop() {
  if (stopping) return;
  stopping = true;
  revoked();
  await consumer.disconnect();
  write("ended");
  process.exit(0);
}

// By the environment and not by options, which every user of a machine may read.
const { MEMBER_TLS_TRUST: trust, MEMBER_SASL_USERNAME: username, MEMBER_SASL_PASSWORD: password } = process.env;
const client = new kafkajs.Kafka({
  clientId: options["client-id"] ?? options.name,
  brokers: options.bootstrap.split(","),
  ...(trust && { ssl: { ca: [readFileSync(trust, "utf8")] } }),
  ...(username && { sasl: { mechanism: "scram-sha-512", username, password } }),
  logLevel: kafkajs.logLevel.WARN,
  logCreator: () => ({ label, log }) => process.stderr.write(`${label} ${JSON.stringify(log)}\n`),
});
const consumer = client.consumer({
  groupId: options.group,
  sessionTimeout: Number(options["session-timeout-ms"]),
  heartbeatInterval: Number(options["heartbeat-interval-ms"]),
  metadataMaxAge: Number(options["metadata-max-age-ms"]),
  maxWaitTimeInMs: 200,
});
consumer.on(consumer.events.GROUP_JOIN, assigned);
consumer.on(consumer.events.REBALANCING, revoked);
consumer.on(consumer.events.CRASH, ({ payload }) => write("failed", { reason: `crashed: ${payload.error}` }));

write("started", {
  seat: options.name,
  client_id: options["client-id"] ?? options.name,
  library: "kafkajs",
  library_version: options["library-version"],
  protocol: options.protocol,
  assignor: options.assignor,
  instance_id: null,
  pid: process.pid,
});
process.on("SIGTERM", stop);
process.on("SIGINT", () => {});
setInterval(() => process.ppid !== parent && stop(), 500).unref();
await consumer.connect();
await consumer.subscribe({ topics: options.topic, fromBeginning: options["auto-offset-reset"] === "earliest" });
await consumer.run({ autoCommit: false, eachBatchAutoResolve: false, eachBatch });
