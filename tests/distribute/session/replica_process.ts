/**
 * A process of a training by several, for tests that kill it: `server PORT`, or `replica NUMBER TARGET STEPS CHECKPOINT`, which writes
 * each step that it has given a gradient for, and its loss.
 */
import { grpcTransport, Server } from "@weft/weft/distribute";
import { Replica } from "./replica.ts";

const [role, ...rest] = Deno.args;
if (role === "server") {
  const server = new Server({ cluster: { ps: [`127.0.0.1:${rest[0]}`] } });
  await server.start();
  console.log("started");
} else {
  const [number, target, steps, checkpoint] = rest;
  const where = { target, transport: grpcTransport };
  await using replica = new Replica(where, {
    replica: Number(number),
    replicas: 4,
    checkpoint,
    checkpointEvery: 10,
    // Busy machines start processes slowly.
    patienceMs: 60_000,
  });
  await replica.train(Number(steps), {
    onStep: (step, loss) => console.log(JSON.stringify([step, loss])),
  });
}
