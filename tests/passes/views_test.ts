/** Changes of shapes that plans leave out or make later. */
import * as tf from "@weft/weft";
import { assert, assertEquals } from "@std/assert";
import type { SymbolicTensor } from "../../src/engine/graph/operation.ts";
import type { PassName } from "../../src/engine/graph/passes/pipeline.ts";
import { difference } from "../../src/library/testing/compare.ts";
import { testOnDevices } from "../devices.ts";
import { optimized, withPasses } from "../graph/graph_text.ts";

type Build = () => tf.Tensor | tf.Tensor[];

const place = (shape: (number | null)[], name: string): tf.Tensor =>
  tf.placeholder("float32", shape, name);
const dense = (x: tf.Tensor, inputs: number, units: number, name: string): tf.Tensor =>
  tf.add(tf.matMul(x, place([inputs, units], `${name}w`)), place([units], `${name}b`));
const heads = (x: tf.Tensor, groups: number): tf.Tensor => {
  const [batch, kv, time, depth] = x.staticShape as number[];
  const wide = tf.broadcastTo(tf.expandDims(x, 2), [batch, kv, groups, time, depth]);
  return tf.reshape(wide, [batch, kv * groups, time, depth]);
};

/** Levels of a file's quantised values, between -8 and 7. */
const levels = (x: tf.Tensor, most = 7): tf.Tensor =>
  tf.cast(tf.clipByValue(tf.add(tf.round(tf.mul(x, 3)), 1), -8, most), "int8");
/** A file's whole numbers that become levels, and float32 again. */
const quantised = (x: tf.Tensor, low: tf.TensorLike = -8, high: tf.TensorLike = 7): tf.Tensor =>
  fromFile(tf.neg(tf.cast(tf.cast(tf.clipByValue(x, low, high), "int8"), "float32")));
/** Marks the ops of a graph as a file's. */
const fromFile = (y: tf.Tensor): tf.Tensor => {
  for (const op of (y as unknown as SymbolicTensor).operation.graph.operations) {
    op.isFromFile = true;
  }
  return y;
};

