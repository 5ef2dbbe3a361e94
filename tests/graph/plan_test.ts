/** Plans: order, devices, boundaries; placement asked for and refused. */
import * as tf from "@weft/weft";
import { assertEquals, assertRejects } from "@std/assert";
import type { SymbolicTensor } from "../../src/engine/graph/operation.ts";
import { planTrace } from "../../src/engine/runtime/plan/plan.ts";
import { planText } from "../../src/engine/runtime/debug.ts";
import { HAS_WEBGPU, testOnDevices } from "../devices.ts";

async function planOf(build: () => tf.Tensor | tf.Tensor[], feeds: tf.Feeds): Promise<string[]> {
  const graph = new tf.Graph();
  const fetches = graph.asDefault(build);
  let text = "";
  planTrace.print = (plan) => text = planText(plan);
  try {
    await using sess = new tf.Session({ graph });
    await sess.run(fetches as tf.Tensor, { feeds });
  } finally {
    planTrace.print = null;
  }
  return text.split("\n").map((l) => l.replace(/ {2}#.*/, ""));
}
Deno.test("a file's constants are computed with whatever their size, others where they are small", async () => {
  await tf.setBackend("cpu");
  const names = (size: number, isFromFile: boolean): Promise<string[]> =>
    planOf(() => {
      const big = tf.constant(new tf.NdArray("float32", [size, size], new Float32Array(size ** 2)));
      const all = [tf.transpose(big), tf.sum(big, 0)];
      if (isFromFile) {
        const { graph } = (big as unknown as SymbolicTensor).operation;
        for (const op of graph.operations) op.isFromFile = true;
      }
      return all;
    }, {});
  const count = async (size: number, isFromFile: boolean): Promise<number> =>
    (await names(size, isFromFile)).filter((line) => /Transpose|Sum/.test(line)).length;
  assertEquals(await count(20, false), 0);
  assertEquals(await count(200, false), 2);
  assertEquals(await count(200, true), 0);
});

/** Adds the arrays up, element by element. */
function sum(...args: unknown[]): tf.NdArray {
  const arrays = args.filter((a) => a instanceof tf.NdArray);
  return arrays[0].map((_, i) => arrays.reduce((s, a) => s + Number(a.data[i]), 0));
}

Deno.test({
  name: "a plan reads all that two scripts of one boundary need in one copy [webgpu]",
  ignore: !HAS_WEBGPU,
  async fn() {
    await tf.setBackend("webgpu");
    const lines = await planOf(() => {
      const x = tf.placeholder("float32", [2], "x");
      const a = tf.exp(x), b = tf.sqrt(x), spec = tf.TensorSpec([2], "float32");
      const p = tf.numpyFunction(sum, [a], spec), q = tf.numpyFunction(sum, [b, a], spec);
      return tf.matMul(tf.reshape(p, [1, 2]), tf.reshape(q, [2, 1]));
    }, { "x:0": [1, 4] });
    await tf.setBackend("cpu");
    assertEquals(lines.filter((l) => l.startsWith("read")).length, 1);
    assertEquals(
      lines.filter((l) => /^(Gpu|Host)/.test(l)).map((l) =>
        l.replace(/.*= /, "").replace(/\(.*/, "")
      ),
      [
        "_FusedPointwise",
        "PyFunc",
        "PyFunc",
        "MatMul",
      ],
    );
  },
});

Deno.test("a plan keeps on the CPU what asks for it, and what a GPU cannot hold", async () => {
  if (HAS_WEBGPU) await tf.setBackend("webgpu");
  const lines = await planOf(() => {
    const x = tf.placeholder("float32", [2], "x");
    const here = tf.device("/CPU:0", () => tf.exp(x));
    return [here, tf.neg(tf.cast(x, "float64"))];
  }, { "x:0": [1, 4] });
  await tf.setBackend("cpu");
  assertEquals(lines.filter((l) => l.startsWith("Gpu")), []);
});

testOnDevices("a script in the middle divides a plan at one readback", async (device) => {
  const lines = await planOf(() => {
    const x = tf.placeholder("float32", [2, 2], "x");
    const a = tf.matMul(x, x), b = tf.cumsum(x);
    const p = tf.numpyFunction(sum, [a, b], tf.TensorSpec([2, 2], "float32"));
    return tf.cumsum(tf.matMul(p, a));
  }, { "x:0": [[1, 2], [3, 4]] });
  const plan = [
    "$0 = feed 0",
    "Gpu  $1 = MatMul($0, $0)",
    "Gpu  $2 = Cumsum($0, $3 on host)",
    "read $1, $2",
    "Host $4 = PyFunc($1 on host, $2 on host)",
    "Gpu  $5 = MatMul($4, $1)",
    "Gpu  $6 = Cumsum($5, $3 on host)",
    "return $6",
  ];
  // Slots are numbered in the order of the plan; constants come before all else in the text.
  const shape = (l: string): string => l.replace(/\$\d+/g, "$").replace(/ on host/g, "");
  const onDevice = device === "webgpu"
    ? plan
    : plan.filter((l) => !l.startsWith("read")).map((l) => l.replace("Gpu ", "Cpu "));
  assertEquals(
    lines.filter((l) => !l.includes("constant") && !(device === "cpu" && l.startsWith("read")))
      .map(shape),
    onDevice.map(shape),
  );
});

Deno.test({
  name: "a compiled step reads its variables, computes, and assigns, without a readback [webgpu]",
  ignore: !HAS_WEBGPU,
  async fn() {
    await tf.setBackend("webgpu");
    const w = tf.variable(tf.ones([4, 2])), optimizer = tf.train.sgd(0.1);
    let text = "";
    planTrace.print = (plan) => text = planText(plan);
    try {
      const step = tf.function((x: tf.Tensor) =>
        optimizer.minimize(() => tf.mean(tf.square(tf.matMul(x, w))), true, [w])!
      );
      tf.tidy(() => step(tf.ones([3, 4])));
    } finally {
      planTrace.print = null;
    }
    const lines = text.split("\n");
    assertEquals(lines.filter((l) => l.startsWith("read")), []);
    // The learning rate is the host's; all else stays on the GPU.
    assertEquals(
      lines.filter((l) => l.startsWith("Cpu")).map((l) => l.replace(/\$\d+/g, "$").slice(0, 21)),
      ["Cpu  $ = Identity($) "],
    );
    const ops = lines.filter((l) => /^(Gpu|Host)/.test(l))
      .map((l) => `${l.slice(0, 4)} ${/(\w+)\(/.exec(l)![1]}`);
    // Handles of variables are constants.
    assertEquals(ops[0], "Host ReadVariableOp");
    assertEquals(ops.filter((o) => o === "Host VarHandleOp"), []);
    // The count of steps is advanced last.
    assertEquals(ops.slice(-2), ["Host AssignVariableOp", "Host AssignAddVariableOp"]);
    assertEquals(ops.filter((o) => o === "Gpu  MatMul").length, 2);
    w.dispose();
    optimizer.dispose();
    await tf.setBackend("cpu");
  },
});

testOnDevices("a placement that cannot be met is refused where soft placement is off", async () => {
  const graph = new tf.Graph();
  const y = graph.asDefault(() =>
    tf.device("/GPU:0", () => tf.numpyFunction(() => 1, [], "float32", { name: "h" }))
  );
  const hard = new tf.Session({ graph, allowSoftPlacement: false });
  await assertRejects(
    () => hard.run(y),
    tf.errors.InvalidArgumentError,
    "Cannot assign a device for operation h: {{node h}} was explicitly assigned to /device:GPU:0",
  );
  assertEquals(await new tf.Session({ graph }).run(y), 1);
});
