// Reads a topic as a member of a group from where the group has committed, until nothing comes for a while; commits,
// leaves, and prints how many records there were. It must not know what stands at the address.
import { Consumer, stringDeserializers } from "@platformatic/kafka";

// Version 2 wants Node 22 for this alone.
Promise.withResolvers ??= function withResolvers() {
  const found = {};
  found.promise = new Promise((resolve, reject) => Object.assign(found, { resolve, reject }));
  return found;
};

const [address, groupId, topic] = process.argv.slice(2);
const QUIET_MS = 4_000;
const consumer = new Consumer({
  clientId: "platformatic",
  groupId,
  bootstrapBrokers: [address],
  deserializers: stringDeserializers,
  groupProtocol: "classic",
});
const stream = await consumer.consume({
  topics: [topic],
  mode: "committed",
  fallbackMode: "earliest",
  autocommit: true,
  sessionTimeout: 10_000,
  heartbeatInterval: 500,
});
let count = 0;
let quiet = setTimeout(finish, 5 * QUIET_MS);
stream.on("error", (error) => {
  process.stdout.write(`${JSON.stringify({ count, error: error.message, cause: error.errors?.map(String) })}\n`);
  process.exit(1);
});
stream.on("data", () => {
  count += 1;
  clearTimeout(quiet);
  quiet = setTimeout(finish, QUIET_MS);
});

async function finish() {
  await stream.close();
  await consumer.close();
  process.stdout.write(`${JSON.stringify({ count })}\n`);
  process.exit(0);
}
