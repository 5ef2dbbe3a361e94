/** Sessions that run elsewhere: what is sent, what stays, what goes wrong on the way. */

import * as tf from "@weft/weft";
import { assertEquals, assertRejects, assertStringIncludes } from "@std/assert";
import { grpcTransport, MemoryTransport, remoteTarget, Server } from "@weft/weft/distribute";
import { testOnDevices } from "../../devices.ts";
import { WatchedServer } from "./watched_server.ts";

const v1 = tf.compat.v1, { errors } = tf;

async function on(
  graph: tf.Graph,
  fn: (session: tf.Session, server: WatchedServer) => Promise<void>,
): Promise<void> {
  await using server = await WatchedServer.start();
  const target = remoteTarget(server.target, { transport: server.transport });
  {
    await using session = new tf.Session({ graph, target });
    await fn(session, server);
  }
  const asked = server.calls.some((c) => c === "RunStep" || c === "ListDevices");
  assertEquals(server.calls.includes("CloseSession"), asked, `${server.calls}`);
}

Deno.test("a session with a target computes there what it computes here", async () => {
  const g = new tf.Graph();
  const [x, ys] = g.asDefault(() => {
    const x = tf.placeholder("float32", [null, 2], "x");
    const f = tf.function((a: tf.Tensor) => tf.gelu(tf.matMul(a, [[1, 2], [3, 4]])));
    return [x, {
      plain: tf.add(tf.mul(x, x), 1),
      called: f(x),
      branch: tf.cond(tf.greater(tf.sum(x), 0), () => tf.relu(x), () => tf.neg(x)),
      loop: tf.whileLoop((i) => tf.less(i, 5), (i) => [tf.mul(i, 2)], [tf.sum(x)]),
      text: tf.constant(["a", "ü"], "string"),
      long: tf.cast(tf.sum(x), "int64"),
      flag: tf.greater(x, 1),
    }];
  });
  const feeds = new Map([[x, [[1, 2]]]]);
  const here = await new tf.Session({ graph: g }).run(ys as never, { feeds });
  await on(g, async (session, server) => {
    assertEquals(await session.run(ys as never, { feeds }), here);
    assertEquals(server.calls, ["CreateSession", "RunStep"]);
    const [device] = await session.listDevices();
    assertEquals(device, { name: "/job:localhost/replica:0/task:0/device:CPU:0", type: "CPU" });
  });
});

Deno.test("what the graph gets later is sent when it is first needed", async () => {
  const g = new tf.Graph();
  const x = g.asDefault(() => tf.placeholder("float32", [], "x"));
  const y = g.asDefault(() => tf.mul(x, 2));
  await on(g, async (session, server) => {
    const feeds = { "x:0": 3 };
    assertEquals(await session.run(y, { feeds }), 6);
    const z = g.asDefault(() => tf.add(y, 1));
    assertEquals(await session.run(z, { feeds }), 7);
    assertEquals(await session.run([y, z], { feeds }), [6, 7]);
    assertEquals(server.calls, ["CreateSession", "RunStep", "ExtendSession", "RunStep", "RunStep"]);
    assertEquals(server.graphs[1].node.map((n) => n.op).sort(), ["AddV2", "Const"]);
  });
});

Deno.test("variables live there: sessions here keep their own", async () => {
  const g = new tf.Graph();
  const { v, init, more } = g.asDefault(() => {
    const v = tf.variable([1, 2], true, "v");
    return { v, init: v1.globalVariablesInitializer(), more: v.assignAdd([10, 10])! };
  });
  const here = new tf.Session({ graph: g });
  await here.run(init as tf.Operation);
  await on(g, async (session) => {
    await assertRejects(() => session.run(v), errors.FailedPreconditionError, "v");
    await session.run(init as tf.Operation);
    assertEquals(
      `${await session.run(more)}`,
      `${new tf.NdArray("float32", [2], Float32Array.of(11, 12))}`,
    );
    assertEquals((await session.run(v) as tf.NdArray).toArray(), [11, 12]);
    assertEquals((await here.run(v) as tf.NdArray).toArray(), [1, 2]);
  });
});

