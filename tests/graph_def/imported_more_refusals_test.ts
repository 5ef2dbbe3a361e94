/**
 * Refusals of ops on parts of variables, levels, decompositions and bits, and errors that TensorFlow's kernels do not
 * report.
 */
import * as tf from "@weft/weft";
import { assert, assertEquals, assertThrows } from "@std/assert";
import { apply } from "../../src/engine/core/apply.ts";
import { type Attrs, lookupOp } from "../../src/engine/core/op.ts";

const { InvalidArgumentError, UnimplementedError } = tf.errors;

function run(op: string, inputs: readonly tf.Tensor[], attrs: Attrs = {}): tf.Tensor[] {
  return apply(lookupOp(op)!, [...inputs], attrs) as tf.Tensor[];
}
const ints = (values: number[] | number[][]): tf.Tensor => tf.tensor(values, undefined, "int32");
const wide = (values: number[] | number[][]): tf.Tensor => tf.tensor(values, undefined, "int64");

Deno.test("extremes scattered refuse indices and updates that do not fit", () => {
  const x = tf.ones([4]);
  const scatter = (at: number[][], updates: tf.Tensor) =>
    run("TensorScatterMax", [x, ints(at), updates]);
  assertThrows(() => scatter([[7]], tf.ones([1])), InvalidArgumentError, "7 is not in");
  assertThrows(() => scatter([[-1]], tf.ones([1])), InvalidArgumentError, "-1 is not in");
  assertThrows(() => scatter([[0, 1]], tf.ones([1])), tf.ValueError, "index vectors of 2");
  assertThrows(() => scatter([[0]], tf.ones([2])), tf.ValueError, "updates.shape");
  // What is no number is above nothing.
  assertEquals(
    run("TensorScatterMax", [x, ints([[0], [1]]), tf.tensor([NaN, 3])])[0]!.arraySync(),
    [1, 3, 1, 1],
  );
});

Deno.test("fake quantization refuses bits and ends that there are not", () => {
  const x = tf.tensor([[0.5, 2]]), one = tf.scalar(1), none = tf.scalar(0);
  const vars = (attrs: Attrs, low = none, high = one) =>
    run("FakeQuantWithMinMaxVars", [x, low, high], attrs);
  assertThrows(() => vars({ num_bits: 1 }), InvalidArgumentError, "between 2 and 16");
  assertThrows(() => vars({ num_bits: 17 }), InvalidArgumentError, "between 2 and 16");
  assertThrows(() => vars({}, tf.zeros([2])), InvalidArgumentError, "Shapes must be equal rank");
  const channels = (n: number) =>
    run("FakeQuantWithMinMaxVarsPerChannel", [x, tf.zeros([n]), tf.ones([n])]);
  assertThrows(() => channels(3), InvalidArgumentError, "Dimension 0");
  assertThrows(
    () => run("FakeQuantWithMinMaxArgs", [x], { min: 1, max: 0 }),
    InvalidArgumentError,
    "min has to be smaller than max",
  );
});

Deno.test("levels of whole dtypes refuse modes, axes and ranges that there are not", () => {
  const x = tf.ones([2, 3]);
  const quantize = (attrs: Attrs, low: tf.TensorLike = 0, high: tf.TensorLike = 1) =>
    run("QuantizeV2", [x, tf.tensor(low), tf.tensor(high)], { T: "int8", ...attrs });
  assertThrows(() => quantize({ mode: "MAX" }), InvalidArgumentError, "is 'MAX'");
  assertThrows(() => quantize({ axis: 2 }), InvalidArgumentError, "is 2");
  assertThrows(() => quantize({ axis: -2 }), InvalidArgumentError, "is -2");
  assertThrows(() => quantize({ axis: 1 }, [0, 0]), InvalidArgumentError, "expected 3");
  assertThrows(() => quantize({}, [0, 0]), InvalidArgumentError, "expected 1");
  assertThrows(() => quantize({}, 2, 1), InvalidArgumentError, "must be larger");
  const uneven = { round_mode: "HALF_TO_EVEN" };
  assertThrows(() => quantize(uneven), InvalidArgumentError, "only supported for mode 'SCALED'");
  assertThrows(() => quantize({ round_mode: "UP" }), InvalidArgumentError, "is 'UP'");
  const first = { mode: "MIN_FIRST" };
  assertThrows(() => quantize({ ...first, T: "int16" }), InvalidArgumentError, "int16");
  const perAxis = () => quantize({ ...first, axis: 1 }, [0, 0, 0], [1, 1, 1]);
  assertThrows(perAxis, UnimplementedError, "axis 1");
  const dequantize = (low: number[]) =>
    run("Dequantize", [tf.tensor([1, 2], [2], "int8"), tf.tensor(low), tf.scalar(1)]);
  assertThrows(() => dequantize([0, 0]), InvalidArgumentError, "expected 1");
});

