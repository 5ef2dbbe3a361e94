/**
 * Portable GraphDefs: only ops of TensorFlow, and the same numbers. TensorFlow 2.21 was asked about every graph of `graphs.ts`:
 * `ask_tensorflow.py` wrote what it said to `tensorflow.json`.
 */
import * as tf from "@weft/weft";
import { assert, assertEquals, assertThrows } from "@std/assert";
import { type OpDef, registeredOps } from "../../src/engine/core/op.ts";
import { difference, type Tolerance } from "../../src/library/testing/compare.ts";
import { testOnDevices } from "../devices.ts";
import { allCases, type Case, casesOf, opsInParts, program, PROGRAM_NAMES, run } from "./graphs.ts";
import asked from "./tensorflow.json" with { type: "json" };
import known from "./tensorflow_ops.json" with { type: "json" };

const TENSORFLOW = new Set<string>(known);
const TOLERANCE = { ulps: 512, ulpsOfLargest: 128, absolute: 1e-6 };
/** Ops in parts that have no samples: programs have them. */
const IN_PROGRAMS = new Set(
  PROGRAM_NAMES.flatMap((name) => program(name).graph.operations.map((op) => op.type)),
);

function opsIn({ node, library }: tf.GraphDefJson): string[] {
  return [...node, ...(library?.function ?? []).flatMap((f) => f.nodeDef)].map((n) => n.op);
}

async function check(c: Case, tolerance: Tolerance = TOLERANCE): Promise<void> {
  const def = JSON.parse(JSON.stringify(c.graph.toGraphDef())) as tf.GraphDefJson;
  assertEquals(
    opsIn(def).filter((op) => !TENSORFLOW.has(op)),
    [],
    `${c.name}: no ops of TensorFlow`,
  );
  const again = new tf.Graph();
  const found = again.asDefault(() =>
    tf.importGraphDef(def, { prefix: "", returnElements: c.fetches })
  ) as tf.Tensor[];
  const wanted = await run(c.graph, c.fetches.map((f) => c.graph.getTensorByName(f)), c);
  const got = await run(again, found, c);
  wanted.forEach((w, k) =>
    assertEquals(difference(got[k], w, w.dtype, tolerance), null, `${c.name}, output ${k}`)
  );
}

testOnDevices(
  "toGraphDef() writes programs in ops of TensorFlow that compute the same",
  async (_, t) => {
    for (const name of PROGRAM_NAMES) await t.step(name, () => check(program(name)));
  },
);

testOnDevices(
  "toGraphDef() writes every op of our own in ops of TensorFlow that compute the same",
  async (_, t) => {
    for (const def of opsInParts()) {
      const cases = casesOf(def);
      assert(cases.length > 0 || IN_PROGRAMS.has(def.name), `${def.name} has no samples`);
      await t.step(def.name, async () => {
        for (const c of cases) await check(c);
      });
    }
  },
);

/** Functions of several parts. */
const HALVES: Readonly<Record<string, (x: tf.Tensor) => tf.Tensor>> = {
  "layer norm": (x) => tf.layerNorm(x),
  "layer norm, its gradient": (x) => tf.gradients(tf.sum(tf.sin(tf.layerNorm(x))), [x])[0]!,
  "batch norm": (x) => tf.batchNorm(x, tf.mean(x, 0), tf.square(tf.mean(x, 0))),
  "cross entropy": (x) =>
    tf.nn.softmaxCrossEntropyWithLogits({ labels: tf.softmax(tf.neg(x)), logits: tf.mul(x, 9) }),
  attention: (x) => {
    const rows = tf.reshape(x, [1, 2, 1, 3]);
    return tf.scaledDotProductAttention(rows, tf.mul(rows, 40), rows);
  },
  gelu: (x) => tf.gelu(tf.mul(tf.sub(x, 1.5), 20)),
  moments: (x) => tf.moments(x, 1).variance,
};