testOnDevices("scripts run at home, one step for each wave of them", async () => {
  const g = new tf.Graph(), seen: string[] = [];
  const script = (name: string, x: tf.Tensor): tf.Tensor =>
    tf.numpyFunction(
      (a: tf.NdArray) => {
        seen.push(name);
        return a.map((e) => Number(e) + 1);
      },
      [x],
      tf.TensorSpec([2], "float32"),
      { name },
    ) as tf.Tensor;
  const { x, out } = g.asDefault(() => {
    const x = tf.placeholder("float32", [2], "x");
    const h = tf.mul(x, 2);
    const [a, b] = [script("a", h), script("b", tf.neg(h))];
    const c = script("c", tf.add(tf.mul(a, b), h));
    return { x, out: tf.add(tf.sub(c, h), script("first", x)) };
  });
  const feeds = new Map([[x, [1, 2]]]);
  const here = await new tf.Session({ graph: g }).run(out, { feeds });
  seen.length = 0;
  await on(g, async (session, server) => {
    assertEquals(await session.run(out, { feeds }), here);
    assertEquals(server.steps, 3);
    assertEquals(seen.sort(), ["a", "b", "c", "first"]);
    assertEquals(server.graphs[0].node.filter((n) => n.op.includes("PyFunc")), []);
  });
});

Deno.test("what had effects in an earlier wave has them once", async () => {
  const g = new tf.Graph();
  const { init, out, v } = g.asDefault(() => {
    const v = tf.variable(0, true, "v"), more = v.assignAdd(1)!;
    const first = tf.identity(more);
    const s = tf.numpyFunction(
      (a: tf.NdArray) => a,
      [first],
      tf.TensorSpec([], "float32"),
    ) as tf.Tensor;
    const out = tf.controlDependencies([more], () => tf.add(tf.mul(s, 10), first));
    return { v, out, init: v1.globalVariablesInitializer() };
  });
  await on(g, async (session, server) => {
    await session.run(init as tf.Operation);
    assertEquals(await session.run(out), 11);
    assertEquals(await session.run(out), 22);
    assertEquals(await session.run(v), 2);
    assertEquals(server.steps, 6);
  });
});

testOnDevices("gradients through scripts at home run their tapes there", async () => {
  const g = new tf.Graph();
  let calls = 0;
  const { x, out } = g.asDefault(() => {
    const x = tf.placeholder("float32", [2], "x");
    const h = tf.mul(x, x);
    const y = tf.pyFunction(
      (a: tf.Tensor) => {
        calls++;
        return tf.mul(a, tf.square(a));
      },
      [h],
      tf.TensorSpec([2], "float32"),
    ) as tf.Tensor;
    const loss = tf.sum(tf.mul(y, 2));
    return { x, out: [loss, ...tf.gradients(loss, [x])] as tf.Tensor[] };
  });
  await on(g, async (session, server) => {
    const [loss, dx] = await session.run(out, { feeds: new Map([[x, [1, 2]]]) });
    assertEquals(loss, 2 + 2 * 64);
    assertEquals((dx as tf.NdArray).toArray(), [12, 12 * 32]);
    assertEquals([calls, server.steps], [1, 2]);
  });
});

Deno.test("a gradient that is built after a run changes what is sent", async () => {
  const g = new tf.Graph();
  const { x, y } = g.asDefault(() => {
    const x = tf.placeholder("float32", [], "x");
    const [y] = tf.whileLoop((i) => tf.less(i, 50), (i) => [tf.mul(i, i)], [x]) as tf.Tensor[];
    return { x, y };
  });
  const feeds = new Map([[x, 3]]);
  await on(g, async (session) => {
    assertEquals(await session.run(y, { feeds }), 81);
    const [dx] = g.asDefault(() => tf.gradients(tf.mul(y, 2), [x])) as tf.Tensor[];
    assertEquals(await session.run([y, dx], { feeds }), [81, 2 * 4 * 27]);
  });
});

Deno.test("a fed tensor is where the graph begins, wherever it is", async () => {
  const g = new tf.Graph();
  const { x, s, y } = g.asDefault(() => {
    const x = tf.placeholder("float32", [], "x");
    const s = tf.numpyFunction(
      () => {
        throw new Error("not needed");
      },
      [tf.mul(x, 2)],
      tf.TensorSpec([], "float32"),
    ) as tf.Tensor;
    return { x, s, y: tf.add(s, tf.square(x)) };
  });
  await on(g, async (session) => {
    assertEquals(await session.run(y, { feeds: new Map([[s, 100], [x, 3]]) }), 109);
    assertEquals(await session.run([x, s, y], { feeds: new Map([[s, 1], [x, 2]]) }), [2, 1, 5]);
    await assertRejects(
      () => session.run(y),
      errors.InvalidArgumentError,
      "placeholder tensor 'x'",
    );
  });
});