/** Graphs, and the ops that are left of them. */
const CASES: readonly [string, readonly string[], Build][] = [
  ["handles of a value", ["Neg", "Neg"], () => {
    const x = tf.neg(place([2, 3], "x"));
    return tf.neg(tf.identity(tf.stopGradient(tf.identity(x))));
  }],
  [
    "reshapes in a row",
    ["Reshape", "Neg"],
    () => tf.neg(tf.expandDims(tf.reshape(tf.squeeze(place([2, 1, 6], "x"), 1), [4, 3]), 0)),
  ],
  [
    "reshapes there and back",
    ["Neg", "Neg"],
    () => tf.neg(tf.reshape(tf.reshape(tf.neg(place([2, 6], "x")), [4, 3]), [2, 6])),
  ],
  [
    "a broadcast to the same shape",
    ["Neg", "Neg"],
    () => tf.neg(tf.broadcastTo(tf.neg(place([2, 6], "x")), [2, 6])),
  ],
  [
    "a transposition of axes of extent 1",
    ["Neg", "Reshape", "Exp"],
    () => tf.exp(tf.transpose(tf.neg(place([2, 1, 5, 1], "x")), [1, 0, 3, 2])),
  ],
  [
    "a layer over batches",
    ["Reshape", "MatMul", "AddV2", "Relu", "Reshape"],
    () => tf.relu(dense(place([2, 3, 4], "x"), 4, 5, "a")),
  ],
  [
    "two layers over batches",
    ["Reshape", "MatMul", "AddV2", "MatMul", "AddV2", "Reshape"],
    () => dense(dense(place([2, 3, 4], "x"), 4, 5, "a"), 5, 6, "b"),
  ],
  [
    "a residual, a norm and a layer",
    ["Reshape", "MatMul", "AddV2", "AddV2", "_LayerNorm", "MatMul", "AddV2", "Reshape"],
    () => {
      const x = place([2, 3, 4], "x"), y = tf.add(x, dense(x, 4, 4, "a"));
      return dense(tf.layerNorm(y, place([4], "s"), place([4], "o")), 4, 6, "b");
    },
  ],
  [
    "a root mean square of each row",
    ["Reshape", "MatMul", "Square", "Mean", "Rsqrt", "Mul", "MatMul", "Reshape"],
    () => {
      const y = tf.matMul(place([2, 3, 4], "x"), place([4, 4], "a"));
      const norm = tf.mul(y, tf.rsqrt(tf.mean(tf.square(y), -1, true)));
      return tf.matMul(norm, place([4, 2], "b"));
    },
  ],
  [
    "a product with transposed matrices",
    ["MatMul"],
    () => tf.matMul(tf.transpose(place([4, 3], "x")), tf.transpose(place([5, 4], "y"))),
  ],
  [
    "a product of batches with exchanged axes",
    ["BatchMatMulV2"],
    () => tf.matMul(place([2, 3, 4], "x"), tf.transpose(place([2, 5, 4], "y"), [0, 2, 1])),
  ],
  [
    "keys with heads and times exchanged",
    ["Transpose", "BatchMatMulV2"],
    () => tf.matMul(place([2, 3, 6, 4], "x"), tf.transpose(place([2, 5, 3, 4], "y"), [0, 2, 3, 1])),
  ],
  [
    "levels that stay numbers",
    ["Mul", "Round", "AddV2", "ClipByValue", "Neg"],
    () => fromFile(tf.neg(tf.cast(levels(place([2, 3], "x")), "float32"))),
  ],
  [
    "levels that are moved",
    ["Mul", "Round", "AddV2", "ClipByValue", "Reshape", "Neg"],
    () => {
      const moved = tf.transpose(tf.reshape(levels(place([2, 6], "x")), [3, 4]));
      return fromFile(tf.neg(tf.transpose(tf.cast(moved, "float32"))));
    },
  ],
  [
    "levels of whole numbers that another cast made",
    ["Cast", "Cast", "ClipByValue", "Neg"],
    () => quantised(tf.cast(tf.cast(place([2, 3], "x"), "int32"), "float32")),
  ],
  [
    "levels of whole numbers that were moved before",
    ["Round", "Reshape", "ClipByValue", "Neg"],
    () => quantised(tf.reshape(tf.round(place([2, 6], "x")), [3, 4])),
  ],
  [
    "the same view by two ops",
    ["Reshape", "Neg", "Exp"],
    () => {
      const x = place([1, 6], "x");
      return [tf.neg(tf.reshape(x, [6])), tf.exp(tf.squeeze(x, 0))];
    },
  ],
  [
    "transpositions there and back",
    ["Neg", "Exp"],
    () => tf.exp(tf.transpose(tf.neg(tf.transpose(place([2, 3, 4], "x"), [2, 0, 1])), [1, 2, 0])),
  ],
  [
    "transpositions in a row",
    ["Neg", "Transpose"],
    () => tf.neg(tf.transpose(tf.transpose(place([2, 3, 4], "x"), [2, 0, 1]), [1, 0, 2])),
  ],
  [
    "images between two layouts",
    ["Mul", "Reshape", "AddV2", "Pad", "Slice", "Slice", "ConcatV2", "Mean"],
    () => {
      const x = tf.transpose(place([2, 3, 4, 5], "x"), [0, 3, 1, 2]);
      const y = tf.pad(tf.add(tf.mul(x, 2), tf.reshape(place([5], "b"), [5, 1, 1])), [
        [0, 0],
        [1, 0],
        [0, 2],
        [0, 0],
      ]);
      const part = tf.slice(y, [0, 1, 0, 0], [2, 5, 3, 4]);
      const whole = tf.concat([part, tf.slice(y, [0, 0, 0, 0], [2, 6, 3, 4])], 1);
      return tf.transpose(tf.mean(whole, 2, true), [0, 2, 3, 1]);
    },
  ],
  ["a strided slice of turned axes", ["StridedSlice"], () => {
    const x = tf.transpose(place([4, 6, 5], "x"), [2, 0, 1]);
    return tf.transpose(tf.stridedSlice(x, [0, 1, 5], [5, 4, 0], [2, 1, -2], 1, 2), [1, 2, 0]);
  }],
  [
    "heads that groups of queries have in common",
    ["Reshape", "BatchMatMulV2", "Reshape"],
    () => tf.matMul(place([2, 6, 3, 4], "x"), heads(place([2, 2, 5, 4], "y"), 3), false, true),
  ],
  [
    "values that groups have in common",
    ["Reshape", "BatchMatMulV2", "Reshape"],
    () => tf.matMul(place([2, 6, 3, 5], "x"), heads(place([2, 2, 5, 4], "y"), 3)),
  ],
];

/** A whole number that a run knows. */
const bound = (): tf.Tensor => tf.round(place([], "bound"));

type Range = readonly [dtype: tf.DType, low: number, high: number];
const cut = ([dtype, low, high]: Range): tf.Tensor =>
  tf.neg(tf.cast(tf.cast(tf.clipByValue(tf.round(place([2], "x")), low, high), dtype), "float32"));
/** Ranges that a dtype holds, and ranges beyond it at either end. */
const HELD: readonly Range[] = [
  ["int8", -128, 127],
  ["uint8", 0, 255],
  ["int16", -32768, 32767],
  ["uint16", 0, 65535],
];
const BEYOND: readonly Range[] = HELD.flatMap(([dtype, low, high]): Range[] => [
  [dtype, low - 1, high],
  [dtype, low, high + 1],
]);
/** Dtypes that change such numbers, or are no narrow integers. */
const OTHERS: readonly Range[] = [["bool", 0, 9], ["float16", 0, 4097], ["int32", 0, 9]];

