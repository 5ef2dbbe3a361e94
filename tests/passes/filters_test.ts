/** Constants that scale and shift what a filter gives go into the filter, in graphs out of files: same results, fewer ops. */
import * as tf from "@weft/weft";
import { assert, assertEquals } from "@std/assert";
import { pipelineOptions } from "../../src/engine/graph/passes/pipeline.ts";
import { testOnDevices } from "../devices.ts";

/** Numbers around zero, the same at each call. */
function noise(shape: readonly number[], from = 0): tf.NdArray {
  const size = shape.reduce((a, b) => a * b, 1);
  const data = Float32Array.from({ length: size }, (_, i) => Math.sin(1.7 * i + from));
  return new tf.NdArray("float32", shape, data);
}

const positive = (n: number): tf.NdArray => noise([n], 3).map((v) => Number(v) ** 2 + 0.3);

type Build = (x: tf.Tensor) => tf.Tensor | tf.Tensor[];
type Node = tf.GraphDefJson["node"][number];
type Nodes = readonly Node[];

/** A graph of one input, as it comes out of a file; `more` nodes of the file read its result. */
function fromFile(shape: (number | null)[], build: Build, more: Nodes = []) {
  const written = new tf.Graph();
  const results = written.asDefault(() => {
    const x = tf.placeholder("float32", shape, "x");
    return [build(x)].flat().map((y) => y.name);
  });
  const def = written.toGraphDef();
  const graph = new tf.Graph();
  const added = more.map((n) => ({ ...n, input: [results[0]!, ...n.input ?? []] }));
  const wanted = more.length > 0 ? [`${more.at(-1)!.name}:0`] : results;
  const fetches = graph.asDefault(() =>
    tf.importGraphDef({ ...def, node: [...def.node, ...added] }, {
      prefix: "",
      returnElements: wanted,
    })
  ) as tf.Tensor[];
  return { graph, fetches };
}

/** Runs a graph and says of which ops its plan consisted before ops were joined, and of how many in the end. */
async function planned(
  graph: tf.Graph,
  fetches: tf.Tensor[],
  feeds: Record<string, tf.TensorLike>,
): Promise<{ values: tf.NdArray[]; ops: string[]; kernels: number }> {
  let ops: string[] = [], kernels = 0;
  pipelineOptions.trace = (stage, ir) => {
    const all = ir.nodes.filter((n) => n.feed < 0).map((n) => n.def.name);
    const made = all.filter((op) => op !== "Const" && op !== "Identity").sort();
    if (stage === "cse" || stage === "filters") ops = made;
    kernels = made.length;
  };
  try {
    await using session = new tf.Session({ graph });
    if (graph.getCollection("variables").length > 0) {
      await session.run(graph.asDefault(tf.compat.v1.globalVariablesInitializer));
    }
    const values = await session.run(fetches, { feeds }) as tf.NdArray[];
    return { values, ops, kernels };
  } finally {
    pipelineOptions.trace = null;
  }
}

/** {@linkcode planned} without the pass. */
async function unfolded(...args: Parameters<typeof planned>): ReturnType<typeof planned> {
  const { passes } = pipelineOptions;
  pipelineOptions.passes = {
    CPU: passes.CPU.filter((p) => p !== "filters"),
    GPU: passes.GPU.filter((p) => p !== "filters"),
  };
  try {
    return await planned(...args);
  } finally {
    pipelineOptions.passes = passes;
  }
}

function assertNear(actual: tf.NdArray[], expected: tf.NdArray[], what: string): void {
  actual.forEach((a, k) => {
    const x = a.data as Float32Array, y = expected[k]!.data as Float32Array;
    assertEquals(a.shape, expected[k]!.shape, what);
    const scale = Math.max(...y.map(Math.abs));
    const worst = Math.max(...x.map((v, i) => Math.abs(v - y[i]!)));
    assert(worst <= 1e-5 * scale, `${what}: ${worst} of ${scale}`);
  });
}

const T = { type: "DT_FLOAT" };
/** A batch normalization by the statistics that the graph has as `gamma`, `beta`, `mean` and `variance`. */
const norm = (op: string, more: Node["attr"] = {}): Node => ({
  name: "norm",
  op,
  input: ["gamma", "beta", "mean", "variance"],
  attr: { T, U: T, epsilon: { f: 0.001 }, is_training: { b: false }, ...more },
});
const statistics = (n: number): void => {
  const named = (a: tf.NdArray, name: string) => tf.constant(a, "float32", [n], name);
  named(positive(n), "gamma");
  named(noise([n], 1), "beta");
  named(noise([n], 2), "mean");
  named(positive(n), "variance");
};
const V3 = (more: Node["attr"] = {}): Node[] => [norm("FusedBatchNormV3", more)];
const c = (value: tf.NdArray): tf.Tensor => tf.constant(value);
const filter = (...shape: number[]): tf.Tensor => c(noise(shape, 5));
const conv = (x: tf.Tensor): tf.Tensor => tf.conv2d(x, filter(3, 3, 2, 4), 1, "same");
const spelled = (x: tf.Tensor, n: number): tf.Tensor => {
  const factor = tf.mul(tf.rsqrt(tf.add(c(positive(n)), 0.001)), c(noise([n], 6)));
  return tf.add(tf.mul(x, factor), tf.sub(c(noise([n], 7)), tf.mul(c(noise([n], 8)), factor)));
};

