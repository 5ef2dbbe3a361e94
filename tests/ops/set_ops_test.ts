import * as tf from "@weft/weft";
import { assertEquals, assertRejects, assertThrows } from "@std/assert";
import { gradCheck } from "@weft/weft/testing";
import { apply, apply1 } from "../../src/engine/core/apply.ts";
import { lookupOp } from "../../src/engine/core/op.ts";
import { testOnDevices } from "../devices.ts";

const ints = (...values: number[]): tf.Tensor => tf.tensor1d(values, "int32");

testOnDevices("whereAsync() and booleanMaskAsync() find what is true", async () => {
  const mask = tf.tensor([[true, false, true], [false, false, true]]);
  const at = await tf.whereAsync(mask);
  assertEquals([at.dtype, at.arraySync()], ["int32", [[0, 0], [0, 2], [1, 2]]]);
  assertEquals((await tf.whereAsync(tf.zeros([3], "bool"))).shape, [0, 1]);
  const x = tf.tensor([[1, 2, 3], [4, 5, 6]]);
  assertEquals((await tf.booleanMaskAsync(x, mask)).arraySync(), [1, 3, 6]);
  assertEquals((await tf.booleanMaskAsync(x, [true, false, true], 1)).arraySync(), [[1, 3], [
    4,
    6,
  ]]);
  await assertRejects(() => tf.booleanMaskAsync(x, [true]), tf.ValueError, "must match");
  await assertRejects(() => tf.whereAsync(x), TypeError, "must be bool");
});

Deno.test("what is not zero is found in every dtype", () => {
  const where = lookupOp("Where")!;
  const cases: [tf.Tensor, bigint[][]][] = [
    [tf.tensor([0, -2, NaN, 0]), [[1n], [2n]]],
    [tf.tensor([[0n, 1n], [2n, 0n]]), [[0n, 1n], [1n, 0n]]],
    [tf.complex([0, 1, 0, 0], [0, 0, 2, 0]), [[1n], [2n]]],
    [tf.tensor([0, 7], undefined, "uint8"), [[1n]]],
    [tf.scalar(5), [[]]],
  ];
  for (const [x, wanted] of cases) {
    const at = apply1(where, [x]);
    assertEquals([at.dtype, at.arraySync()], ["int64", wanted], `${x.dtype} ${x.shape}`);
  }
});

Deno.test("rows are unique by their numbers: zeros are one, and NaN equals itself", () => {
  const rows: [tf.Tensor, number[]][] = [
    [tf.tensor([[0, 1], [-0, 1], [1, 0], [0, 1]]), [0, 0, 1, 0]],
    [tf.tensor([[NaN, 1], [1, 1], [NaN, 1]]), [0, 1, 0]],
    [tf.tensor([["a", "bc"], ["ab", "c"], ["a", "bc"]]), [0, 1, 0]],
    [tf.tensor([[1n, 2n ** 40n], [1n, 2n ** 41n], [1n, 2n ** 40n]]), [0, 1, 0]],
    [tf.tensor([0, -0, 1, NaN, NaN]), [0, 0, 1, 2, 2]],
  ];
  for (const [x, wanted] of rows) {
    assertEquals(tf.unique(x, 0).indices.arraySync(), wanted, `${x.dtype}[${x.shape}]`);
  }
  const [, wide] = apply(lookupOp("UniqueV2")!, [
    tf.tensor([5, 6, 5]),
    tf.tensor([0], undefined, "int32"),
  ], { out_idx: "int64" });
  assertEquals(wide.arraySync(), [0n, 1n, 0n]);
});

testOnDevices("booleanMaskAsync() leaves nothing behind", async () => {
  const x = tf.tensor([1, 2, 3]), mask = tf.tensor([true, false, true]);
  const before = tf.memory().numTensors;
  const y = await tf.booleanMaskAsync(x, mask);
  assertEquals(tf.memory().numTensors, before + 1);
  y.dispose();
});

testOnDevices("unique() and setdiff1dAsync() compare elements of any dtype", async () => {
  const { values, indices } = tf.unique([1, 1, 2, 4, 4, 4, 7, 8, 8]);
  assertEquals(values.arraySync(), [1, 2, 4, 7, 8]);
  assertEquals(indices.arraySync(), [0, 0, 1, 2, 2, 2, 3, 4, 4]);
  const columns = tf.unique(tf.tensor([[1, 0, 1], [2, 3, 2]], [2, 3], "int32"), 1);
  assertEquals([columns.values.arraySync(), columns.indices.arraySync()], [[[1, 0], [2, 3]], [
    0,
    1,
    0,
  ]]);
  assertEquals(tf.unique(["b", "a", "b"]).values.arraySync(), ["b", "a"]);
  assertEquals(tf.unique([0, -0, NaN, NaN]).indices.arraySync(), [0, 0, 1, 1]);
  const [out, at] = await tf.setdiff1dAsync(ints(1, 2, 3, 4, 5, 6), ints(1, 3, 5));
  assertEquals([out.arraySync(), at.arraySync()], [[2, 4, 6], [1, 3, 5]]);
});