Deno.test("decompositions refuse what is no matrix, or not square, or has no inverse; NaN gives NaN", () => {
  for (const op of ["Svd", "SelfAdjointEigV2", "Lu"]) {
    assertThrows(() => run(op, [tf.ones([2])]), tf.ValueError, "at least rank 2");
    if (op === "Svd") continue;
    assertThrows(() => run(op, [tf.ones([2, 3])]), tf.ValueError, "2 and 3");
  }
  assertThrows(() => run("Lu", [tf.ones([2, 2])]), InvalidArgumentError, "not invertible");
  const broken = tf.tensor([[[1, 2], [3, 4]], [[NaN, 1], [1, 1]]]);
  for (const op of ["Svd", "SelfAdjointEigV2"]) {
    const all = run(op, [broken]).map((t) => [...t.dataSync()]);
    for (const values of all) {
      assert(values.slice(0, values.length / 2).every(Number.isFinite), op);
      assert(values.slice(values.length / 2).every(Number.isNaN), op);
    }
  }
  const [s, u, v] = run("Svd", [tf.zeros([3, 2])], { full_matrices: true });
  assertEquals(s!.arraySync(), [0, 0]);
  for (const side of [u!, v!]) {
    const square = tf.matMul(side, side, true).arraySync();
    assertEquals(square, tf.eye(side.shape[0]!).arraySync());
  }
  assertEquals(run("Svd", [tf.zeros([0, 2, 2])])[1]!.shape, [0, 2, 2]);
});

Deno.test("the singular vectors of wide full matrices have no gradient", () => {
  const gradient = tf.grad((x: tf.Tensor) => tf.sum(run("Svd", [x], { full_matrices: true })[1]!));
  assertThrows(() => gradient(tf.ones([2, 4])), UnimplementedError, "differ by 1 at most");
});

Deno.test("sparse and dense refuse shapes that do not fit, and indices outside of them", () => {
  const combine = (dense: tf.Tensor, index: number[] = [0, 1]) =>
    run("SparseDenseCwiseMul", [wide([index]), tf.ones([1]), wide([3, 2]), dense]);
  for (const shape of [[3], [2, 2], [1, 1, 1], [1, 3]]) {
    const why = `[3,2] and [${shape}]`;
    assertThrows(() => combine(tf.ones(shape)), InvalidArgumentError, why);
  }
  assertThrows(() => combine(tf.ones([2]), [0, 5]), InvalidArgumentError, "[0,5] at row 0");
  assertThrows(() => combine(tf.ones([1]), [3, 0]), InvalidArgumentError, "[3,0] at row 0");
  assertThrows(() => combine(tf.ones([2]), [0]), InvalidArgumentError, "a matrix of 2 columns");
});

Deno.test("Bitcast refuses a last axis that makes no whole elements", () => {
  const cast = (x: tf.Tensor) => run("Bitcast", [x], { type: "int64" });
  assertThrows(() => cast(ints([1, 2, 3])), InvalidArgumentError, "a last axis of 2");
  assertThrows(() => cast(tf.scalar(1, "int32")), InvalidArgumentError, "a last axis of 2");
  assertEquals(run("Bitcast", [ints([1])], { type: "uint8" })[0]!.arraySync(), [[1, 0, 0, 0]]);
});

Deno.test("NextAfter steps over zero, and between powers of two", () => {
  const next = (x: number, y: number) =>
    run("NextAfter", [tf.tensor([x], [1], "float64"), tf.tensor([y], [1], "float64")])[0]!
      .dataSync()[0];
  assertEquals(next(0, 1), Number.MIN_VALUE);
  assertEquals(next(0, -1), -Number.MIN_VALUE);
  assertEquals(next(1, 2), 1 + 2 ** -52);
  assertEquals(next(1, 0), 1 - 2 ** -53);
  assertEquals(next(Number.MAX_VALUE, Infinity), Infinity);
  assert(Number.isNaN(next(NaN, 1)));
});

Deno.test("segments of compiled graphs (V2) may come in any order", async () => {
  const folds: [string, number[]][] = [
    ["SegmentSumV2", [2, 4, 4, 0]],
    ["SegmentProdV2", [2, 4, 3, 1]],
    ["SegmentMaxV2", [2, 4, 3, -3.4028234663852886e38]],
    ["SegmentMinV2", [2, 4, 1, 3.4028234663852886e38]],
  ];
  for (const [op, wanted] of folds) {
    const graph = new tf.Graph();
    const y = graph.asDefault(() =>
      tf.importGraphDef({
        node: [{ name: "y", op, input: ["x", "ids", "n"] }],
        versions: { producer: 1 },
      }, {
        prefix: "",
        inputMap: {
          x: tf.tensor([1, 2, 3, 4]),
          ids: ints([2, 0, 2, 1]),
          n: tf.scalar(4, "int32"),
        },
        returnElements: ["y:0"],
      })[0] as tf.Tensor
    );
    const found = await new tf.Session({ graph }).run(y) as tf.NdArray;
    assertEquals(found.toArray(), wanted, op);
  }
});

