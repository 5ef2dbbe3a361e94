/** Servers as masters: sessions of clients, whose graphs run in the task. */

import * as tf from "@weft/weft";
import { assert, assertEquals, assertRejects, assertStringIncludes } from "@std/assert";
import { type Channel, MemoryTransport, scriptHash } from "@weft/weft/distribute";
import { array, type GraphDef, onTransports, TestSession, TestTask } from "./cluster.ts";
import { arrayOf } from "../../../src/cluster/wire/element_wire.ts";
import { call } from "../../../src/cluster/wire/rpc.ts";
import { tensorToJson } from "../../../src/tensorflow/graph_def/values.ts";
import { MasterService } from "../../../src/tensorflow/proto/master_pb.ts";
import { tensorMessage } from "../../../src/tensorflow/files/to_message.ts";

const { errors } = tf, { method } = MasterService;

function nodes(...node: GraphDef["node"]): GraphDef {
  return { node, versions: { producer: 2000 } };
}

const T = { type: "DT_FLOAT" };
const constant = (name: string, value: number | readonly number[]) => ({
  name,
  op: "Const",
  attr: { dtype: T, value: { tensor: tensorToJson(array(value)) } },
});

/** `y = 2 x`. */
const DOUBLE = nodes(
  { name: "x", op: "Placeholder", attr: { dtype: T } },
  constant("two", 2),
  { name: "y", op: "Mul", input: ["x", "two"], attr: { T } },
);

onTransports("a session's graph runs in the task, and may grow", async (transport) => {
  await using task = await TestTask.start({ transport });
  const session = await TestSession.open(task, nodes());
  await session.extend(DOUBLE);
  const { values, names } = await session.run(["y:0", "x:0"], { feeds: { "x:0": [1, 2] } });
  assertEquals([values, names], [[[2, 4], [1, 2]], ["y:0", "x:0"]]);
  await session.extend(nodes({ name: "z", op: "Neg", input: ["y"], attr: { T } }));
  assertEquals((await session.run(["z:0"], { feeds: { "x:0": [3] } })).values, [[-6]]);
  // A fed tensor cuts the graph.
  assertEquals((await session.run(["z:0"], { feeds: { "y:0": [3] } })).values, [[-3]]);
  const shape = { shape: { dim: [{ size: "2" }] } };
  const vector = await TestSession.open(
    task,
    nodes({ name: "x", op: "Placeholder", attr: { dtype: T, shape } }),
  );
  assertEquals((await vector.run(["x:0"], { feeds: { "x:0": [1, 2] } })).values, [[1, 2]]);
  const wrong: [() => Promise<unknown>, new (message: string) => Error, string][] = [
    [() => session.run(["nope:0"]), errors.NotFoundError, "FetchOutputs node nope:0: not found"],
    [() => session.run(["y:0"], { feeds: { "nope:0": 1 } }), errors.NotFoundError, "nope:0"],
    [() => session.run(["y:0"]), errors.InvalidArgumentError, "You must feed a value"],
    [() => vector.run(["x:0"], { feeds: { "x:0": 1 } }), errors.InvalidArgumentError, "float32[2]"],
    [() => session.extend(nodes({ name: "z", op: "NoOp" })), errors.InvalidArgumentError, '"z"'],
  ];
  for (const [f, Class, text] of wrong) await assertRejects(f, Class, text);
  session.version--;
  await assertRejects(() => session.extend(nodes()), errors.AbortedError, "Current version is 2");
  await session.close();
  await assertRejects(() => session.run(["y:0"]), errors.AbortedError, "is not found");
});