testOnDevices("sparse ops fill, reshape and sum", () => {
  const filled = tf.sparse.sparseFillEmptyRows(
    [[0, 0], [1, 0], [1, 3], [1, 4], [3, 2], [3, 3]],
    [0, 10, 13, 14, 32, 33],
    [5, 6],
    -1,
  );
  assertEquals(filled.outputIndices.arraySync(), [[0, 0], [1, 0], [1, 3], [1, 4], [2, 0], [3, 2], [
    3,
    3,
  ], [4, 0]]);
  assertEquals(filled.outputValues.arraySync(), [0, 10, 13, 14, -1, 32, 33, -1]);
  assertEquals(filled.emptyRowIndicator.arraySync(), [false, false, true, false, true]);
  assertEquals(filled.reverseIndexMap.arraySync(), [0, 1, 2, 3, 5, 6]);
  const moved = tf.sparse.sparseReshape([[0, 0, 0], [0, 0, 1], [0, 1, 0], [1, 0, 0], [1, 2, 3]], [
    2,
    3,
    6,
  ], [9, -1]);
  assertEquals(moved.outputIndices.arraySync(), [[0, 0], [0, 1], [1, 2], [4, 2], [8, 1]]);
  assertEquals(moved.outputShape.arraySync(), [9, 4]);
  const x = tf.tensor([[1, 2, 3, 4], [-1, -2, -3, -4], [6, 7, 8, 9]]);
  assertEquals(tf.sparse.sparseSegmentSum(x, ints(0, 1, 2), ints(0, 0, 2)).arraySync(), [
    [0, 0, 0, 0],
    [0, 0, 0, 0],
    [6, 7, 8, 9],
  ]);
  assertEquals(tf.sparse.sparseSegmentMean(x, ints(0, 2), ints(0, 0)).arraySync(), [[
    3.5,
    4.5,
    5.5,
    6.5,
  ]]);
  assertThrows(
    () => tf.sparse.sparseSegmentSum(x, ints(0, 3), ints(0, 0)),
    tf.errors.InvalidArgumentError,
    "out of range",
  );
});

Deno.test("gradients of sparse sums and means go to the rows picked", () => {
  const x = [[1, 2], [3, 4], [5, 6]];
  const square = (t: tf.Tensor) => tf.mul(t, t);
  gradCheck((t) => square(tf.sparse.sparseSegmentSum(t, ints(0, 2, 2), ints(0, 0, 1))), [x]);
  gradCheck((t) => square(tf.sparse.sparseSegmentMean(t, ints(0, 2, 1), ints(0, 0, 1))), [x]);
});

testOnDevices("string ops split, join, replace and hash", () => {
  const { indices, values, shape } = tf.string.stringSplit(
    ["pigs on the wing", "", "animals"],
    " ",
  );
  assertEquals(values.arraySync(), ["pigs", "on", "the", "wing", "animals"]);
  assertEquals(indices.arraySync(), [[0, 0], [0, 1], [0, 2], [0, 3], [2, 0]]);
  assertEquals(shape.arraySync(), [3, 4]);
  assertEquals(tf.string.stringSplit(["a,b;,c"], ",;", false).values.arraySync(), [
    "a",
    "b",
    "",
    "c",
  ]);
  const grams = tf.string.stringNGrams(
    ["a", "b", "c", "d", "e", "f"],
    ints(0, 4, 6),
    "|",
    [3],
    "LP",
    "RP",
    -1,
    false,
  );
  assertEquals(grams.nGrams.arraySync(), [
    ...["LP|LP|a", "LP|a|b", "a|b|c", "b|c|d", "c|d|RP", "d|RP|RP"],
    ...["LP|LP|e", "LP|e|f", "e|f|RP", "f|RP|RP"],
  ]);
  assertEquals(grams.nGramsSplits.arraySync(), [0, 6, 10]);
  assertEquals(tf.string.staticRegexReplace(["x1y2"], "(\\d)", "<\\1>").arraySync(), ["x<1>y<2>"]);
  assertEquals(tf.string.staticRegexReplace(["x1y2"], "\\d", "", false).arraySync(), ["xy2"]);
  // As in RE2, nothing empty is found where a match ends.
  assertEquals(tf.string.staticRegexReplace(["ab", ""], ".*", "-").arraySync(), ["-", "-"]);
  assertEquals(tf.string.staticRegexReplace(["baac"], "a*", "-").arraySync(), ["-b-c-"]);
  const long = "weft ".repeat(30);
  const hashed = tf.string.stringToHashBucketFast(["a", "b", "c", "d", long, long], 10)
    .arraySync() as number[];
  assertEquals(hashed.slice(0, 4), [9, 2, 2, 5]);
  assertEquals(hashed[4], hashed[5]);
});

