/** Servers as tasks of a cluster: partitions of real graphs, cut by TensorFlow, on two tasks of ours. */

import * as tf from "@weft/weft";
import { assert, assertEquals, assertRejects, assertStringIncludes } from "@std/assert";
import { MemoryTransport } from "@weft/weft/distribute";
import { HAS_WEBGPU } from "../../devices.ts";
import { create, toBinary } from "@bufbuild/protobuf";
import { Cluster, fixture, onTransports, TestTask } from "./cluster.ts";
import { arrayOf } from "../../../src/cluster/wire/element_wire.ts";
import { Worker } from "../../../src/cluster/server/worker_service.ts";
import { call } from "../../../src/cluster/wire/rpc.ts";
import { tensorToJson } from "../../../src/tensorflow/graph_def/values.ts";
import { WorkerService } from "../../../src/tensorflow/proto/worker_pb.ts";
import { graphDefMessage } from "../../../src/tensorflow/files/to_message.ts";

const { errors } = tf, { method } = WorkerService;
const twice = (x: tf.NdArray): tf.NdArray => x.map((v) => 2 * Number(v));

/** TensorFlow's results for x of 2 and -3, and the number of script calls. */
const CASES = {
  plain: { values: [13, -17], calls: [1, 1] },
  branch: { values: [4, -4], calls: [1, 0] },
  loop: { values: [20, -30], calls: [5, 5] },
  nested: { values: [44, -36], calls: [8, 6] },
  loop_in_branch: { values: [12, -3], calls: [3, 0] },
};

for (const [name, { values, calls }] of Object.entries(CASES)) {
  onTransports(`two tasks run the partitions of "${name}"`, async (transport) => {
    let called = 0;
    const script = (x: tf.NdArray): tf.NdArray => (called++, twice(x));
    await using cluster = await Cluster.start(name, transport, {
      scripts: { "test.twice@1": script },
    });
    // Again and again: nothing is left of the step before.
    for (const k of [0, 1, 0, 0, 1]) {
      called = 0;
      assertEquals(await cluster.run({ x: [2, -3][k] }), [
        values[k],
      ]);
      assertEquals(called, calls[k], `calls where x is ${[2, -3][k]}`);
    }
    const before = tf.memory().numTensors;
    await cluster.run({ x: 2 });
    assertEquals(tf.memory().numTensors, before);
  });
}

for (const [name, { values }] of Object.entries(CASES)) {
  Deno.test({
    name: `two tasks run the partitions of "${name}" on the GPU [webgpu]`,
    ignore: !HAS_WEBGPU,
    async fn() {
      await using cluster = await Cluster.start(name, new MemoryTransport(), {
        scripts: { "test.twice@1": twice },
        device: "/device:GPU:0",
      });
      assertEquals([...await cluster.run({ x: 2 }), ...await cluster.run({ x: -3 })], values);
      const before = tf.memory().numTensors;
      await cluster.run({ x: 2 });
      assertEquals(tf.memory().numTensors, before);
    },
  });
}

onTransports("a partition of busy scripts gives the event loop its turns", async (transport) => {
  let called = 0, told = 0;
  const busy = (x: tf.NdArray): tf.NdArray => {
    if (called++ === 0) setTimeout(() => told = called);
    for (const end = performance.now() + 60; performance.now() < end;);
    return twice(x);
  };
  await using cluster = await Cluster.start("loop", transport, {
    scripts: { "test.twice@1": busy },
  });
  assertEquals(await cluster.run({ x: 2 }), [20]);
  assert(told > 0 && told < called, `${told} of ${called}`);
});

onTransports("a body's error ends the step at both tasks, with its text", async (transport) => {
  const scripts = {
    "test.twice@1": () => {
      throw new RangeError("never — ever");
    },
  };
  await using cluster = await Cluster.start("plain", transport, { scripts });
  const stop = new AbortController();
  const waiting = cluster.runOne("worker", 7n, { x: 1 }, { signal: stop.signal });
  const error = await assertRejects(
    () => cluster.runOne("script", 7n, {}),
    errors.InvalidArgumentError,
    "never — ever",
  );
  assertStringIncludes(error.message, "[[{{node PyFunc}}]]");
  assert(!error.message.includes("Original stack trace"), error.message);
  // The other task asked for the result, and hears of the error as well.
  await assertRejects(() => waiting, errors.InvalidArgumentError, "never — ever");
  await cluster.cleanUp(7n);
  // Masters ask for errors as answers, since gRPC shortens long ones.
  const [, { response }] = await Promise.all([
    cluster.runOne("worker", 8n, { x: 1 }, { inBody: true }),
    cluster.runOne("script", 8n, {}, { inBody: true }),
  ]);
  assertEquals(response.statusCode, 3);
  assertStringIncludes(response.statusErrorMessage, "never — ever");
});