onTransports("variables are shared by sessions, but for isolated ones", async (transport) => {
  await using task = await TestTask.start({ transport });
  const handle = { dtype: T, shape: { shape: {} }, shared_name: { s: btoa("v") } };
  const def = nodes(
    { name: "v", op: "VarHandleOp", attr: handle },
    constant("one", 1),
    { name: "init", op: "AssignVariableOp", input: ["v", "one"], attr: { dtype: T } },
    { name: "add", op: "AssignAddVariableOp", input: ["v", "one"], attr: { dtype: T } },
    { name: "read", op: "ReadVariableOp", input: ["v"], attr: { dtype: T } },
  );
  const a = await TestSession.open(task, def), b = await TestSession.open(task, def);
  await a.run([], { target: ["init"] });
  await b.run([], { target: ["add"] });
  assertEquals((await a.run(["read:0"])).values, [2]);
  const isolated = await TestSession.open(task, def, { isolateSessionState: true });
  await assertRejects(() => isolated.run(["read:0"]), errors.FailedPreconditionError, "variable v");
  await assertRejects(() => isolated.run(["v:0"]), errors.UnimplementedError, "resource");
  await a.close();
  assertEquals((await b.run(["read:0"])).values, [2]);
  await call(task.channel, method.reset, {});
  const c = await TestSession.open(task, def);
  await assertRejects(() => c.run(["read:0"]), errors.FailedPreconditionError, "variable v");
  await assertRejects(() => b.run(["read:0"]), errors.AbortedError);
});

onTransports("variables that are references are trained", async (transport) => {
  await using task = await TestTask.start({ transport });
  const session = await TestSession.open(
    task,
    nodes(
      {
        name: "w",
        op: "VariableV2",
        attr: { dtype: T, shape: { shape: { dim: [{ size: "2" }] } } },
      },
      constant("start", [1, 2]),
      { name: "init", op: "Assign", input: ["w", "start"], attr: { T } },
      constant("rate", 0.5),
      { name: "step", op: "ApplyGradientDescent", input: ["w", "rate", "w"], attr: { T } },
    ),
  );
  await session.run([], { target: ["init"] });
  assertEquals((await session.run(["step:0"])).values, [[0.5, 1]]);
  assertEquals((await session.run(["w:0"])).values, [[0.5, 1]]);
});

onTransports(
  "random ops go on from step to step, whatever is fetched beside them",
  async (transport) => {
    await using task = await TestTask.start({ transport });
    const def = nodes(
      {
        name: "n",
        op: "Const",
        attr: {
          dtype: { type: "DT_INT32" },
          value: { tensor: tensorToJson(new tf.NdArray("int32", [1], Int32Array.of(4))) },
        },
      },
      {
        name: "r",
        op: "RandomUniform",
        input: ["n"],
        attr: { T: { type: "DT_INT32" }, dtype: T, seed: { i: "1" }, seed2: { i: "2" } },
      },
      { name: "s", op: "Neg", input: ["r"], attr: { T } },
    );
    const a = await TestSession.open(task, def), b = await TestSession.open(task, def);
    const steps = async (s: TestSession, fetches: string[][]) => {
      const seen: unknown[] = [];
      for (const fetch of fetches) seen.push((await s.run(fetch)).values[0]);
      return seen;
    };
    const plain = await steps(a, [["r:0"], ["r:0"], ["r:0"]]);
    assertEquals(await steps(b, [["r:0"], ["r:0", "s:0"], ["r:0"]]), plain);
    assertEquals(new Set(plain.map(String)).size, 3);
  },
);

onTransports("callables run by their number", async (transport) => {
  await using task = await TestTask.start({ transport });
  const session = await TestSession.open(task, DOUBLE);
  const ask = task.channel, sessionHandle = session.handle;
  const options = { feed: ["x:0"], fetch: ["y:0"] };
  const { handle } = await call(ask, method.makeCallable, { sessionHandle, options });
  const feed = [tensorMessage(tensorToJson(array(4)))];
  const { fetch } = await call(ask, method.runCallable, { sessionHandle, handle, feed });
  assertEquals(fetch.map((t) => arrayOf(t).item()), [8]);
  await assertRejects(
    () => call(ask, method.runCallable, { sessionHandle, handle, feed: [] }),
    errors.InvalidArgumentError,
    "wanted 1 values, received 0",
  );
  await call(ask, method.releaseCallable, { sessionHandle, handle });
  for (const name of ["runCallable", "releaseCallable"] as const) {
    await assertRejects(
      () =>
        call(ask as Channel, method[name] as typeof method.runCallable, { sessionHandle, handle }),
      errors.InvalidArgumentError,
      "after handle was released",
    );
  }
  const tensorConnection = [{ fromTensor: "y:0", toTensor: "x:0" }];
  await assertRejects(
    () =>
      call(ask, method.makeCallable, { sessionHandle, options: { ...options, tensorConnection } }),
    errors.UnimplementedError,
  );
});