/** The ops in the file, and those left in a plan for the CPU. */
const FOLDED: Readonly<Record<string, readonly [number[], Build, Nodes?]>> = {
  "spelled out": [[2, 5, 5, 2], (x) => spelled(conv(x), 4)],
  "after a bias, before an activation": [
    [2, 5, 5, 2],
    (x) => tf.relu(spelled(tf.add(conv(x), c(noise([4], 9))), 4)),
  ],
  "centred, then scaled": [
    [2, 5, 5, 2],
    (x) =>
      tf.add(tf.div(tf.sub(conv(x), c(noise([4]))), c(positive(4))), c(noise([1, 1, 1, 4], 2))),
  ],
  "subtracted from constants": [[2, 5, 5, 2], (x) => tf.mul(tf.sub(c(noise([4])), conv(x)), 0.5)],
  "of a depthwise convolution": [
    [2, 5, 5, 2],
    (x) => spelled(tf.depthwiseConv2d(x, filter(3, 3, 2, 3), 1, "same"), 6),
  ],
  "of a transposed convolution": [
    [2, 5, 5, 2],
    (x) => spelled(tf.conv2dTranspose(x, filter(2, 2, 3, 2), [2, 10, 10, 3], 2, "same"), 3),
  ],
  "of three convolutions with one filter": [[2, 5, 5, 2], (x) => {
    const shared = filter(3, 3, 2, 4);
    // The second has a factor of the first, the third has none.
    return [[1, 2, 3, 4], [1, 5, 6, 7], [9, 8, 7, 6]].map((factors, i) =>
      tf.mul(tf.conv2d([x, tf.exp(x), tf.sin(x)][i]!, shared, 1, "same"), tf.constant(factors))
    );
  }],
  "of a product": [[4, 3], (x) => spelled(tf.matMul(x, filter(3, 5)), 5)],
  "of a product with a transposed matrix": [
    [4, 3],
    (x) => spelled(tf.matMul(x, filter(5, 3), false, true), 5),
  ],
  "channels first": [
    [2, 2, 5, 5],
    (x) =>
      tf.add(
        tf.mul(tf.conv2d(x, filter(3, 3, 2, 4), 1, "same", "NCHW"), c(noise([4, 1, 1]))),
        c(noise([1, 4, 1, 1], 1)),
      ),
  ],
  ...Object.fromEntries(["", "V2", "V3"].map((v) => [
    `FusedBatchNorm${v}`,
    [[2, 5, 5, 2], (x: tf.Tensor) => {
      statistics(4);
      return conv(x);
    }, [norm(`FusedBatchNorm${v}`)]],
  ])),
  "FusedBatchNormV3, channels first": [[2, 2, 5, 5], (x) => {
    statistics(4);
    return tf.conv2d(x, filter(3, 3, 2, 4), 1, "same", "NCHW");
  }, V3({ data_format: { s: btoa("NCHW") } })],
};

const POINTWISE = /^(_BatchNorm|FusedBatchNormV3|Mul|AddV2|Sub|RealDiv)$/;

for (const [name, [shape, build, more]] of Object.entries(FOLDED)) {
  testOnDevices(`a batch norm ${name} goes into the filter before it`, async () => {
    const { graph, fetches } = fromFile(shape, build, more);
    const feeds = { "x:0": tf.tensor(noise(shape, 4)) };
    const plain = await unfolded(graph, fetches, feeds);
    const found = await planned(graph, fetches, feeds);
    assertNear(found.values, plain.values, name);
    assert(plain.ops.filter((op) => POINTWISE.test(op)).length > 0, `${plain.ops}`);
    const left = found.ops.filter((op) => POINTWISE.test(op));
    assert(left.every((op) => op === "AddV2") && left.length <= 1, `${name}: ${found.ops}`);
    // A product that nothing is joined to has one op after it where there were several joined.
    assert(found.kernels <= plain.kernels, `${found.kernels} kernels, unfolded ${plain.kernels}`);
    if (/^FusedBatchNorm[V23]*$/.test(name)) assert(found.kernels < plain.kernels);
  });
}

/** Where nothing may be folded, each with what fetches and feeds. */
const KEPT: Readonly<
  Record<string, readonly [Build, Nodes?, Record<string, tf.TensorLike>?]>