onTransports(
  "a step ends where its master cancels it, and where it cleans up",
  async (transport) => {
    let signal: AbortSignal | undefined;
    const { promise: called, resolve } = Promise.withResolvers<void>();
    const scripts = {
      "test.twice@1": (_: tf.NdArray, context: { signal: AbortSignal }) => {
        signal = context.signal;
        resolve();
        return new Promise<tf.NdArray>(() => {});
      },
    };
    await using cluster = await Cluster.start("plain", transport, { scripts });
    const stop = new AbortController();
    const running = ["worker", "script"].map((job) =>
      cluster.runOne(job, 7n, { x: 1 }, { signal: stop.signal })
    );
    await called;
    stop.abort(new errors.CancelledError("enough"));
    const ended = await Promise.allSettled(running);
    assertEquals(ended.map((r) => r.status), ["rejected", "rejected"]);
    // The body hears of it as well; over a network a moment later.
    if (!signal!.aborted) await new Promise((done) => signal!.addEventListener("abort", done));
    // A call that waits for a tensor of an ended step is told so, and so is a later one.
    const waiting = assertRejects(
      () => cluster.runOne("worker", 8n, { x: 1 }),
      errors.AbortedError,
      "Step 8 was cleaned up",
    );
    await call(cluster.channel("worker"), method.cleanupGraph, { stepId: 8n });
    await call(cluster.channel("script"), method.cleanupGraph, { stepId: 8n });
    await waiting;
    await assertRejects(() => cluster.runOne("script", 8n, {}), errors.AbortedError, "cleaned up");
  },
);

onTransports("a task that is gone ends the steps that wait for it", async (transport) => {
  let resolve = (): void => {};
  const called = new Promise<void>((done) => resolve = done);
  const scripts = { "test.twice@1": () => (resolve(), new Promise<tf.NdArray>(() => {})) };
  await using cluster = await Cluster.start("plain", transport, { scripts });
  const waiting = cluster.runOne("worker", 7n, { x: 1 });
  const lost = cluster.runOne("script", 7n, {}).catch((e) => e);
  await called;
  const told = assertRejects(() => waiting, errors.OpError);
  await cluster.tasks.get("script")!.server.stop();
  const error = await told;
  assert(
    error instanceof errors.UnavailableError || error instanceof errors.AbortedError,
    `${error}`,
  );
  assert(await lost instanceof errors.OpError);
});

onTransports("a task hands over tensors of all dtypes and sizes", async (transport) => {
  await using task = await TestTask.start({ transport });
  const ask = task.channel;
  const { deviceAttributes: [{ name: here, incarnation }] } = await call(ask, method.getStatus, {});
  const there = "/job:worker/replica:0/task:1/device:CPU:0";
  const large = new Float32Array(2_500_000).map((_, i) => i);
  const ones = (dtype: tf.DType): tf.NdArray => tf.tidy(() => tf.ones([2, 3], dtype).ndarraySync());
  const values = [
    ...(["int64", "float64", "bool", "uint8", "complex64", "float16", "bfloat16"] as const).map(
      ones,
    ),
    new tf.NdArray("int64", [2], BigInt64Array.of(2n ** 62n, -1n)),
    new tf.NdArray("string", [2], [Uint8Array.of(), Uint8Array.of(255, 0)]),
    new tf.NdArray("float32", [0, 3], new Float32Array()),
    new tf.NdArray("float32", [large.length], large),
  ];
  for (const [step, x] of values.entries()) {
    const tensor = tensorToJson(x), T = { type: tensor.dtype }, stepId = BigInt(step);
    const send = {
      T,
      tensor_name: { s: btoa("edge") },
      send_device: { s: btoa(here) },
      send_device_incarnation: { i: String(BigInt.asIntN(64, incarnation)) },
      recv_device: { s: btoa(there) },
    };
    const { graphHandle } = await call(ask, method.registerGraph, {
      graphDef: graphDefMessage({
        node: [
          { name: "x", op: "Const", attr: { dtype: T, value: { tensor } } },
          { name: "send", op: "_Send", input: ["x"], attr: send },
        ],
        versions: { producer: 2000 },
      }),
    });
    await call(ask, method.runGraph, { graphHandle, stepId });
    const number = incarnation.toString(16).padStart(16, "0");
    const rendezvousKey = `${here};${number};${there};edge;0:0`;
    const answer = await call(ask, method.recvTensor, { stepId, rendezvousKey });
    const got = arrayOf(answer.tensor!);
    assertEquals([got.dtype, got.shape, got.data], [x.dtype, x.shape, x.data]);
    await call(ask, method.cleanupGraph, { stepId });
  }
});