/** Graphs that must stay as they are. */
const STAYS: readonly [string, Build][] = [
  ["one part of several that is turned", () => {
    const x = tf.transpose(place([2, 3, 4], "x"), [2, 0, 1]);
    return tf.transpose(tf.concat([x, place([4, 2, 3], "y")], 0), [1, 2, 0]);
  }],
  ["parts that are turned differently", () => {
    const x = tf.transpose(place([2, 3, 4], "x"), [2, 0, 1]);
    return tf.concat([x, tf.transpose(place([2, 4, 3], "y"), [1, 0, 2])], 0);
  }],
  ["levels of a program", () => tf.neg(tf.cast(levels(place([2, 3], "x")), "float32"))],
  [
    "levels beyond their dtype",
    () => fromFile(tf.neg(tf.cast(levels(place([2, 3], "x"), 200), "float32"))),
  ],
  [
    "halves that a cast cuts",
    () =>
      fromFile(tf.neg(tf.cast(tf.cast(tf.clipByValue(place([2], "x"), 0, 9), "uint8"), "float32"))),
  ],
  [
    "levels of halves that another cast made",
    () => quantised(tf.cast(tf.cast(place([2, 3], "x"), "float16"), "float32")),
  ],
  ["levels from an unknown bound", () => quantised(tf.round(place([4], "x")), bound())],
  ["levels to an unknown bound", () => quantised(tf.round(place([4], "x")), -8, bound())],
  ["a fetched handle of a feed", () => tf.identity(place([2], "x"))],
  ["a reshape of unknown extents", () => tf.reshape(place([null, 4], "x"), [2, -1, 2])],
  ["a transposition that moves rows", () => tf.transpose(place([2, 3, 1], "x"), [1, 0, 2])],
  ["a broadcast to more rows", () => tf.neg(tf.broadcastTo(place([1, 3], "x"), [2, 3]))],
  [
    "a sum with more axes than rows",
    () => tf.add(tf.matMul(place([2, 3], "x"), place([3, 4], "y")), place([2, 1, 4], "z")),
  ],
  [
    "heads that queries do not have",
    () => tf.matMul(place([1, 6, 3, 4], "x"), heads(place([2, 2, 5, 4], "y"), 3), false, true),
  ],
  ...[...BEYOND, ...OTHERS].map((
    range,
  ): [string, Build] => [`a cast of ${range}`, () => fromFile(cut(range))]),
];

const opsOf = (lines: readonly string[]): string[] =>
  lines.flatMap((l) => / = (\w+)\(/.exec(l)?.[1] ?? [])
    .filter((op) => !["Placeholder", "Const"].includes(op));

for (const [what, ops, build] of CASES) {
  Deno.test(`simplifyViews() leaves ${ops.join(", ")} of ${what}`, () => {
    const lines = optimized(build, ["views"]);
    assertEquals(opsOf(lines), ops, lines.join("\n"));
  });
}

Deno.test("simplifyViews() leaves out casts to every dtype that holds the values", () => {
  for (const range of HELD) {
    const lines = optimized(() => fromFile(cut(range)), ["views"]);
    assertEquals(opsOf(lines), ["Round", "ClipByValue", "Neg"], lines.join("\n"));
  }
});

Deno.test("simplifyViews() leaves alone what changes elements, or is not known", () => {
  for (const [what, build] of STAYS) {
    assertEquals(optimized(build, ["views"]), optimized(build, []), what);
  }
});

Deno.test("a layer over batches is one product with its bias and activation", () => {
  const lines = optimized(() => tf.relu(dense(place([2, 3, 4], "x"), 4, 5, "a")));
  assertEquals(opsOf(lines).filter((op) => op !== "Reshape"), ["MatMul"], lines.join("\n"));
});

const TOLERANCE = { ulps: 64, ulpsOfLargest: 64, absolute: 1e-6 };

testOnDevices("graphs with fewer views compute the same", async (device) => {
  for (const [what, build] of [...CASES.map(([a, , c]) => [a, c] as const), ...STAYS]) {
    const graph = new tf.Graph();
    const { fetches, inputs } = graph.asDefault(() => {
      const made = build(), fetches = Array.isArray(made) ? made : [made];
      const inputs = graph.operations.filter((o) => o.type === "Placeholder").map((o) =>
        o.outputs[0]
      );
      return { fetches, inputs };
    });
    const feeds = new Map(inputs.map((t, i): [tf.Tensor, tf.NdArray] => {
      const shape = t.staticShape!.map((d) => d ?? 3);
      const size = shape.reduce((n, d) => n * d, 1);
      const values = Float32Array.from({ length: size }, (_, k) => Math.sin(k * 1.7 + i));
      return [t, new tf.NdArray("float32", shape, values)];
    }));
    const results: tf.NdArray[][] = [];
    for (const passes of [[], ["views"], ["views", "fuse", "epilogue", "reductions"]]) {
      await using session = new tf.Session({ graph });
      results.push(
        await withPasses(
          passes as PassName[],
          () => session.run(fetches, { feeds }),
        ) as tf.NdArray[],
      );
    }
    for (const other of results.slice(1)) {
      results[0].forEach((wanted, k) => {
        const wrong = difference(other[k], wanted, "float32", TOLERANCE);
        assert(wrong === null, `${what} on ${device}: result ${k} ${wrong}`);
      });
    }
  }
});