Deno.test("errors of nodes have their class, their text and where the node was made", async () => {
  const g = new tf.Graph();
  const { x, y } = g.asDefault(() => {
    const x = tf.placeholder("float32", null, "x");
    return { x, y: tf.matMul(x, [[1], [2]]) };
  });
  await on(g, async (session) => {
    const feeds = new Map([[x, [[1, 2, 3]]]]);
    const error = await assertRejects(() => session.run(y, { feeds }), errors.InvalidArgumentError);
    const node = y.name!.replace(":0", "");
    assertStringIncludes(error.message, `Original stack trace for '${node}'`);
    assertStringIncludes(error.message, "target_test.ts");
    assertEquals(error.node, node);
  });
});

Deno.test("a run that is cancelled, takes too long or outlives its session ends, there too", async () => {
  const g = new tf.Graph();
  const y = g.asDefault(() => tf.add(tf.placeholder("float32", [], "x"), 1));
  await using server = await WatchedServer.start();
  const target = remoteTarget(server.target, { transport: server.transport });
  const session = new tf.Session({ graph: g, target }), feeds = { "x:0": 1 };
  assertEquals(await session.run(y, { feeds }), 2);
  let arrived = (): void => {};
  const waiting = (): Promise<void> => new Promise((resolve) => arrived = resolve);
  server.before = (name) => {
    arrived();
    return name === "RunStep" ? new Promise(() => {}) : undefined;
  };
  const stop = new AbortController(), there = waiting();
  const cancelled = assertRejects(
    () => session.run(y, { feeds, signal: stop.signal }),
    errors.CancelledError,
  );
  await there;
  stop.abort();
  await cancelled;
  await assertRejects(() => session.run(y, { feeds, timeoutMs: 1 }), errors.DeadlineExceededError);
  const again = waiting(),
    closed = assertRejects(() => session.run(y, { feeds }), errors.CancelledError);
  await again;
  await session.close();
  await closed;
  assertEquals(server.calls.at(-1), "CloseSession");
});

for (const call of ["CreateSession", "ExtendSession", "RunStep"]) {
  Deno.test(`a server that is gone at ${call} is told of, and asked again`, async () => {
    const g = new tf.Graph();
    const y = g.asDefault(() => tf.add(tf.placeholder("float32", [], "x"), 1));
    await on(g, async (session, server) => {
      const feeds = { "x:0": 1 };
      if (call === "ExtendSession") await session.run(y, { feeds });
      const z = g.asDefault(() => tf.add(y, 1));
      server.before = (name) => {
        if (name === call) throw new errors.UnavailableError("gone");
      };
      await assertRejects(() => session.run(z, { feeds }), errors.UnavailableError, "gone");
      server.before = () => {};
      assertEquals(await session.run(z, { feeds }), 3);
    });
  });
}

Deno.test("a server that restarted has a new session at the next run", async () => {
  const g = new tf.Graph();
  const y = g.asDefault(() => tf.add(tf.placeholder("float32", [], "x"), 1));
  await on(g, async (session, server) => {
    const feeds = { "x:0": 1 };
    assertEquals(await session.run(y, { feeds }), 2);
    await server.restart();
    await assertRejects(() => session.run(y, { feeds }), errors.AbortedError, "s");
    assertEquals(await session.run(y, { feeds }), 2);
  });
});

Deno.test("an op that the server does not know is its error", async () => {
  const g = new tf.Graph();
  const y = g.asDefault(() => tf.add(tf.placeholder("float32", [], "x"), 1));
  await on(g, async (session, server) => {
    server.before = () => {
      throw new errors.NotFoundError("Op type not registered 'AddV2' in binary");
    };
    await assertRejects(
      () => session.run(y, { feeds: { "x:0": 1 } }),
      errors.NotFoundError,
      "not registered 'AddV2'",
    );
  });
});

Deno.test("targets without a server, without the secret, and with answers that lack something", async () => {
  const g = new tf.Graph();
  const y = g.asDefault(() => tf.add(tf.placeholder("float32", [], "x"), 1)), feeds = { "x:0": 1 };
  await using server = await WatchedServer.start({ secret: "right" });
  const run = async (address: string, secret?: string): Promise<unknown> => {
    const target = remoteTarget(address, {
      transport: server.transport,
      ...(secret && { secret }),
    });
    await using session = new tf.Session({ graph: g, target });
    return await session.run(y, { feeds });
  };
  await assertRejects(() => run("nobody:1"), errors.UnavailableError, "Cannot reach nobody:1");
  await assertRejects(() => run(server.target), errors.UnauthenticatedError, "secret");
  await assertRejects(() => run(server.target, "wrong"), errors.UnauthenticatedError, "secret");
  assertEquals(await run(server.target, "right"), 2);
  const gone = new tf.Session({ graph: g, target: "grpc://127.0.0.1:1" });
  await assertRejects(() => gone.run(y, { feeds }), errors.UnavailableError, "127.0.0.1:1");
  await gone.close();
});