onTransports(
  "a task answers for its devices and sessions, and says what it does not do",
  async (transport) => {
    await using cluster = await Cluster.start("plain", transport, {
      scripts: { "test.twice@1": twice },
    });
    const { deviceAttributes } = await call(cluster.channel("script"), method.getStatus, {});
    assertEquals(deviceAttributes[0].name, "/job:script/replica:0/task:0/device:CPU:0");
    assertEquals(deviceAttributes[0].deviceType, "CPU");
    assertEquals(await call(cluster.channel("script"), method.logging, {}).then(() => true), true);
    const refused = [
      () => call(cluster.channel("script"), method.tracing, {}),
      () => call(cluster.channel("script"), method.logging, { enableRpcLogging: true }),
      () => call(cluster.channel("script"), method.getStepSequence, {}),
      () =>
        call(cluster.channel("script"), method.runGraph, {
          graphHandle: cluster.handles.get("script")!,
          isPartial: true,
        }),
    ];
    for (const f of refused) await assertRejects(f, errors.UnimplementedError);
    await call(cluster.channel("script"), method.cleanupAll, { container: [] });
    await call(cluster.channel("script"), method.markRecvFinished, {});
    await call(cluster.channel("script"), method.deregisterGraph, {
      graphHandle: cluster.handles.get("script")!,
    });
    await assertRejects(
      () => cluster.runOne("script", 1n, {}),
      errors.AbortedError,
      "Graph handle is not found",
    );
    const create = { sessionHandle: "s", graphDef: graphDefMessage(cluster.defs.get("script")!) };
    await call(cluster.channel("script"), method.deleteWorkerSession, { sessionHandle: "s" });
    await assertRejects(
      () =>
        call(cluster.channel("script"), method.registerGraph, {
          ...create,
          createWorkerSessionCalled: true,
        }),
      errors.AbortedError,
      "just restarted",
    );
  },
);

onTransports("sessions of a master end where it was started anew", async (transport) => {
  await using task = await TestTask.start({ transport });
  const open = (sessionHandle: string, masterTask: string, masterIncarnation: bigint) =>
    call(task.channel, method.createWorkerSession, {
      sessionHandle,
      masterTask,
      masterIncarnation,
    });
  const graphDef = graphDefMessage({ node: [], versions: { producer: 2000 } });
  const isOpen = (sessionHandle: string): Promise<boolean> =>
    call(task.channel, method.registerGraph, {
      sessionHandle,
      createWorkerSessionCalled: true,
      graphDef,
    }).then(() => true, () => false);
  await open("a", "/job:chief", 1n);
  await open("b", "/job:other", 1n);
  await open("c", "/job:chief", 1n);
  assertEquals(await Promise.all(["a", "b", "c"].map(isOpen)), [true, true, true]);
  await open("d", "/job:chief", 2n);
  assertEquals(await Promise.all(["a", "b", "c", "d"].map(isOpen)), [false, true, false, true]);
});

onTransports("requests that are broken are refused, and the task goes on", async (transport) => {
  await using task = await TestTask.start({ transport });
  const good = toBinary(
    method.registerGraph.input,
    create(method.registerGraph.input, {
      graphDef: graphDefMessage(await fixture("nested.script")),
    }),
  );
  const random = mulberry(7);
  let refused = 0;
  for (let i = 0; i < 200; i++) {
    const bytes = good.slice(0, i % 3 === 0 ? Math.floor(random() * good.length) : good.length);
    for (let k = 0; k < 5; k++) {
      bytes[Math.floor(random() * bytes.length)] = Math.floor(random() * 256);
    }
    await task.channel.call("/tensorflow.WorkerService/RegisterGraph", bytes).catch((e) => {
      assert(e instanceof errors.OpError && !(e instanceof errors.InternalError), `${e}`);
      refused++;
    });
  }
  assert(refused > 100, `${refused}`);
  assertEquals((await call(task.channel, method.getStatus, {})).deviceAttributes.length > 0, true);
});

