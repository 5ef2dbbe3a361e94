/** Scripts without a name that are pinned to a task of a cluster which is in this process: the deployment of TensorFlow's documents. */

import * as tf from "@weft/weft";
import { assertEquals, assertInstanceOf, assertMatch, assertRejects, equal } from "@std/assert";
import { grpcTransport, remoteTarget, Server } from "@weft/weft/distribute";
import { testOnDevices } from "../../devices.ts";
import { isThisProcess, serveTask } from "../../../src/engine/runtime/devices/devices.ts";
import { errorOf, plain } from "../../script/helpers.ts";
import { freePort, TestSession, TestTask } from "../server/cluster.ts";

type T = tf.Tensor;
type N = tf.NdArray;

/** Runs a build of nodes on the task. */
type OnTask = <R>(build: () => R) => R;

const double = (x: N): N => x.map((v) => 2 * Number(v));
const cube = (x: T): T => tf.pow(x, 3);
const vjp = ({ inputs: [x] }: { inputs: T[] }, dy: T): T => tf.mul(tf.mul(x, x), dy);

/** Graphs with scripts on a task; the input is [1, 2]. */
const FORMS: Readonly<Record<string, (x: T, on: OnTask) => unknown>> = {
  "pyFunc": (x, on) => on(() => tf.compat.v1.pyFunc(double, [x], "float32")),
  "numpyFunction of a pure body": (x, on) =>
    on(() => tf.numpyFunction(double, [tf.add(x, 1)], "float32", { stateful: false })),
  "pyFunction": (x, on) => tf.mul(on(() => tf.pyFunction(cube, [x], "float32")), 2),
  "contrib.framework.pyFunc": (x, on) =>
    on(() =>
      tf.contrib.framework.pyFunc(
        (a: N, { by }: { by: N }) => a.map((v) => Number(v) * Number(by.item())),
        {
          args: [x],
          kwargs: { by: tf.constant(3) },
          outputTypes: "float32",
        },
      )
    ),
  "nests of arguments and results": (x, on) =>
    on(() =>
      tf.numpyFunction(({ a, b: [c] }: { a: N; b: N[] }) => ({ s: `${a.data[0]}`, t: [c, a] }), [{
        a: x,
        b: [tf.constant(7)],
      }], { s: "string", t: ["float32", "float32"] })
    ),
  "an async body": (x, on) =>
    on(() => tf.numpyFunction(async (a: N) => (await null, double(a)), [x], "float32")),
  "a body in a worker": (x, on) =>
    on(() =>
      tf.numpyFunction((a: N) => a.map((v) => 2 * Number(v)), [x], "float32", { worker: true })
    ),
  "a body that another reads": (x, on) => {
    const y = on(() => tf.numpyFunction(double, [x], "float32")) as T;
    return [tf.numpyFunction(double, [y], "float32"), tf.pyFunction(cube, [y], "float32")];
  },
  "a body of ragged and sparse tensors": (x, on) =>
    on(() => {
      const given = [
        tf.RaggedTensor.fromRowSplits(x, [0, 0, 2]),
        { s: new tf.SparseTensor([[0], [2]], x, [3]) },
      ] as const;
      const body = (r: tf.RaggedTensor, { s }: { s: tf.SparseTensor }) => [r, tf.mul(s.values, 2)];
      const [r, y] = tf.pyFunction(body, given, [given[0].spec, "float32"]) as [
        tf.RaggedTensor,
        T,
      ];
      return [r.flatValues, r.rowSplits, y];
    }),
  "a branch": (x, on) =>
    on(() =>
      tf.cond(tf.greater(tf.sum(x), 0), () => tf.pyFunction(cube, [x], "float32"), () => tf.neg(x))
    ),
  "a loop": (x, on) =>
    on(() =>
      tf.whileLoop(
        (i) => tf.less(i, 3),
        (i, y: T) => [
          tf.add(i, 1),
          tf.ensureShape(tf.numpyFunction(double, [y], "float32") as T, [2]),
        ],
        [tf.constant(0), x],
      )
    ),
  "a function that is called on the task": (x, on) => {
    const f = tf.function((a: T) => tf.add(tf.numpyFunction(double, [a], "float32") as T, 1));
    return on(() => f(x));
  },
  "a function with the task in it": (x, on) => {
    const inner = tf.function((a: T) => on(() => tf.pyFunction(cube, [a], "float32")) as T);
    return tf.function((a: T) => tf.add(inner(a), 1))(x);
  },
  "a branch that reads a variable": (x, on) => {
    const v = on(() => tf.variable([3, 4]));
    const y = on(() =>
      tf.cond(tf.greater(tf.sum(x), 0), () => {
        const s = tf.numpyFunction(double, [tf.mul(v, x)], tf.TensorSpec([2]));
        return s;
      }, () => x)
    );
    const start = v.initializer!;
    return { start, y };
  },
  "the gradient of a vjp": (x, on) => {
    const y = on(() => tf.numpyFunction(double, [x], tf.TensorSpec([2]), { vjp })) as T;
    return tf.gradients(y, [x]);
  },
  "the gradient of a body": (x, on) =>
    tf.gradients(on(() => tf.pyFunction(cube, [x], tf.TensorSpec([2]))) as T, [x]),
  "gradients of order three": (x, on) => {
    let y = on(() => tf.pyFunction(cube, [x], tf.TensorSpec([2]))) as T;
    const all: T[] = [];
    for (let n = 0; n < 3; n++) all.push(y = tf.gradients(tf.sum(y), [x])[0] as T);
    return all;
  },
  "the gradient of a branch": (x, on) => {
    const y = on(() =>
      tf.cond(
        tf.greater(tf.sum(x), 0),
        () => tf.pyFunction(cube, [x], tf.TensorSpec([2])) as T,
        () => x,
      )
    );
    return tf.gradients(y, [x]);
  },
  "the gradient of a loop": (x, on) => {
    const [, y] = on(() =>
      tf.whileLoop(
        (i) => tf.less(i, 2),
        (i, y: T) => [tf.add(i, 1), tf.pyFunction(cube, [y], tf.TensorSpec([2]))],
        [tf.constant(0), x],
      )
    ) as T[];
    return tf.gradients(y, [x]);
  },
  "the gradient of a function": (x, on) => {
    const f = tf.function((a: T) => tf.pyFunction(cube, [a], tf.TensorSpec([2])) as T);
    return tf.gradients(on(() => f(x)), [x]);
  },
};