onTransports("devices are listed with the names of the task", async (transport) => {
  await using task = await TestTask.start({
    transport,
    cluster: { ps: ["127.0.0.1:9"], worker: ["127.0.0.1:10", "127.0.0.1:0"] },
    job: "worker",
    task: 1,
  });
  const { handle: sessionHandle } = await TestSession.open(task, nodes());
  const { localDevice } = await call(task.channel, method.listDevices, { sessionHandle });
  const types = tf.listDevices().map(({ type }) => type === "GPU" ? "WEBGPU" : type);
  assertEquals(
    localDevice.map((d) => [d.name, d.deviceType]),
    types.map((type) => [`/job:worker/replica:0/task:1/device:${type}:0`, type]),
  );
  await assertRejects(
    () => call(task.channel, method.listDevices, { sessionHandle: "other" }),
    errors.AbortedError,
  );
  // Nodes may name the task and its devices, and no other's.
  const on = (device: string) => nodes({ ...constant("c", 1), device });
  for (
    const device of ["/job:worker/task:1", "/job:worker/replica:0/task:1/device:CPU:0", "/cpu:0"]
  ) {
    assertEquals((await (await TestSession.open(task, on(device))).run(["c:0"])).values, [1]);
  }
  // The other task's address does not answer.
  const other = await TestSession.open(task, on("/job:ps/task:0"));
  await assertRejects(() => other.run(["c:0"]), errors.UnavailableError);
});

onTransports(
  "steps end in time, when they are cancelled and with their session",
  async (transport) => {
    const signals: AbortSignal[] = [];
    let called = (): void => {};
    const scripts = {
      "test.never@1": (_: tf.NdArray, { signal }: { signal: AbortSignal }) => {
        signals.push(signal);
        called();
        return new Promise<tf.NdArray>(() => {});
      },
    };
    await using task = await TestTask.start({ transport, scripts });
    const def = nodes(constant("c", 1), {
      name: "p",
      op: "PyFunc",
      input: ["c"],
      attr: {
        token: { s: btoa("test.never@1") },
        Tin: { list: { type: ["DT_FLOAT"] } },
        Tout: { list: { type: ["DT_FLOAT"] } },
      },
    });
    const session = await TestSession.open(task, def);
    await assertRejects(
      () => session.run(["p:0"], { timeoutMs: 20 }),
      errors.DeadlineExceededError,
      "20 ms",
    );
    const short = await TestSession.open(task, def, { operationTimeoutInMs: 20n });
    await assertRejects(() => short.run(["p:0"]), errors.DeadlineExceededError, "20 ms");
    const stop = new AbortController();
    called = () => stop.abort(new errors.CancelledError("enough"));
    await assertRejects(() => session.run(["p:0"], { signal: stop.signal }), errors.CancelledError);
    let waiting: Promise<unknown> = Promise.resolve();
    const { promise, resolve } = Promise.withResolvers<void>();
    called = resolve;
    waiting = assertRejects(
      () => session.run(["p:0"]),
      errors.CancelledError,
      "Session has been closed",
    );
    await promise;
    await session.close();
    await waiting;
    for (const s of signals) {
      if (!s.aborted) await new Promise((done) => s.addEventListener("abort", done));
    }
  },
);

