/** Ops on transposed operands: which run on them as they were, with what moved, and which wait for the transposition. */
import * as tf from "@weft/weft";
import { assertEquals } from "@std/assert";
import { apply1 } from "../../src/engine/core/apply.ts";
import { lookupOp } from "../../src/engine/core/op.ts";
import { testOnDevices } from "../devices.ts";
import { optimized, withPasses } from "../graph/graph_text.ts";
import { noise } from "../ops/values.ts";

type Build = (x: tf.Tensor) => tf.Tensor;

const place = (shape: number[], name: string, dtype: tf.DType = "float32"): tf.Tensor =>
  tf.placeholder(dtype, shape, name);
/** Of shape [4, 2, 3]: no two extents are alike, and the order is not its own inverse. */
const turned = (name: string, base = [2, 3, 4], order = [2, 0, 1]): tf.Tensor =>
  tf.transpose(place(base, name), order);
const int = (...values: number[]): tf.NdArray =>
  new tf.NdArray("int32", [values.length], Int32Array.from(values));
const made = (op: string, inputs: (tf.Tensor | tf.NdArray)[], attrs = {}): tf.Tensor =>
  apply1(lookupOp(op)!, inputs, attrs);
const strided = (
  begin: number[],
  end: number[],
  strides: number[],
  masks: Record<string, number> = {},
): Build =>
(x) => made("StridedSlice", [x, int(...begin), int(...end), int(...strides)], masks);
const pads = (op: string, list: readonly number[], ...more: tf.NdArray[]): Build => (x) =>
  made(op, [x, new tf.NdArray("int32", [3, 2], Int32Array.from(list)), ...more], {
    ...op === "MirrorPad" ? { mode: "REFLECT" } : {},
  });

/** Ops that run before the transposition. */
const MOVED: Readonly<Record<string, Build>> = {
  ...Object.fromEntries([0, 1, 2, -1, -2, -3].map((axis): [string, Build] => [
    `concat along ${axis}`,
    (x) => {
      const base = [2, 3, 4], at = [2, 0, 1][(axis + 3) % 3]!;
      return tf.concat([x, turned("y", base.with(at, 5)), x], axis);
    },
  ])),
  ...Object.fromEntries([-1, -3].map((axis): [string, Build] => [
    `concat along ${axis} of a file`,
    (x) => made("ConcatV2", [x, x, new tf.NdArray("int32", [], Int32Array.of(axis))], { N: 2 }),
  ])),
  "a sum of a file over axes from the end": (x) =>
    made("Sum", [x, int(-1, -3)], { keep_dims: true }),
  "padding of every side by another number": pads("Pad", [1, 2, 3, 4, 5, 6]),
  "padding with a number": pads(
    "PadV2",
    [0, 2, 1, 0, 3, 1],
    new tf.NdArray("float32", [], Float32Array.of(7)),
  ),
  "padding by reflection": pads("MirrorPad", [3, 1, 0, 1, 2, 1]),
  "a slice": (x) => tf.slice(x, [1, 0, 2], [2, 2, 1]),
  "a slice to the end": (x) => tf.slice(x, [2, 1, 0], [-1, 1, 3]),
  "a strided slice": strided([0, 1, 2], [4, 2, 0], [3, 1, -1]),
  ...Object.fromEntries([1, 2, 4, 3, 6, 5].flatMap((mask): [string, Build][] => [
    [
      `a strided slice from the begin of axes ${mask}`,
      strided([1, 1, 1], [3, 2, 2], [1, 1, 1], { begin_mask: mask }),
    ],
    [
      `a strided slice to the end of axes ${mask}`,
      strided([0, 0, 1], [2, 1, 2], [1, 1, 1], { end_mask: mask, begin_mask: 0 }),
    ],
  ])),
  ...Object.fromEntries(
    (["sum", "mean", "max", "min"] as const).flatMap((fold) =>
      [[0], [-1], [1], [-3, 2], [2, 0], [0, 1, 2]].map((axes): [string, Build] => [
        `${fold} over ${axes}`,
        (x) => tf[fold](x, axes, true),
      ])
    ),
  ),
  "a number": (x) => tf.mul(x, 3),
  "a row": (x) => tf.add(x, place([3], "b")),
  "a row of one": (x) => tf.add(x, place([1], "b")),
  "a column": (x) => tf.sub(place([2, 1], "b"), x),
  "numbers of the first axis": (x) => tf.mul(x, place([4, 1, 1], "b")),
  "two of one order": (x) => tf.maximum(x, turned("y")),
};