testOnDevices("toGraphDef() writes parts that compute float16 as their op does", async (_, t) => {
  const rows = [1.5078125, 1.5859375, 1.46875, 1.515625, -0.25, 0.265625];
  const x = new tf.NdArray("float16", [2, 3], Float16Array.from(rows));
  for (const [name, fn] of Object.entries(HALVES)) {
    await t.step(name, async () => {
      const graph = new tf.Graph();
      const y = graph.asDefault(() => fn(tf.placeholder("float16", [2, 3], "x")));
      const fetches = [y.name], c = { name, op: name, graph, feeds: { "x:0": x }, fetches };
      await check(c, { ulps: 2, ulpsOfLargest: 2 });
    });
  }
});

Deno.test("TensorFlow ran every graph that is written, and computed the same to 3e-6", () => {
  const graphs: Record<string, number> = {};
  for (const { op } of allCases()) graphs[op] = (graphs[op] ?? 0) + 1;
  const found = Object.entries(asked as Record<string, { graphs: number; distance: number }>);
  assertEquals(
    Object.fromEntries(found.map(([op, { graphs }]) => [op, graphs])),
    graphs,
    "what is in tensorflow.json: run ask_tensorflow.py",
  );
  assertEquals(found.filter(([, { distance }]) => !(distance <= 3e-6)), []);
});

Deno.test("every op is TensorFlow's, has parts or a reason why not", () => {
  const own = registeredOps().filter((d) =>
    (d.portable === undefined || typeof d.portable === "object" && "without" in d.portable) &&
    !TENSORFLOW.has(d.name)
  );
  assertEquals(own.map((d) => d.name), ["Scan"], "say `portable` of them");
});

Deno.test("toGraphDef() and portability() list the nodes that TensorFlow cannot have", () => {
  const g = new tf.Graph();
  g.asDefault(() => {
    const x = tf.placeholder("float32", [1, 4, 4, 1], "x");
    tf.function((t: tf.Tensor) => tf.image.rotateWithOffset(t, 1))(x);
    tf.image.rotateWithOffset(x, 1);
    tf.maxPool(x, 2, 1, "valid");
    tf.pool(x, [2, 2], "max", "valid", [2, 2]);
  });
  const report = tf.portability(g);
  assertEquals(report.map(({ node, op, function: f }) => [node, op, f !== undefined]), [
    ["RotateWithOffset", "RotateWithOffset", true],
    ["RotateWithOffset", "RotateWithOffset", false],
    ["MaxPool_1", "MaxPool", false],
  ]);
  assertEquals(
    report[2].reason,
    "TensorFlow's MaxPool has no attribute dilations, which is 1,2,2,1 here",
  );
  const error = assertThrows(() => g.toGraphDef(), tf.ValueError, "no counterpart of 3 nodes");
  for (const { node, reason } of report) {
    assert(error.message.includes(`"${node}"`) && error.message.includes(reason), error.message);
  }
  assertEquals(opsIn(g.toGraphDef({ portable: false })).includes("RotateWithOffset"), true);
});

Deno.test("toGraphDef() writes einsum() of any number of operands as ones of at most two", () => {
  const graph = new tf.Graph();
  graph.asDefault(() => {
    const x = tf.placeholder("float32", [2, 2], "x");
    tf.gradients(tf.sum(tf.einsum("ij,jk,kl,lm->im", x, x, x, x)), x);
  });
  assertEquals(tf.portability(graph), []);
  const counts = graph.toGraphDef().node.filter((n) => n.op === "Einsum").map((n) =>
    Number(n.attr!.N!.i)
  );
  assert(counts.length > 3 && counts.every((n) => n <= 2), `${counts}`);
});

/** Programs with ops that TensorFlow has no counterpart of. */
const WITHOUT: Readonly<Record<string, (x: tf.Tensor) => unknown>> = {
  "a gradient through a branch": (x) =>
    tf.gradients(tf.cond(tf.greater(tf.sum(x), 0), () => tf.sum(x), () => tf.sum(tf.neg(x))), x),
  "gradients of variables that scripts read": (x) => {
    const v = tf.variable([1, 2, 3], true, "v");
    const read = (y: tf.Tensor) => tf.pyFunction((y: tf.Tensor) => tf.mul(y, v), [y], "float32");
    const loss = tf.add(tf.sum(read(x)), tf.sum(read(tf.neg(x))));
    tf.train.sgd(0.1).minimize(() => loss);
    return tf.variableGrads(() => loss as tf.Scalar);
  },
  "a step of the host for each row": (x) =>
    tf.vmap((seed: tf.Tensor) => tf.random.split(seed))(tf.cast(tf.stack([x, x], 1), "int32")),
  "rows of ragged tensors that must be equal": (x) => {
    const [a, b] = ["a", "b"].map((name) =>
      tf.RaggedTensor.fromRowSplits(x, tf.placeholder("int32", [3], name))
    );
    return tf.add(a as unknown as tf.Tensor, b as unknown as tf.Tensor);
  },
};