> = {
  "the convolution is read elsewhere too": [(x) => {
    const y = conv(x);
    return tf.add(spelled(y, 4), tf.exp(y));
  }],
  "the convolution is fetched": [(x) => {
    const y = conv(x);
    return [y, spelled(y, 4)];
  }],
  "something waits for it": [(x) => {
    const y = conv(x);
    return tf.controlDependencies([y], () => tf.add(spelled(y, 4), tf.constant(1)));
  }],
  "the factor waits for something": [(x) => {
    const y = conv(x);
    return tf.controlDependencies([tf.exp(x)], () => tf.mul(y, c(noise([4]))));
  }],
  "the factor is on another device": [(x) => {
    const y = conv(x);
    return tf.device("/CPU:0", () => tf.mul(y, c(noise([4]))));
  }],
  "the factor is no constant": [(x) => tf.mul(conv(x), tf.mean(x))],
  "the factor is a variable": [(x) => tf.mul(conv(x), tf.variable([1, 2, 3, 4]))],
  "the factor is fed": [
    (x) => tf.mul(conv(x), tf.constant([1, 2, 3, 4], "float32", [4], "s")),
    [],
    { "s:0": [4, 3, 2, 1] },
  ],
  "the filter is fed": [
    (x) =>
      spelled(
        tf.conv2d(
          x,
          tf.constant(noise([3, 3, 2, 4]), "float32", [3, 3, 2, 4], "w"),
          1,
          "same",
        ),
        4,
      ),
    [],
    { "w:0": noise([3, 3, 2, 4], 9) },
  ],
  "a factor varies along another axis": [(x) => tf.mul(conv(x), c(noise([5, 1])))],
  "a factor varies along another axis of as many elements": [
    (x) => tf.mul(tf.conv2d(x, filter(3, 3, 2, 5), 1, "same"), c(noise([5, 1]))),
  ],
  "a factor has more axes than the result": [(x) => tf.mul(conv(x), c(noise([1, 1, 1, 1, 4])))],
  "a division only makes levels": [
    (x) => tf.round(tf.div(conv(x), tf.constant([0.1, 0.2, 0.3, 0.4]))),
  ],
  "a factor is not finite": [(x) => tf.mul(conv(x), tf.constant([1, Infinity, 2, NaN]))],
  "a variance is zero and there is no epsilon": [
    (x) => tf.mul(conv(x), tf.rsqrt(tf.constant([0, 1, 2, 3]))),
  ],
  "a channel would have no digits left": [
    (x) => tf.mul(tf.mul(conv(x), tf.constant([1e-30, 1, 1, 1])), tf.constant([1e-12, 1, 1, 1])),
  ],
  "a factor overflows": [
    (x) => tf.mul(tf.mul(conv(x), tf.constant([3e38, 1, 1, 1])), tf.constant([3e38, 1, 1, 1])),
  ],
  "the batch's own statistics count": [(x) => {
    statistics(4);
    return conv(x);
  }, V3({ is_training: { b: true } })],
};

for (const [name, [build, more, fed = {}]] of Object.entries(KEPT)) {
  testOnDevices(`a batch norm stays where ${name}`, async () => {
    const { graph, fetches } = fromFile([2, 5, 5, 2], build, more);
    const feeds = { "x:0": noise([2, 5, 5, 2], 4), ...fed };
    const plain = await unfolded(graph, fetches, feeds),
      found = await planned(graph, fetches, feeds);
    assertEquals(found.ops, plain.ops);
    assertEquals(
      found.values.map((v) => [...v.data as Float32Array]),
      plain.values.map((v) => [...v.data as Float32Array]),
    );
  });
}

testOnDevices("what a user writes keeps the bits of eager calls", () => {
  const f = (x: tf.Tensor): tf.Tensor =>
    spelled(tf.conv2d(x, noise([3, 3, 2, 4], 5), 1, "same"), 4);
  using x = tf.tensor(noise([2, 5, 5, 2], 4));
  assertEquals((tf.function(f)(x) as tf.Tensor).dataSync(), f(x).dataSync());
});

testOnDevices("a graph with folded filters is differentiated and written as it is", async () => {
  const { graph, fetches: [y] } = fromFile([2, 5, 5, 2], (x) => tf.relu(spelled(conv(x), 4)));
  const feeds = { "x:0": noise([2, 5, 5, 2], 4) };
  const [dx] = graph.asDefault(() =>
    tf.gradients(y!, [graph.getTensorByName("x:0")])
  ) as tf.Tensor[];
  const plain = await unfolded(graph, [y!, dx!], feeds);
  assertNear((await planned(graph, [y!, dx!], feeds)).values, plain.values, "gradient");
  const ops = graph.toGraphDef().node.map((n) => n.op);
  assert(["Conv2D", "Rsqrt", "Mul", "AddV2"].every((op) => ops.includes(op)), ops.join());
});

Deno.test("weights that a file makes of constants are computed once", async () => {
  await tf.setBackend("cpu");
  const { graph, fetches } = fromFile([2, 300], (x) => {
    const stored = tf.constant(new tf.NdArray("uint8", [300, 300], new Uint8Array(90_000).fill(7)));
    return tf.matMul(x, tf.mul(tf.cast(stored, "float32"), 0.5));
  });
  const { ops, values } = await planned(graph, fetches, { "x:0": tf.ones([2, 300]) });
  assertEquals(ops, ["MatMul"]);
  assertEquals(values[0]!.get(1, 1), 1050);
});