/** Ops that wait for the transposition. */
const KEPT: Readonly<Record<string, Build>> = {
  "concat beside another order": (x) => tf.concat([x, turned("y", [2, 4, 3], [1, 0, 2])], 0),
  "concat after what is in order": (x) => tf.concat([place([4, 2, 3], "y"), x], 0),
  "concat before what is in order": (x) => tf.concat([x, place([4, 2, 3], "y")], 0),
  "padding that is fed": (x) => made("Pad", [x, place([3, 2], "fed", "int32")]),
  "a slice from a fed place": (x) => made("Slice", [x, place([3], "fed", "int32"), int(1, 1, 1)]),
  "a slice of a fed size": (x) => made("Slice", [x, int(0, 0, 0), place([3], "fed", "int32")]),
  "a strided slice that drops an axis": strided([0, 1, 0], [4, 2, 3], [1, 1, 1], {
    shrink_axis_mask: 2,
  }),
  "a strided slice with a new axis": strided([0, 0, 0], [4, 2, 3], [2, 1, 1], {
    new_axis_mask: 2,
  }),
  "a strided slice with an ellipsis": strided([0, 0, 1], [4, 2, 3], [1, 1, 1], {
    ellipsis_mask: 1,
  }),
  "a strided slice of some axes": strided([1, 0], [3, 1], [1, 1]),
  "a sum that drops its axes": (x) => tf.sum(x, [0]),
  "a sum over fed axes": (x) => made("Sum", [x, place([1], "fed", "int32")], { keep_dims: true }),
  "a matrix": (x) => tf.add(x, place([2, 3], "b")),
  "an array in order": (x) => tf.add(x, place([4, 2, 3], "b")),
  "a row of unknown extent": (x) => tf.add(x, tf.placeholder("float32", [null], "b")),
  "a row beside an array of more axes": (x) =>
    made("SelectV2", [tf.greater(place([3], "b"), 0), x, place([5, 4, 2, 3], "y")]),
  "an array of more axes": (x) => tf.add(x, place([5, 4, 2, 3], "b")),
  "two of different orders": (x) => tf.add(x, turned("y", [2, 4, 3], [1, 0, 2])),
  "one of an order beside one that is spread": (x) => tf.add(x, turned("y", [1, 3, 4])),
  "an order of the last axes": (x) => tf.add(x, tf.transpose(place([3, 2], "y"), [1, 0])),
  "softmax": (x) => tf.softmax(x),
};

for (const [all, wanted] of [[MOVED, "before"], [KEPT, "after"]] as const) {
  for (const [name, build] of Object.entries(all)) {
    Deno.test(`simplifyViews() runs ${name} ${wanted} a transposition`, () => {
      const lines = optimized(() => build(turned("x")), ["views"]);
      const ops = lines.flatMap((line) => /= (\w+)/.exec(line)?.[1] ?? [])
        .filter((op) => !["Placeholder", "Const", "Reshape"].includes(op));
      if (wanted === "after") assertEquals(lines.some((l) => l.includes("Reshape(")), false);
      // What turns axes of one extent is a reshape.
      const at = ops.indexOf("Transpose"), isLast = at < 0 || at === ops.length - 1;
      assertEquals(isLast && ops[0] !== "Transpose", wanted === "before", lines.join("\n"));
    });
  }
}

/** Values of whole numbers that are fed. */
const FED: Readonly<Record<string, readonly number[]>> = {
  "padding that is fed": [1, 2, 3, 4, 5, 6],
  "a slice from a fed place": [1, 0, 2],
  "a slice of a fed size": [2, 1, 3],
  "a sum over fed axes": [1],
};

testOnDevices("ops before a transposition give what they give after it", async () => {
  for (const [name, build] of Object.entries({ ...MOVED, ...KEPT })) {
    const graph = new tf.Graph();
    const y = graph.asDefault(() => build(turned("x")));
    const inputs = graph.operations.filter(({ type }) => type === "Placeholder")
      .map((op) => op.outputs[0] as unknown as tf.Tensor);
    const feeds = new Map(inputs.map((t, i) => {
      const shape = t.staticShape!.map((dim) => dim ?? 3);
      return [
        t,
        t.dtype === "int32"
          ? new tf.NdArray("int32", shape, Int32Array.from(FED[name]!))
          : noise("float32", shape, i),
      ];
    }));
    const run = async (passes: Parameters<typeof withPasses>[0]): Promise<tf.NdArray> => {
      await using session = new tf.Session({ graph });
      return await withPasses(passes, () => session.run(y, { feeds })) as tf.NdArray;
    };
    const [plain, moved] = [await run([]), await run(["views"])];
    assertEquals(moved.shape, plain.shape, name);
    const limit = /mean|sum/.test(name) ? 1e-6 : 0;
    const wanted = plain.data as Float32Array;
    (moved.data as Float32Array).forEach((v, i) =>
      assertEquals(Math.abs(v - wanted[i]!) <= limit, true, `${name}: ${v}, not ${wanted[i]}`)
    );
  }
});
