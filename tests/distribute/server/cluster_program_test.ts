/** Steps that several tasks run together, with a task of ours as their master. */

import * as tf from "@weft/weft";
import { assert, assertEquals, assertRejects, assertStringIncludes } from "@std/assert";
import type { ServerOptions, Transport } from "@weft/weft/distribute";
import { array, freePort, type GraphDef, onTransports, TestSession, TestTask } from "./cluster.ts";
import { call } from "../../../src/cluster/wire/rpc.ts";
import { MasterService } from "../../../src/tensorflow/proto/master_pb.ts";
import { tensorToJson } from "../../../src/tensorflow/graph_def/values.ts";

const { errors } = tf;
const T = { type: "DT_FLOAT" };
const A = "/job:worker/task:0", B = "/job:worker/task:1", C = "/job:script/task:0";

function constant(name: string, value: number, device = ""): GraphDef["node"][number] {
  const attr = { dtype: T, value: { tensor: tensorToJson(array(value)) } };
  return { name, op: "Const", device, attr };
}

function node(
  name: string,
  op: string,
  device: string,
  input: string[],
  attr = {},
): GraphDef["node"][number] {
  return { name, op, device, input, attr: { T, ...attr } };
}

function script(
  name: string,
  token: string,
  input: string[],
  device = C,
): GraphDef["node"][number] {
  const list = (types: string[]) => ({ list: { type: types } });
  const attr = {
    token: { s: btoa(token) },
    Tin: list(input.filter((i) => i[0] !== "^").map(() => "DT_FLOAT")),
    Tout: list(["DT_FLOAT"]),
  };
  return { name, op: "PyFunc", device, input, attr };
}

function graph(...nodes: GraphDef["node"]): GraphDef {
  return { node: nodes, versions: { producer: 2000 } };
}

/** Three tasks; sessions are those of the first, which knows none of the scripts. */
class Tasks implements AsyncDisposable {
  readonly all: TestTask[] = [];
  readonly #options: ServerOptions[];

  private constructor(options: ServerOptions[]) {
    this.#options = options;
  }

  static async start(transport: Transport, scripts: ServerOptions["scripts"] = {}): Promise<Tasks> {
    const address = async (): Promise<string> => `127.0.0.1:${await freePort(transport)}`;
    const cluster = { worker: [await address(), await address()], script: [await address()] };
    const tasks = new Tasks([
      { cluster, transport, job: "worker" },
      { cluster, transport, job: "worker", task: 1 },
      { cluster, transport, job: "script", scripts },
    ]);
    for (const i of [0, 1, 2]) await tasks.restart(i);
    return tasks;
  }