/** Numbers that are the same each time (mulberry32). */
function mulberry(seed: number): () => number {
  return () => {
    seed = (seed + 0x6d2b79f5) | 0;
    let t = Math.imul(seed ^ (seed >>> 15), 1 | seed);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) / 2 ** 32;
  };
}

onTransports("a task gives its partitions where a master wants to see them", async (transport) => {
  await using cluster = await Cluster.start("plain", transport, {
    scripts: { "test.twice@1": twice },
  });
  const [, { response }] = await Promise.all([
    cluster.runOne("worker", 1n, { x: 1 }),
    cluster.runOne("script", 1n, {}, { record: true }),
  ]);
  const ops = (nodes: readonly { op: string }[]): string[] => nodes.map((n) => n.op);
  const { node } = cluster.defs.get("script")!;
  assertEquals(response.partitionGraph.map((g) => ops(g.node)), [ops(node)]);
});

onTransports("a tensor of a task that was started anew is not to be had", async (transport) => {
  await using task = await TestTask.start({ transport, cluster: { worker: ["127.0.0.1:0"] } });
  const device = "/job:worker/replica:0/task:0/device:CPU:0";
  for (
    const key of [
      `${device};0000000000000001;${device};x;0:0`,
      `/job:other/task:0;1;${device};x;0:0`,
    ]
  ) {
    await assertRejects(
      () => call(task.channel, method.recvTensor, { rendezvousKey: key, stepId: 1n }),
      errors.AbortedError,
      "different device incarnation",
    );
  }
  await assertRejects(
    () => call(task.channel, method.recvTensor, { rendezvousKey: "nonsense" }),
    errors.InternalError,
    "nonsense",
  );
});

Deno.test("a step that no master has run is forgotten with its last caller", async () => {
  const transport = new MemoryTransport(), name = "/job:w/replica:0/task:0/device:CPU:0";
  const devices = { list: () => [{ name, incarnation: 5n }] };
  const worker = new Worker({ devices } as unknown as ConstructorParameters<typeof Worker>[0]);
  const listener = await transport.listen({ host: "h", port: 0 }, worker.handler);
  const channel = transport.connect(listener.address);
  const ask = (signal: AbortSignal, edge: string) =>
    call(channel, method.recvTensor, {
      stepId: 1n,
      rendezvousKey: `${name};0000000000000005;${name};${edge};0:0`,
    }, { signal });
  const [first, second] = [new AbortController(), new AbortController()];
  const calls = [ask(first.signal, "a"), ask(first.signal, "b"), ask(second.signal, "a")];
  // The handler has the calls after a turn.
  while (worker.steps === 0) await Promise.resolve();
  first.abort();
  await Promise.allSettled(calls.slice(0, 2));
  assertEquals(worker.steps, 1);
  second.abort();
  await Promise.allSettled(calls);
  while (worker.steps > 0) await Promise.resolve();
  await listener.close();
});

onTransports("what a task lacks is told when a graph is registered", async (transport) => {
  await using task = await TestTask.start({ transport, cluster: { worker: ["127.0.0.1:0"] } });
  const register = (node: object[]) =>
    call(task.channel, method.registerGraph, {
      graphDef: graphDefMessage(
        { node, versions: { producer: 2000 } } as Parameters<typeof graphDefMessage>[0],
      ),
    });
  const token = { token: { s: btoa("test.nobody@1") }, Tin: { list: {} }, Tout: { list: {} } };
  const script = { name: "p", op: "PyFunc", attr: token };
  await assertRejects(() => register([script]), errors.NotFoundError, '"test.nobody@1"');
  await assertRejects(
    () => register([{ name: "n", op: "NoSuchOp" }]),
    errors.NotFoundError,
    "Op type not registered 'NoSuchOp'",
  );
  const name = { dtype: "DT_STRING", tensorShape: {}, stringVal: [btoa("/etc/passwd")] };
  const file = {
    name: "c",
    op: "Const",
    attr: { dtype: { type: "DT_STRING" }, value: { tensor: name } },
  };
  await assertRejects(
    () => register([file, { name: "r", op: "ReadFile", input: ["c"] }]),
    errors.PermissionDeniedError,
    'ReadFile ("r") reaches files',
  );
  await assertRejects(
    () =>
      register([{ name: "a", op: "Identity", input: ["b"], attr: { T: { type: "DT_FLOAT" } } }]),
    errors.NotFoundError,
    '"b"',
  );
});