onTransports(
  "errors of bodies have their class and text, in the answer where the client wants",
  async (transport) => {
    const scripts = {
      "test.boom@1": () => {
        throw new RangeError("never — ever");
      },
    };
    await using task = await TestTask.start({ transport, scripts });
    const script = (token: string, more = {}) =>
      nodes({
        name: "p",
        op: "PyFunc",
        attr: {
          token: { s: btoa(token) },
          Tin: { list: {} },
          Tout: { list: { type: ["DT_FLOAT"] } },
          ...more,
        },
      });
    const session = await TestSession.open(task, script("test.boom@1"));
    await assertRejects(() => session.run(["p:0"]), errors.InvalidArgumentError, "never — ever");
    const { response } = await session.run(["p:0"], { inBody: true });
    assertEquals(response.statusCode, 3);
    assertStringIncludes(response.statusErrorMessage, "never — ever");
    const unknown = await TestSession.open(task, script("test.nobody@1"));
    await assertRejects(() => unknown.run(["p:0"]), errors.NotFoundError, '"test.nobody@1"');
    // A graph may say which source it was made with.
    const right = { _script_hash: { s: btoa(await scriptHash(scripts["test.boom@1"])) } };
    const same = await TestSession.open(task, script("test.boom@1", right));
    await assertRejects(() => same.run(["p:0"]), errors.InvalidArgumentError, "never — ever");
    const other = await TestSession.open(
      task,
      script("test.boom@1", { _script_hash: { s: btoa("0") } }),
    );
    await assertRejects(() => other.run(["p:0"]), errors.FailedPreconditionError, '"test.boom@1"');
    await assertRejects(
      () => call(task.channel, method.partialRunSetup, { sessionHandle: session.handle }),
      errors.UnimplementedError,
      "partial run",
    );
  },
);

onTransports("ops that reach files run only where they are allowed by name", async (transport) => {
  const path = await Deno.makeTempFile();
  try {
    await Deno.writeTextFile(path, "kept");
    const name = new tf.NdArray("string", [], [new TextEncoder().encode(path)]);
    const string = { type: "DT_STRING" };
    const c = {
      name: "c",
      op: "Const",
      attr: { dtype: string, value: { tensor: tensorToJson(name) } },
    };
    const read = { name: "read", op: "ReadFile", input: ["c"] };
    // Nor may a function do it.
    const called = {
      ...nodes(c, {
        name: "read",
        op: "PartitionedCall",
        input: ["c"],
        attr: {
          f: { func: { name: "f" } },
          Tin: { list: { type: ["DT_STRING"] } },
          Tout: { list: { type: ["DT_STRING"] } },
        },
      }),
      library: {
        function: [{
          signature: {
            name: "f",
            inputArg: [{ name: "x", type: "DT_STRING" }],
            outputArg: [{ name: "y", type: "DT_STRING" }],
          },
          nodeDef: [{ name: "r", op: "ReadFile", input: ["x"] }],
          ret: { y: "r:contents:0" },
        }],
      },
    } as GraphDef;
    for (const def of [nodes(c, read), called]) {
      await using task = await TestTask.start({ transport });
      const session = await TestSession.open(task, def);
      await assertRejects(() => session.run(["read:0"]), errors.PermissionDeniedError, "ReadFile");
      await using open = await TestTask.start({ transport, allowOps: ["ReadFile"] });
      const { values } = await (await TestSession.open(open, def)).run(["read:0"]);
      assertEquals(new TextDecoder().decode(values[0] as Uint8Array), "kept");
    }
  } finally {
    await Deno.remove(path);
  }
});

onTransports(
  "callers without the secret, and messages that are too long, are refused",
  async (transport) => {
    await using task = await TestTask.start({ transport, secret: "one" });
    await assertRejects(
      () => TestSession.open(task, nodes()),
      errors.UnauthenticatedError,
      "secret",
    );
    const channel = transport.connect(task.server.target, { secret: "one" });
    assert((await call(channel, method.createSession, {})).sessionHandle !== "");
    channel.close();
    if (transport instanceof MemoryTransport) return;
    await using small = await TestTask.start({ transport, maxMessageBytes: 1000 });
    const session = await TestSession.open(
      small,
      DOUBLE,
    );
    await assertRejects(
      () => session.run(["x:0"], { feeds: { "x:0": new Array(1000).fill(0) } }),
      errors.ResourceExhaustedError,
      "at most 1000",
    );
  },
);

Deno.test("steps leave nothing behind", async () => {
  await using task = await TestTask.start({ transport: new MemoryTransport() });
  const session = await TestSession.open(task, DOUBLE);
  const run = () => session.run(["y:0"], { feeds: { "x:0": [1, 2] } });
  await run();
  const before = tf.memory().numTensors;
  for (let i = 0; i < 20; i++) await run();
  assertEquals(tf.memory().numTensors, before);
});