/** The refusal of a targeted run whose scripts stay at home, as those on `/job:localhost` do: handles do not travel. */
const AT_TASK = "a branch that reads a variable";

interface Place {
  readonly target: NonNullable<tf.SessionOptions["target"]>;
  readonly device: string;
}

/** Clusters with a task in this process. */
const CLUSTERS: Readonly<Record<string, (servers: AsyncDisposableStack) => Promise<Place>>> = {
  "the target of a server": async (servers) => {
    const server = servers.use(new Server({ cluster: { worker: ["127.0.0.1:0"] }, device: "" }));
    await server.start();
    return { target: server.target, device: "/job:worker/task:0" };
  },
  "the target of a local server": async (servers) => {
    const { target, transport } = servers.use(await Server.createLocal({ device: "" }));
    return { target: remoteTarget(target, { transport }), device: "/job:localhost/task:0" };
  },
  "a local server of another job": async (servers) => {
    const { target, transport } = servers.use(await Server.createLocal({ job: "w", device: "" }));
    return { target: remoteTarget(target, { transport }), device: "/job:w/replica:0/task:0/cpu:0" };
  },
  "a second task that pins to the first": async (servers) => {
    const [a, b] = [await freePort(grpcTransport), await freePort(grpcTransport)];
    const cluster = { a: [`127.0.0.1:${a}`], b: [`127.0.0.1:${b}`] };
    await servers.use(new Server({ cluster, job: "a", device: "" })).start();
    const second = servers.use(new Server({ cluster, job: "b", device: "" }));
    await second.start();
    return { target: second.target, device: "/job:a/task:0" };
  },
};

function build(form: string, device: string): { graph: tf.Graph; parts: unknown } {
  const graph = new tf.Graph();
  const parts = graph.asDefault(() =>
    FORMS[form](tf.placeholder("float32", [2], "x"), (fn) => tf.device(device, fn))
  );
  return { graph, parts };
}

async function run({ graph, parts }: ReturnType<typeof build>, place?: Place): Promise<unknown> {
  await using session = new tf.Session({ graph, ...(place && { target: place.target }) });
  const feeds = { "x:0": [1, 2] };
  const { start, y } = parts as Record<string, unknown>;
  if (start !== undefined) await session.run(start as tf.Operation);
  const all = y ?? parts;
  const out: unknown[] = [];
  // Twice, as the second run finds everything made.
  for (let n = 0; n < 2; n++) out.push(plain(await session.run(all as never, { feeds })));
  assertEquals(out[1], out[0]);
  return out[0];
}

for (const [where, start] of Object.entries(CLUSTERS)) {
  testOnDevices(`scripts pinned to a task of this process run there, by ${where}`, async () => {
    await using servers = new AsyncDisposableStack();
    const place = await start(servers);
    const wrong: string[] = [];
    for (const form of Object.keys(FORMS)) {
      const wanted = await run(build(form, ""));
      const given = await run(build(form, place.device), place).catch((e) => `${e}`);
      if (form === AT_TASK && /localhost/.test(place.device)) {
        assertMatch(`${given}`, /UnimplementedError: Cannot send the resource/);
      } else if (!equal(given, wanted)) wrong.push(`${form}: ${JSON.stringify(given)}`);
    }
    assertEquals(wrong, []);
  });
}

