/** Servers by themselves: what they are told they are, where they listen, and what they let graphs reach. */

import * as tf from "@weft/weft";
import { assert, assertEquals, assertRejects, assertThrows } from "@std/assert";
import { MemoryTransport, remoteTarget, Server, type ServerOptions } from "@weft/weft/distribute";
import "@weft/weft/tf";
import { withVariables } from "../../environment.ts";
import { freePort, onTransports } from "./cluster.ts";
import { registeredOps } from "../../../src/engine/core/op.ts";

const { errors } = tf;
const CONFIG = {
  cluster: { worker: ["127.0.0.1:7001", "127.0.0.1:7002"], ps: { 3: "127.0.0.1:7003" } },
  task: { type: "worker", index: 1 },
};

Deno.test("a server is the task that TF_CONFIG names", async () => {
  const transport = new MemoryTransport();
  await using a = await Server.fromConfig(JSON.stringify(CONFIG), { transport });
  assertEquals(a.target, "grpc://127.0.0.1:7002");
  const task = { type: "ps", index: "3" };
  await using b = await Server.fromConfig(JSON.stringify({ ...CONFIG, task }), { transport });
  assertEquals(b.target, "grpc://127.0.0.1:7003");
  const first = { ...CONFIG, task: { type: "worker", index: 0 } };
  using _ = withVariables({ TF_CONFIG: JSON.stringify(first) });
  await using c = new Server({ transport });
  await c.start();
  assertEquals(c.target, "grpc://127.0.0.1:7001");
});

Deno.test("a TF_CONFIG that names no task is refused", async () => {
  const { cluster, task } = CONFIG;
  const wrong: [string, string][] = [
    ["", "it is not set"],
    ["{", "JSON"],
    ["null", "it has no cluster"],
    [JSON.stringify({ task }), "it has no cluster"],
    [JSON.stringify({ cluster }), "it names no task"],
    [JSON.stringify({ cluster, task: { type: "worker" } }), "it names no task"],
    [JSON.stringify({ cluster, task: { type: "worker", index: 2 } }), "Cannot find task 2"],
    [JSON.stringify({ cluster, task: { type: "chief", index: 0 } }), 'job "chief"'],
  ];
  for (const [config, text] of wrong) {
    await assertRejects(() => Server.fromConfig(config), tf.ValueError, text);
  }
});

Deno.test("options that make no sense are refused", () => {
  const wrong: [ServerOptions, new (message: string) => Error, string][] = [
    [{ jobb: "worker" } as ServerOptions, TypeError, '"job"'],
    [{}, tf.ValueError, "TF_CONFIG"],
    [{ cluster: CONFIG.cluster }, tf.ValueError, "option job"],
    [{ cluster: CONFIG.cluster, job: "chief" }, errors.NotFoundError, '"chief"'],
    [{ cluster: { worker: ["nowhere"] } }, tf.ValueError, '"nowhere"'],
  ];
  for (const [options, Class, text] of wrong) {
    assertThrows(() => new Server(options), Class, text);
  }
});

onTransports(
  "a server listens on this machine alone, and anew after it stopped",
  async (transport) => {
    const port = await freePort(transport), cluster = { worker: [`tasks.example:${port}`] };
    const server = new Server({ cluster, transport });
    assertEquals(server.target, "");
    await server.start();
    await server.start();
    assertEquals(server.target, `grpc://127.0.0.1:${port}`);
    const channel = transport.connect(server.target);
    await assertRejects(() => channel.call("/a.B/C", new Uint8Array()), errors.UnimplementedError);
    const other = new Server({ cluster, transport });
    await assertRejects(() => other.start(), errors.UnavailableError, "Cannot listen");
    await server.stop();
    await server.stop();
    assertEquals(server.target, "");
    await assertRejects(() => channel.call("/a.B/C", new Uint8Array()), errors.UnavailableError);
    await server.start();
    await assertRejects(() => channel.call("/a.B/C", new Uint8Array()), errors.UnimplementedError);
    channel.close();
    await server.stop();
  },
);

Deno.test("a local cluster needs no network", async () => {
  await using server = await Server.createLocal();
  const channel = server.transport.connect(server.target);
  await assertRejects(() => channel.call("/a.B/C", new Uint8Array()), errors.UnimplementedError);
  channel.close();
  assert(server.transport instanceof MemoryTransport);
});

/** Calls that reach files, a network, the environment or a stream of the process. */
const REACHES =
  /\b(readBytes|readText|readSource|readCheckpoint|writeCheckpoint|writeBytes)\(|(?<!\.)\bfetch\(|\bDeno\.|node:fs|\bconsole\.|\benvironment\(/;

Deno.test("every module that defines ops and reaches outside of the process says so of them", async () => {
  const outside = new Set(registeredOps().filter((op) => op.outside).map((op) => op.name));
  assertEquals([...outside].sort(), [
    "InitializeTableFromTextFile",
    "InitializeTableFromTextFileV2",
    "MergeV2Checkpoints",
    "PrintV2",
    "ReadFile",
    "RestoreV2",
    "SaveV2",
  ]);
  const root = new URL("../../../src/", import.meta.url);
  const files: string[] = [];
  const walk = async (folder: URL): Promise<void> => {
    for await (const { name, isDirectory } of Deno.readDir(folder)) {
      if (isDirectory) await walk(new URL(`${name}/`, folder));
      else if (name.endsWith(".ts")) files.push(new URL(name, folder).pathname);
    }
  };
  await walk(root);
  for (const file of files) {
    const text = (await Deno.readTextFile(file)).replace(/^ *(\*|\/\/|\/\*).*$/gm, "");
    if (!/\bdefineOp\(\{|\bhostOp\("/.test(text) || !REACHES.test(text)) continue;
    assert(
      text.includes("outside:") || QUIET.some((name) => file.endsWith(name)),
      `${file} defines ops and calls ${REACHES.exec(text)![0]}: an op that does needs \`outside\``,
    );
  }
});

/** Modules whose ops warn on the console and do nothing else outside. */
const QUIET = ["library/debugging/check_numerics.ts"];

onTransports("a loop without end ends with its run, and others are answered", async (transport) => {
  const address = `127.0.0.1:${await freePort(transport)}`;
  await using server = new Server({ transport, cluster: { worker: [address] } });
  await server.start();
  const graph = new tf.Graph();
  const [endless, other] = graph.asDefault(() => [
    tf.whileLoop(() => tf.constant(true), (i) => [tf.add(i, 1)], [tf.constant(0)])[0],
    tf.add(tf.constant(1), 2),
  ]);
  await using session = new tf.Session({
    graph,
    target: remoteTarget(server.target, { transport }),
  });
  const before = tf.memory().numTensors;
  for (let k = 0; k < 2; k++) {
    const stop = new AbortController();
    const running = session.run(endless, { signal: stop.signal });
    // Answered while the loop goes on, in whose turns it comes.
    assertEquals(await session.run(other), 3);
    stop.abort();
    await assertRejects(() => running, errors.CancelledError);
    await assertRejects(
      () => session.run(endless, { timeoutMs: 60 }),
      errors.DeadlineExceededError,
    );
  }
  while (tf.memory().numTensors !== before) await new Promise((done) => setTimeout(done));
});
