/** Conditions of passes: for each a graph that it alone tells apart, and the ops that are left. */
import * as tf from "@weft/weft";
import { assertEquals } from "@std/assert";
import { apply } from "../../src/engine/core/apply.ts";
import { lookupOp } from "../../src/engine/core/op.ts";
import { buildIr, type IrGraph } from "../../src/engine/graph/ir.ts";
import { Clusters } from "../../src/engine/graph/passes/clusters.ts";
import type { PassName } from "../../src/engine/graph/passes/pipeline.ts";
import { applied } from "../../src/engine/graph/passes/pointwise_nodes.ts";
import { argument } from "../../src/engine/core/scalar/expr.ts";
import type { SymbolicTensor } from "../../src/engine/graph/operation.ts";
import { optimized } from "../graph/graph_text.ts";

type Build = () => tf.Tensor;

const place = (shape: (number | null)[] | null, name: string): tf.Tensor =>
  tf.placeholder("float32", shape, name);
const attention = (q: tf.Tensor, k: tf.Tensor, v: tf.Tensor): tf.Tensor =>
  tf.matMul(tf.softmax(tf.mul(tf.matMul(q, k, false, true), 0.5)), v);
const attended = (q: (name: string) => tf.Tensor): Build => () => {
  const [k, v] = ["k", "v"].map((name) => place([2, 3, 5, 4], name));
  return attention(q("q"), k!, v!);
};
const standard = (t: tf.Tensor): tf.Tensor => {
  const d = tf.sub(t, tf.mean(t, -1, true));
  return tf.div(d, tf.sqrt(tf.add(tf.mean(tf.mul(d, d), -1, true), 1e-3)));
};
type Join = (y: tf.Tensor, s: tf.Tensor, o: tf.Tensor) => tf.Tensor;
const scaled = (join: Join): Build => () =>
  join(standard(place([3, 4], "x")), place([4], "s"), place([4], "o"));
const dense = (x: tf.Tensor, from: number, to: number): tf.Tensor => {
  const rows = tf.matMul(tf.reshape(x, [-1, from]), place([from, to], "w"));
  return tf.reshape(rows, [...x.shape.slice(0, -1), to]);
};

/** Axes that stand in another order in memory. */
const turned = (): tf.Tensor => tf.transpose(place([4, 6, 5], "x"), [2, 0, 1]);

/** By pass: graphs, and their ops after it. */
const CASES: readonly [string, PassName, string[], Build][] = [
  ...([
    ["after", (y, s, o) => tf.add(tf.mul(y, s), o)],
    ["before", (y, s, o) => tf.add(o, tf.mul(y, s))],
    ["before and after", (y, s, o) => tf.add(tf.mul(s, y), o)],
    ["before both", (y, s, o) => tf.add(o, tf.mul(s, y))],
  ] as readonly (readonly [string, Join])[]).map((
    [what, join],
  ): [string, PassName, string[], Build] => [
    `a layer norm whose scale and offset stand ${what}`,
    "rewrite",
    ["_LayerNorm"],
    scaled(join),
  ]),
  [
    "a layer norm that begins with its deviation",
    "rewrite",
    ["_LayerNorm"],
    () => {
      const x = place([3, 4], "x"), centred = tf.sub(x, tf.mean(x, -1, true));
      const variance = tf.mean(tf.square(centred), -1, true);
      const y = tf.mul(tf.rsqrt(tf.add(variance, 1e-3)), centred);
      return tf.add(tf.mul(y, place([4], "s")), place([4], "o"));
    },
  ],
  [
    "rows beside a matrix that each batch reads again",
    "views",
    ["Reshape", "MatMul", "Reshape", "AddV2"],
    () => tf.add(dense(place([2, 3, 4], "x"), 4, 5), place([3, 5], "y")),
  ],
  [
    "a sum whose reader moves elements",
    "reductions",
    ["Sum", "ReverseV2"],
    () => tf.reverse(tf.sum(place([3, 4], "x"), -1), [0]),
  ],
  [
    "groups of queries without a batch",
    "views",
    ["Reshape", "Reshape", "BatchMatMulV2", "Reshape"],
    () => {
      const wide = tf.broadcastTo(place([2, 1, 5, 4], "y"), [2, 3, 5, 4]);
      return tf.matMul(place([6, 3, 4], "x"), tf.reshape(wide, [6, 5, 4]), false, true);
    },
  ],
  [
    "sums of rows that lose their axis",
    "views",
    ["Reshape", "MatMul", "Reshape", "Sum", "Neg"],
    () => tf.neg(tf.sum(dense(place([2, 3, 4], "x"), 4, 5), -1)),
  ],
  [
    "sums over rows before the last axis",
    "views",
    ["Reshape", "MatMul", "Reshape", "Sum", "Neg"],
    () => tf.neg(tf.sum(dense(place([2, 3, 4], "x"), 4, 5), 1, true)),
  ],
  [
    "sums of rows",
    "views",
    ["Reshape", "MatMul", "Sum", "Neg", "Reshape"],
    () => tf.neg(tf.sum(dense(place([2, 3, 4], "x"), 4, 5), 2, true)),
  ],
  [
    "a strided slice of fewer axes",
    "views",
    ["Transpose", "StridedSlice", "Transpose"],
    () => tf.transpose(tf.stridedSlice(turned(), [1], [3], [1]), [1, 2, 0]),
  ],
  [
    "a strided slice that drops an axis",
    "views",
    ["Transpose", "StridedSlice", "Transpose"],
    () =>
      tf.transpose(
        tf.stridedSlice(turned(), [1, 0, 0], [3, 4, 6], [1, 1, 1], 0, 0, 0, 0, 1),
        [1, 0],
      ),
  ],
  [
    "a strided slice with a new axis",
    "views",
    ["Transpose", "StridedSlice", "Reshape"],
    () =>
      tf.transpose(
        tf.stridedSlice(turned(), [0, 1, 0], [0, 3, 4], [1, 1, 1], 0, 0, 0, 1),
        [1, 2, 3, 0],
      ),
  ],
  [
    "attention of queries in their place",
    "attention",
    ["_FusedAttention"],
    attended((name) => tf.transpose(place([2, 5, 3, 4], name), [0, 2, 1, 3])),
  ],
  [
    "attention of keys that two axes hold",
    "attention",
    ["_FusedAttention"],
    () => {
      const [q, k, v] = ["q", "k", "v"].map((name) =>
        tf.reshape(tf.transpose(place([2, 5, 7, 3, 4], name), [0, 3, 1, 2, 4]), [2, 3, 35, 4])
      );
      return attention(q!, k!, v!);
    },
  ],
  [
    "attention of queries beside the units of four",
    "attention",
    ["Slice", "_FusedAttention"],
    attended((name) => tf.slice(place([2, 3, 5, 8], name), [0, 0, 0, 2], [2, 3, 5, 4])),
  ],
  [
    "attention of queries whose numbers lie apart",
    "attention",
    ["Transpose", "_FusedAttention"],
    attended((name) => tf.transpose(place([2, 3, 4, 5], name), [0, 1, 3, 2])),
  ],
];