Deno.test("a handle of something there cannot be given to a script", async () => {
  const g = new tf.Graph();
  const out = g.asDefault(() => {
    const v = tf.variable(1, true, "v");
    const f = tf.function(() =>
      tf.numpyFunction((a: tf.NdArray) => a, [v], "float32") as tf.Tensor
    );
    return f() as tf.Tensor;
  });
  await on(g, async (session) => {
    const e = await assertRejects(() => session.run(out), errors.UnimplementedError);
    assertStringIncludes(e.message, 'Cannot send the resource that "v"');
  });
});

Deno.test("a script that a task is to run is what its name means there, or has none in this process", async () => {
  const onTask = (body: tf.ScriptFunction): tf.Tensor =>
    new tf.Graph().asDefault(() =>
      tf.device("/job:script/task:0", () => tf.numpyFunction(body, [[1, 2]], "float32"))
    ) as tf.Tensor;
  const here = tf.registerScript("test.target@1", (a: tf.NdArray) => a);
  await using server = await WatchedServer.start({
    job: "script",
    scripts: { "test.target@1": (a: tf.NdArray) => a.map((e) => 2 * Number(e)) },
  });
  const target = remoteTarget(server.target, { transport: server.transport });
  try {
    const y = onTask(here);
    await using session = new tf.Session({ graph: y.graph, target });
    assertEquals((await session.run(y) as tf.NdArray).toArray(), [2, 4]);
    const nameless = onTask((a: tf.NdArray) => a);
    await using other = new tf.Session({ graph: nameless.graph, target });
    assertEquals((await other.run(nameless) as tf.NdArray).toArray(), [1, 2]);
  } finally {
    tf.unregisterScript("test.target@1");
  }
});

for (const transport of [new MemoryTransport(), grpcTransport]) {
  const name = transport === grpcTransport ? "gRPC" : "memory";
  Deno.test(`a step that is cancelled or takes too long ends at the server too, over ${name}`, async () => {
    await using server = new Server({
      cluster: { w: ["localhost:0"] },
      host: "localhost",
      transport,
    });
    await server.start();
    const graph = new tf.Graph();
    const { add, take, count } = graph.asDefault(() => {
      const acc = new v1.ConditionalAccumulator("float32", { shape: [] });
      return { add: acc.applyGrad(1)!, take: acc.takeGrad(1), count: acc.numAccumulated() };
    });
    await using session = new tf.Session({
      graph,
      target: remoteTarget(server.target, { transport }),
    });
    assertEquals(await session.run(count), 0);
    const stop = new AbortController();
    const cancelled = assertRejects(
      () => session.run(take, { signal: stop.signal }),
      errors.CancelledError,
    );
    await session.run(count);
    stop.abort();
    await cancelled;
    await assertRejects(() => session.run(take, { timeoutMs: 5 }), errors.DeadlineExceededError);
    // Once the server knows, the call does not wait any more: a later one gets the result.
    do await session.run(add); while (await session.run(count) === 0);
    assertEquals(await session.run(take), 1);
  });
}

Deno.test("messages that are too large are refused on either side", async () => {
  await using server = new Server({
    cluster: { w: ["localhost:0"] },
    host: "localhost",
    maxMessageBytes: 100_000,
  });
  await server.start();
  const graph = new tf.Graph();
  const { x, long } = graph.asDefault(() => ({
    x: tf.placeholder("float32", [null], "x"),
    long: tf.fill([50_000], 1),
  }));
  const y = graph.asDefault(() => tf.neg(x));
  const target = remoteTarget(server.target, { maxMessageBytes: 100_000 });
  await using session = new tf.Session({ graph, target });
  const run = (n: number) => session.run(y, { feeds: new Map([[x, new Float32Array(n)]]) });
  assertEquals((await run(1000) as tf.NdArray).size, 1000);
  await assertRejects(() => run(50_000), errors.ResourceExhaustedError, "at most 100000");
  await assertRejects(() => session.run(long), errors.ResourceExhaustedError);
  assertEquals((await run(1000) as tf.NdArray).size, 1000);
});