Deno.test("integers beyond 2 ** 53 are read where an op takes 64 bits, and refused by name elsewhere", async () => {
  const graph = new tf.Graph();
  const read = (op: string, attr: Record<string, { i: string } | { type: string }>) =>
    graph.asDefault(() =>
      tf.importGraphDef({
        node: [{ name: op, op, input: ["shape"], attr }],
        versions: { producer: 1 },
      }, {
        inputMap: { shape: ints([3]) },
        prefix: "",
        returnElements: [`${op}:0`],
      })[0] as tf.Tensor
    );
  const seed = (2n ** 63n - 1n).toString();
  const types = { dtype: { type: "DT_FLOAT" }, T: { type: "DT_INT32" } };
  const y = read("RandomUniform", { ...types, seed: { i: seed } });
  const values = await new tf.Session({ graph }).run(y) as tf.NdArray;
  assertEquals(values.shape, [3]);
  const [written] = graph.toGraphDef().node.filter((n) => n.op === "RandomUniform");
  assertEquals(written!.attr!.seed, { i: seed });
  assertThrows(
    () => read("RandomStandardNormal", { ...types, seed: { i: (2n ** 63n).toString() } }),
    tf.ValueError,
    'attribute "seed"',
  );
  const text = tf.tensor(["a"], [1], "string");
  assertThrows(
    () =>
      new tf.Graph().asDefault(() =>
        tf.importGraphDef({
          node: [{
            name: "y",
            op: "StringToHashBucketFast",
            input: ["x"],
            attr: { num_buckets: { i: seed } },
          }],
          versions: { producer: 1 },
        }, { inputMap: { x: text } })
      ),
    tf.ValueError,
    'attribute "num_buckets"',
  );
});

Deno.test("rows and segments refuse splits, numbers and axes that there are not", () => {
  const count = (splits: number[], values: number[]) =>
    run("RaggedBincount", [wide(splits), ints(values), tf.scalar(3, "int32"), tf.zeros([0])]);
  assertThrows(() => count([1, 2], [1, 1]), InvalidArgumentError, "must start with 0");
  assertThrows(() => count([0, 1], [1, 1]), InvalidArgumentError, "up to the number of values, 2");
  assertThrows(() => count([0, 2, 1, 2], [1, 1]), InvalidArgumentError, "must rise");
  assertThrows(() => count([0, 2], [1, -1]), InvalidArgumentError, "non-negative");
  const part = (partitions: number[]) =>
    run("DynamicPartition", [tf.ones([3]), ints(partitions)], { num_partitions: 2 });
  assertThrows(() => part([0, 2, 1]), InvalidArgumentError, "partitions[1] = 2 is not in [0, 2)");
  assertThrows(() => part([0, -1, 1]), InvalidArgumentError, "partitions[1] = -1");
  assertThrows(() => part([0, 1]), InvalidArgumentError, "Dimension 0");
  const join = (ids: number[]) =>
    run("UnsortedSegmentJoin", [
      ...[tf.tensor(["a", "b"], [2], "string"), ints(ids), tf.scalar(2, "int32")],
    ]);
  assertThrows(() => join([0, 2]), InvalidArgumentError, "segment_ids[1] = 2");
  assertThrows(() => join([0, -1]), InvalidArgumentError, "segment_ids[1] = -1");
  const state = (x: tf.Tensor) => run("_PhiloxSkip", [x, tf.tensor([1], [1], "uint64")]);
  assertThrows(() => state(wide([1, 2])), InvalidArgumentError, "at least 3 elements");
  const key = tf.tensor([1, 2], [2], "uint64");
  assertThrows(
    () => run("StatelessShuffle", [tf.scalar(1), key, key, tf.scalar(1, "int32")]),
    tf.ValueError,
    "no rows",
  );
  const reverse = (attr: Record<string, { i: string }>) =>
    new tf.Graph().asDefault(() =>
      tf.importGraphDef({
        node: [{ name: "y", op: "ReverseSequence", input: ["x", "n"], attr }],
        versions: { producer: 1 },
      }, { inputMap: { x: tf.ones([2, 3]), n: ints([1, 2]) } })
    );
  assertThrows(() => reverse({ seq_dim: { i: "0" } }), tf.ValueError, "must differ");
  assertThrows(() => reverse({ seq_dim: { i: "2" } }), tf.ValueError, "axis 2");
});