Deno.test("n-grams are padded, and short rows are kept where that is asked for", () => {
  const grams = (widths: number[], pad: number, short: boolean, ...rows: string[][]) => {
    const splits = rows.reduce((at, row) => [...at, at.at(-1)! + row.length], [0]);
    const { nGrams, nGramsSplits } = tf.string.stringNGrams(
      tf.tensor(rows.flat(), [rows.flat().length], "string"),
      tf.tensor(splits, undefined, "int32"),
      "|",
      widths,
      "<",
      ">",
      pad,
      short,
    );
    return [nGrams.arraySync(), nGramsSplits.arraySync()];
  };
  const ab = ["a", "b"];
  assertEquals(grams([2], 0, false, ab, ["c"]), [["a|b"], [0, 1, 1]]);
  assertEquals(grams([3], 0, true, ab, [], ["c"]), [["a|b", "c"], [0, 1, 1, 2]]);
  assertEquals(grams([5], 1, true, ab), [["<|a|b|>"], [0, 1]]);
  assertEquals(grams([5], 1, false, ab), [[], [0, 0]]);
  assertEquals(grams([2], 1, false, ab), [["<|a", "a|b", "b|>"], [0, 3]]);
  assertEquals(grams([3], -1, false, ab), [["<|<|a", "<|a|b", "a|b|>", "b|>|>"], [0, 4]]);
  assertEquals(grams([2, 1], 5, false, ["a"]), [["<|a", "a|>", "a"], [0, 3]]);
});

Deno.test("strings are split at delimiters, or into their bytes", () => {
  const split = (texts: string[], delimiter: string, skipEmpty?: boolean) => {
    const { indices, values, shape } = tf.string.stringSplit(texts, delimiter, skipEmpty);
    return [indices.arraySync(), values.arraySync(), shape.arraySync()];
  };
  assertEquals(split(["ab", ""], ""), [[[0, 0], [0, 1]], ["a", "b"], [2, 2]]);
  assertEquals(split([" a ", "b"], " "), [[[0, 0], [1, 0]], ["a", "b"], [2, 1]]);
  const all = [[[0, 0], [0, 1], [0, 2], [1, 0]], ["", "a", "", "b"], [2, 3]];
  assertEquals(split([" a ", "b"], " ", false), all);
});

testOnDevices("where() of a condition alone gives the places of what is not 0", async () => {
  const bits = [[true, false], [false, true]];
  tf.tidy(() => {
    assertEquals(tf.where(bits).arraySync(), [[0n, 0n], [1n, 1n]]);
    assertEquals(tf.where(tf.tensor([0, -2, 0.5])).arraySync(), [[1n], [2n]]);
    assertEquals(tf.where(tf.zeros([2, 3])).shape, [0, 2]);
  });
  const graph = new tf.Graph();
  const fetches = graph.asDefault(() => {
    const x = tf.placeholder("float32", [null, 2], "x"), at = tf.where(tf.greater(x, 0));
    assertEquals(at.staticShape, [null, 2]);
    const picked = tf.gatherND(x, at);
    return [picked, tf.gradients(picked, x)[0]!, tf.scatterND(at, picked, [2, 2])];
  });
  await using sess = new tf.Session({ graph });
  const found = await sess.run(fetches, { feeds: { "x:0": [[1, -2], [3, -4]] } }) as tf.NdArray[];
  assertEquals(found.map((a) => a.toArray()), [[1, 3], [[1, 0], [1, 0]], [[1, 0], [3, 0]]]);
});

testOnDevices("where() takes two values or none", () => {
  const both = "x and y must both be non-None or both be None";
  const where = tf.where as (...args: unknown[]) => tf.Tensor;
  assertThrows(() => where([true], 1), tf.ValueError, both);
  assertThrows(() => where([true], undefined, 1), tf.ValueError, both);
  assertThrows(() => where(["a"]), TypeError, "not in list of allowed values");
});