testOnDevices("an error of a script on a task of this process has its class and text", async () => {
  await using server = new Server({ cluster: { worker: ["127.0.0.1:0"] }, device: "" });
  await server.start();
  const graph = new tf.Graph();
  const y = graph.asDefault(() =>
    tf.device("/job:worker/task:0", () =>
      tf.numpyFunction(
        () => {
          throw new tf.errors.DataLossError("gone");
        },
        [1],
        "float32",
        { name: "lossy" },
      ))
  ) as T;
  await using session = new tf.Session({ graph, target: server.target });
  const error = await errorOf(() => session.run(y));
  assertInstanceOf(error, tf.errors.DataLossError);
  assertMatch(error.message, /gone[^]*\{\{node lossy\}\}[^]*served_here_test\.ts/);
});

Deno.test("a script without a name is refused for a task of another process, in functions too", async () => {
  await using server = await Server.createLocal({ job: "here" });
  const target = remoteTarget(server.target, { transport: server.transport });
  for (const form of Object.keys(FORMS)) {
    if (/gradient/.test(form)) continue;
    const { graph, parts } = build(form, "/job:elsewhere/task:0");
    await using session = new tf.Session({ graph, target });
    const y = (parts as Record<string, unknown>).y ?? parts;
    const wanted = /has no name that the task could know, register it with tf\.registerScript/;
    const run = () => session.run(y as never, { feeds: { "x:0": [1, 2] } });
    const error = await assertRejects(run, tf.errors.FailedPreconditionError, undefined, form);
    assertMatch(error.message, wanted, form);
  }
});

Deno.test("a variable of one task is refused in another", async () => {
  await using servers = new AsyncDisposableStack();
  const { target } = await CLUSTERS["a second task that pins to the first"](servers);
  const graph = new tf.Graph();
  const y = graph.asDefault(() => {
    const v = tf.variable([3, 4]);
    return tf.device(
      "/job:a/task:0",
      () => tf.cond(tf.placeholder("bool", [], "p"), () => tf.mul(v, 2), () => tf.constant([0, 0])),
    );
  }) as T;
  await using session = new tf.Session({ graph, target });
  const run = () => session.run(y, { feeds: { "p:0": true } });
  await assertRejects(run, tf.errors.UnimplementedError, "is made on /job:b/");
});

Deno.test("the name of a task means this process while its server runs", async () => {
  const y = () => tf.device("/job:worker/task:0", () => tf.pyFunction(cube, [2], "float32")) as T;
  const inGraph = async (): Promise<unknown> => {
    const graph = new tf.Graph(), out = graph.asDefault(y);
    await using session = new tf.Session({ graph });
    return await session.run(out);
  };
  await assertRejects(inGraph, tf.errors.InvalidArgumentError, "explicitly assigned");
  const servers = [1, 2].map(() => new Server({ cluster: { worker: ["127.0.0.1:0"] } }));
  for (const server of servers) await server.start();
  for (const server of servers) {
    assertEquals(await inGraph(), 8);
    await server.stop();
  }
  await assertRejects(inGraph, tf.errors.InvalidArgumentError, "explicitly assigned");
});

Deno.test("a graph from a network reaches no script without a name", async () => {
  await using task = await TestTask.start({ cluster: { w: ["127.0.0.1:0"] } });
  let calls = 0;
  const body = (x: N): N => (calls++, x);
  const graph = new tf.Graph();
  const y = graph.asDefault(() =>
    tf.device("/job:w/task:0", () => tf.numpyFunction(body, [tf.constant([1])], "float32"))
  ) as T;
  const def = graph.toGraphDef({ allowAnonymousScripts: true });
  const { node } = def;
  const written = atob(node.find((n) => n.op === "PyFunc")!.attr!.token.s as string);
  const named = (token: string): typeof def => ({
    ...def,
    node: node.map(({ device: _, ...n }) =>
      n.op === "PyFunc" ? { ...n, attr: { ...n.attr, token: { s: btoa(token) } } } : n
    ),
  });
  const attempt = async (token: string): Promise<unknown> => {
    const foreign = await TestSession.open(task, named(token) as never);
    return await foreign.run([y.name]);
  };
  // Here the graph may be read.
  new tf.Graph().asDefault(() => tf.importGraphDef(named(written)));
  await using session = new tf.Session({ graph, target: task.server.target });
  assertEquals(plain(await session.run(y)), [1]);
  assertEquals(calls, 1);
  for (const token of [written, `${written}:`, `${written}:${crypto.randomUUID()}`, "", ":"]) {
    await assertRejects(() => attempt(token), tf.errors.NotFoundError, "not registered");
  }
  assertEquals(calls, 1);
});

Deno.test("a task that two servers of this process serve is here until both have ended", () => {
  const spec = { job: "twice", task: 3 }, found: boolean[] = [];
  const look = (): void => void found.push(isThisProcess(spec));
  look();
  const leave = [1, 2].map(() => serveTask("twice", 3));
  look();
  for (const end of leave) {
    end();
    look();
  }
  assertEquals(found, [false, true, true, false]);
});