  async restart(i: number): Promise<void> {
    await this.all[i]?.[Symbol.asyncDispose]();
    this.all[i] = await TestTask.start(this.#options[i]);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const task of this.all) await task[Symbol.asyncDispose]();
  }
}

const scripts = {
  "test.twice@1": (x: tf.NdArray) => x.map((v) => 2 * Number(v)),
  "test.boom@1": () => {
    throw new RangeError("never — ever");
  },
};

onTransports("values cross between three tasks, once for all who read them", async (transport) => {
  await using tasks = await Tasks.start(transport, scripts);
  const session = await TestSession.open(
    tasks.all[0],
    graph(
      { name: "x", op: "Placeholder", device: A, attr: { dtype: T } },
      constant("three", 3, B),
      node("y", "Mul", B, ["x", "three"]),
      script("z", "test.twice@1", ["y"]),
      node("u", "AddV2", A, ["z", "y"]),
      node("v", "Sub", C, ["z", "x"]),
    ),
  );
  const feeds = { "x:0": [1, 2] };
  const { values } = await session.run(["u:0", "v:0", "z:0", "x:0"], { feeds });
  assertEquals(values, [[9, 18], [5, 10], [6, 12], [1, 2]]);
  // A fed tensor cuts the graph, wherever it is made.
  assertEquals((await session.run(["u:0"], { feeds: { "y:0": [1, 1] } })).values, [[3, 3]]);
  await session.close();
});

onTransports(
  "variables stay at their task, and what waits for another task's op does wait",
  async (transport) => {
    await using tasks = await Tasks.start(transport);
    const handle = { dtype: T, shape: { shape: {} }, shared_name: { s: btoa("v") } };
    const def = graph(
      { name: "v", op: "VarHandleOp", device: B, attr: handle },
      constant("one", 1, A),
      { name: "init", op: "AssignVariableOp", input: ["v", "one"], attr: { dtype: T } },
      { name: "add", op: "AssignAddVariableOp", input: ["v", "one"], attr: { dtype: T } },
      { name: "read", op: "ReadVariableOp", input: ["v"], attr: { dtype: T } },
      node("after", "Identity", A, ["one", "^add"]),
      { name: "late", op: "ReadVariableOp", input: ["v", "^after"], attr: { dtype: T } },
    );
    const session = await TestSession.open(tasks.all[0], def);
    await session.run([], { target: ["init"] });
    assertEquals((await session.run(["late:0"])).values, [2]);
    assertEquals((await session.run(["read:0", "one:0"])).values, [2, 1]);
    // The variable is the other task's: its own sessions see it.
    const there = await TestSession.open(
      tasks.all[1],
      graph({ ...def.node[0], device: "" }, def.node[4]),
    );
    assertEquals((await there.run(["read:0"])).values, [2]);
    const isolated = await TestSession.open(tasks.all[0], def, { isolateSessionState: true });
    await assertRejects(() => isolated.run(["read:0"]), errors.UnimplementedError, "isolate");
  },
);

onTransports("branches and loops run at the task that they name", async (transport) => {
  await using tasks = await Tasks.start(transport, scripts);
  const enter = (name: string, from: string, isConstant = false) =>
    node(name, "Enter", "", [from], {
      frame_name: { s: btoa("f") },
      is_constant: { b: isConstant },
    });
  const session = await TestSession.open(
    tasks.all[0],
    graph(
      { name: "x", op: "Placeholder", device: A, attr: { dtype: T } },
      constant("zero", 0, A),
      constant("most", 100, A),
      enter("e", "x"),
      enter("m", "most", true),
      node("merge", "Merge", "", ["e", "next"], { N: { i: "2" } }),
      node("less", "Less", "", ["merge", "m"]),
      { name: "cond", op: "LoopCond", input: ["less"] },
      node("switch", "Switch", "", ["merge", "cond"]),
      script("twice", "test.twice@1", ["switch:1"]),
      node("next", "NextIteration", "", ["twice"]),
      node("exit", "Exit", "", ["switch"]),
      node("y", "Neg", B, ["exit"]),
    ),
  );
  assertEquals((await session.run(["y:0"], { feeds: { "x:0": 3 } })).values, [-192]);
});

onTransports(
  "errors name the task they come from; one that was started anew is used again",
  async (transport) => {
    await using tasks = await Tasks.start(transport, scripts);
    const session = await TestSession.open(
      tasks.all[0],
      graph(
        constant("c", 1, A),
        script("z", "test.twice@1", ["c"]),
        node("y", "Neg", B, ["z"]),
        script("boom", "test.boom@1", ["c"]),
        script("nobody", "test.nobody@1", ["c"]),
        node("n", "Neg", B, ["boom"]),
      ),
    );
    const error = await assertRejects(() => session.run(["n:0"]), errors.InvalidArgumentError);
    assertStringIncludes(error.message, "never — ever");
    assertStringIncludes(error.message, "/job:");
    await assertRejects(() => session.run(["nobody:0"]), errors.NotFoundError, '"test.nobody@1"');
    assertEquals((await session.run(["y:0"])).values, [-2]);
    await tasks.restart(2);
    const lost = await assertRejects(() => session.run(["y:0"]), errors.OpError);
    assert(
      lost instanceof errors.AbortedError || lost instanceof errors.UnavailableError,
      `${lost}`,
    );
    assertEquals((await session.run(["y:0"])).values, [-2]);
  },
);

onTransports("devices of all tasks that answer are listed", async (transport) => {
  await using tasks = await Tasks.start(transport);
  const names = async (): Promise<string[]> => {
    const { handle: sessionHandle } = await TestSession.open(tasks.all[0], graph());
    const { localDevice, remoteDevice } = await call(
      tasks.all[0].channel,
      MasterService.method.listDevices,
      { sessionHandle },
    );
    return [...localDevice, ...remoteDevice].map((d) => d.name).filter((n) => n.includes("CPU"));
  };
  const cpu = (task: string): string => `${task.replace("/task", "/replica:0/task")}/device:CPU:0`;
  assertEquals(await names(), [cpu(A), cpu(B), cpu(C)]);
  await tasks.all[1].server.stop();
  assertEquals(await names(), [cpu(A), cpu(C)]);
});

onTransports("a function that wants to be in two places is refused", async (transport) => {
  await using tasks = await Tasks.start(transport);
  const T = { list: { type: ["DT_FLOAT"] } };
  const body = [B, C].map((device, i) => node(`n${i}`, "Neg", device, [["x", "n0:y:0"][i]]));
  const def = {
    ...graph(constant("c", 1), {
      name: "y",
      op: "PartitionedCall",
      input: ["c"],
      attr: { f: { func: { name: "f" } }, Tin: T, Tout: T },
    }),
    library: {
      function: [{
        signature: {
          name: "f",
          inputArg: [{ name: "x", type: "DT_FLOAT" }],
          outputArg: [{ name: "y", type: "DT_FLOAT" }],
        },
        nodeDef: body,
        ret: { y: "n1:y:0" },
      }],
    },
  } as GraphDef;
  const session = await TestSession.open(tasks.all[0], def);
  await assertRejects(() => session.run(["y:0"]), errors.UnimplementedError, "several tasks");
  body[1].device = B;
  const one = await TestSession.open(tasks.all[0], def);
  assertEquals((await one.run(["y:0"])).values, [1]);
});