Deno.test("portability() names the nodes of every op of our own that a graph may hold and TensorFlow not", () => {
  const graphs = registeredOps().flatMap((def) => unportable(def) ? casesOf(def) : []).map((c) =>
    c.graph
  );
  for (const [name, build] of Object.entries(WITHOUT)) {
    const graph = new tf.Graph();
    graph.asDefault(() => build(tf.placeholder("float32", [3], "x")));
    assertThrows(
      () => graph.toGraphDef({ allowAnonymousScripts: true }),
      tf.ValueError,
      "no counterpart",
      name,
    );
    graphs.push(graph);
  }
  const named = new Set<string>();
  for (const graph of graphs) {
    for (const { node, op } of tf.portability(graph)) {
      assertEquals(graph.getOperationByName(node).type, op);
      named.add(op);
    }
  }
  assertEquals(
    registeredOps().filter((d) => unportable(d) && !named.has(d.name)).map((d) => d.name).sort(),
    [
      ...["_FusedAttention", "_FusedAttentionGrad", "_FusedPointwise"],
      ...["_GroupedColumnSum", "_GroupedUpdate", "_OntoRows", "_ProductWrite"],
    ],
    "ops that plans alone make",
  );
});

function unportable({ portable }: OpDef): boolean {
  return typeof portable === "object" && "never" in portable;
}

Deno.test("toGraphDef({ portable: false }) writes ops as they are", () => {
  const g = new tf.Graph();
  g.asDefault(() => tf.mapFn((r) => tf.gelu(r), tf.placeholder("float32", [2, 3], "x")));
  const ops = opsIn(g.toGraphDef({ portable: false }));
  assertEquals([ops.includes("Scan"), ops.includes("Gelu")], [true, true]);
});

Deno.test("the parts of an op have a name scope that no other op has, its device, and what it waits for", () => {
  const g = new tf.Graph();
  g.asDefault(() => {
    const x = tf.placeholder("float32", [2], "x");
    tf.nameScope("g", () => tf.neg(x));
    const c = tf.constant(1, "float32", [], "c");
    tf.controlDependencies([c], () => tf.device("/CPU:0", () => tf.gelu(x)));
  });
  const { node } = g.toGraphDef();
  const parts = node.filter((n) => n.name.startsWith("Gelu"));
  assertEquals(parts.at(-1)!.op, "Identity");
  assertEquals(new Set(node.map((n) => n.name.toLowerCase())).size, node.length);
  for (const p of parts) {
    assertEquals([p.device, p.input?.includes("^c")], ["/device:CPU:0", true], p.name);
  }
});

const root = tf.registerScript(
  "weft.tests.portable.root@1",
  (x: tf.NdArray) => x.map((v) => Math.sqrt(Number(v))),
);
const twice = tf.registerScript("weft.tests.portable.twice@1", (x: tf.Tensor) => tf.add(x, x));

testOnDevices("toGraphDef() keeps scripts in the bodies of loops over rows", async () => {
  const graph = new tf.Graph();
  const spec = tf.TensorSpec([3], "float32");
  const y = graph.asDefault(() =>
    tf.mapFn(
      (r) => tf.pyFunction(twice, [tf.numpyFunction(root, [r], spec)], spec),
      tf.placeholder("float32", [null, 3], "x"),
    )
  );
  const { library } = graph.toGraphDef();
  assertEquals(library!.function.map((f) => f.signature.isStateful ?? false), [true, false, true]);
  await check({
    name: "scripts",
    op: "scripts",
    graph,
    feeds: { "x:0": new tf.NdArray("float32", [2, 3], Float32Array.of(1, 2, 3, 4, 5, 6)) },
    fetches: [y.name],
  });
});