const opsOf = (lines: readonly string[]): string[] =>
  lines.flatMap((l) => / = (\w+)\(/.exec(l)?.[1] ?? [])
    .filter((op) => !["Placeholder", "Const"].includes(op));

for (const [what, pass, ops, build] of CASES) {
  Deno.test(`the pass "${pass}" leaves ${ops.join(", ")} of ${what}`, () => {
    const lines = optimized(build, [pass]);
    assertEquals(opsOf(lines), ops, lines.join("\n"));
  });
}

Deno.test("batch normalization with channels first has its vectors before the other axes", () => {
  const lines = optimized(() => {
    const vectors = ["scale", "offset", "mean", "variance"].map((name) => place([2], name));
    const attrs = { T: "float32", epsilon: 1e-3, is_training: false, data_format: "NCHW" };
    return apply(lookupOp("FusedBatchNormV3")!, [place([1, 2, 3, 4], "x"), ...vectors], attrs)[0]!;
  }, ["filters"]);
  assertEquals(opsOf(lines), ["Reshape", "Reshape", "Reshape", "Reshape", "_BatchNorm"]);
  const shapes = lines.filter((l) => l.includes("= Reshape(")).map((l) => /\[.*\]/.exec(l)?.[0]);
  assertEquals(shapes, ["[2,1,1]", "[2,1,1]", "[2,1,1]", "[2,1,1]"], lines.join("\n"));
});

Deno.test("the text of a graph tells the second result of an op from the first", () => {
  const lines = optimized(() => tf.split(place([4], "x"), 2), []);
  assertEquals(lines.at(-1), "return %2, %2:1", lines.join("\n"));
});

Deno.test("attention with a matrix that hides later keys reads no mask", () => {
  const hidden = Float32Array.from({ length: 25 }, (_, i) => i % 5 <= Math.floor(i / 5) ? 0 : -1e9);
  for (const shape of [[5, 5], [1, 5, 5], [1, 1, 5, 5]]) {
    const lines = optimized(() => {
      const [q, k, v] = ["q", "k", "v"].map((name) => place([2, 3, 5, 4], name));
      const mask = new tf.NdArray("float32", shape, hidden);
      const scores = tf.add(tf.mul(tf.matMul(q!, k!, false, true), 0.5), mask);
      return tf.matMul(tf.softmax(scores), v!);
    }, ["attention"]);
    const inputs = /_FusedAttention\(([^)]*)\)/.exec(lines.join("\n"))?.[1]?.split(", ");
    assertEquals(inputs?.length, 3, lines.join("\n"));
  }
});

/** x, and what reads it: a script, and an op that waits for the script alone. */
function waiting(): IrGraph {
  const y = new tf.Graph().asDefault(() => {
    const x = tf.placeholder("float32", [2], "x");
    const first = tf.exp(x);
    const middle = tf.neg(first) as SymbolicTensor;
    return tf.controlDependencies([middle.operation], () => tf.abs(x));
  });
  return buildIr({ fetches: [y as unknown as SymbolicTensor], targets: [], feeds: [] });
}

Deno.test("Clusters.unite() sees ways through what a node waits for", () => {
  const ir = waiting(), byOp = (op: string) => ir.nodes.find(({ def }) => def.name === op)!;
  const clusters = new Clusters(ir);
  assertEquals(byOp("Abs").controls, [byOp("Neg")]);
  assertEquals(clusters.unite(byOp("Exp"), byOp("Abs")), false);
  assertEquals(clusters.unite(byOp("Neg"), byOp("Abs"), true), false);
  assertEquals(clusters.unite(byOp("Neg"), byOp("Abs")), true);
});

Deno.test("applied() keeps the second of two equal operands apart, so that no driver makes one of both", () => {
  const ir = buildIr({
    fetches: [
      new tf.Graph().asDefault(() => {
        const x = tf.placeholder("float32", [2], "x");
        return tf.sub(x, x);
      }) as unknown as SymbolicTensor,
    ],
    targets: [],
    feeds: [],
  });
  const x = argument(0), [sum] = applied(ir.nodes.find(({ def }) => def.name === "Sub")!, [x, x]);
  assertEquals(sum!.args.map(({ op }) => op), ["arg", "keep"]);
});
