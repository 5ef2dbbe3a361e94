/** What ops that only files have refuse, and where they have no result. */
import * as tf from "@weft/weft";
import { assert, assertEquals, assertThrows } from "@std/assert";
import { apply } from "../../src/core/apply.ts";
import { type Attrs, lookupOp } from "../../src/core/op.ts";

function run(op: string, inputs: readonly tf.Tensor[], attrs: Attrs = {}): tf.Tensor[] {
  return apply(lookupOp(op)!, [...inputs], attrs) as tf.Tensor[];
}
const ints = (...values: number[]): tf.Tensor => tf.tensor(values, [values.length], "int32");
const wide = (values: number[][] | number[]): tf.Tensor => tf.tensor(values, undefined, "int64");
const { InvalidArgumentError, FailedPreconditionError, UnimplementedError } = tf.errors;

Deno.test("MatrixSolve refuses what has no solution", () => {
  const rhs = tf.ones([2, 1]);
  assertThrows(
    () => run("MatrixSolve", [tf.tensor([[1, 2], [2, 4]]), rhs]),
    InvalidArgumentError,
    "not invertible",
  );
  assertThrows(
    () => run("MatrixSolve", [tf.ones([2, 3]), rhs]),
    InvalidArgumentError,
    "Dimension 0 in both shapes",
  );
  assertThrows(
    () => run("MatrixSolve", [tf.ones([3, 3]), rhs]),
    InvalidArgumentError,
    "Dimension 0 in both shapes",
  );
  assertThrows(
    () => run("MatrixSolve", [tf.ones([2, 2, 2]), tf.ones([1, 2, 1])]),
    InvalidArgumentError,
    "Dimension 0 in both shapes",
  );
  assertThrows(
    () => run("MatrixSolve", [tf.ones([2]), tf.ones([2])]),
    InvalidArgumentError,
    "rank",
  );
  const [nothing] = run("MatrixSolve", [tf.zeros([0, 0]), tf.zeros([0, 2])]);
  assertEquals(nothing!.shape, [0, 2]);
});

Deno.test("Betainc is NaN outside of where it is defined, and its gradient is the beta density", () => {
  const a = tf.tensor([2, 2, -1, 0, 1, 2]), b = tf.tensor([3, 3, 1, 1, 0, NaN]);
  const [y] = run("Betainc", [a, b, tf.tensor([-0.1, 1.1, 0.5, 0.5, 0.5, 0.5])]);
  assert([...y!.dataSync()].every(Number.isNaN));
  const x = tf.tensor([0, 0.25, 1]), two = tf.scalar(2), three = tf.scalar(3);
  const [dx] = tf.grads((x: tf.Tensor) => tf.sum(run("Betainc", [two, three, x])[0]!))([x]);
  // 12 x (1 - x)², the density for 2 and 3.
  const wanted = [0, 12 * 0.25 * 0.75 ** 2, 0];
  dx!.dataSync().forEach((v, i) => assert(Math.abs(v - wanted[i]!) < 1e-4, `${i}: ${v}`));
  assertThrows(
    () => run("Betainc", [a, tf.ones([2]), tf.ones([6])]),
    InvalidArgumentError,
    "Dimension 0 in both shapes",
  );
});

Deno.test("UnicodeDecode refuses invalid bytes where it is strict, and encodings that it does not know", () => {
  const text = tf.tensor(["a\n"], [1], "string");
  const strict = { input_encoding: "UTF-8", errors: "strict" };
  assertEquals([...run("UnicodeDecode", [text], strict)[1]!.dataSync()], [97, 10]);
  assertThrows(
    () => run("UnicodeDecode", [text], { ...strict, replace_control_characters: true }),
    InvalidArgumentError,
    "Invalid formatting on input string",
  );
  assertThrows(
    () => run("UnicodeDecode", [text], { input_encoding: "EBCDIC" }),
    UnimplementedError,
    "EBCDIC",
  );
});

Deno.test("sparse sums refuse indices outside of their shape", () => {
  const reduce = (index: number[], axes: number[]) =>
    run("SparseReduceSum", [wide([index]), tf.ones([1]), wide([2, 3]), ints(...axes)]);
  assertThrows(() => reduce([0, 3], [0]), InvalidArgumentError, "Index 3 of axis 1");
  assertThrows(() => reduce([-1, 0], [0]), InvalidArgumentError, "Index -1 of axis 0");
  assertThrows(() => reduce([0, 0], [2]), InvalidArgumentError, "Invalid axis 2");
});

Deno.test("CTCGreedyDecoder refuses sequences that are longer than there are steps, and no such blank", () => {
  const logits = tf.zeros([3, 2, 4]);
  assertThrows(
    () => run("CTCGreedyDecoder", [logits, ints(3, 4)]),
    FailedPreconditionError,
    "sequence_length(1) <= 3",
  );
  assertThrows(
    () => run("CTCGreedyDecoder", [logits, ints(3, 3)], { blank_index: 4 }),
    InvalidArgumentError,
    "blank_index",
  );
  assertThrows(
    () => run("CTCGreedyDecoder", [logits, ints(3)]),
    InvalidArgumentError,
    "Dimension 0 in both shapes",
  );
});

Deno.test("images refuse conventions, kernels and scales that there are not", () => {
  const image = tf.ones([1, 2, 2, 1]), size = ints(3, 3);
  const both = { align_corners: true, half_pixel_centers: true };
  assertThrows(() => run("ResizeBicubic", [image, size], both), tf.ValueError, "align_corners");
  assertThrows(() => run("ResizeArea", [image, ints(0, 3)]), tf.ValueError, "must be positive");
  assertThrows(() => run("ResizeArea", [tf.ones([2, 2]), size]), tf.ValueError, "4-dimensional");
  const move = (scale: number[], attrs: Attrs = {}) =>
    run("ScaleAndTranslate", [image, size, tf.tensor(scale), tf.zeros([2])], attrs);
  assertThrows(() => move([1, 1], { kernel_type: "sinc" }), InvalidArgumentError, "sinc");
  assertThrows(() => move([1, 0]), InvalidArgumentError, "greater than zero");
  assertThrows(() => move([1]), InvalidArgumentError, "two elements");
});

Deno.test("boxes refuse shapes and limits that do not fit", () => {
  const combined = (boxes: tf.Tensor, { most = 1, all = 4, iou = 0.5 } = {}) =>
    run("CombinedNonMaxSuppression", [
      ...[boxes, tf.ones([1, 2, 3])],
      ...[tf.scalar(most, "int32"), tf.scalar(all, "int32"), tf.scalar(iou), tf.scalar(0)],
    ]);
  assertThrows(() => combined(tf.ones([1, 2, 2, 4])), InvalidArgumentError, "Dimension 0");
  assertThrows(() => combined(tf.ones([1, 3, 1, 4])), InvalidArgumentError, "Dimension 1");
  assertThrows(() => combined(tf.ones([1, 2, 1, 4]), { most: 0 }), InvalidArgumentError, "> 0");
  assertThrows(() => combined(tf.ones([1, 2, 1, 4]), { all: -1 }), InvalidArgumentError, "> 0");
  assertThrows(() => combined(tf.ones([1, 2, 1, 4]), { iou: 2 }), InvalidArgumentError, "[0, 1]");
  const overlaps = (shape: [number, number]) =>
    run("NonMaxSuppressionWithOverlaps", [
      ...[tf.ones(shape), tf.ones([2]), tf.scalar(1, "int32"), tf.scalar(0.5), tf.scalar(0)],
    ]);
  assertThrows(() => overlaps([2, 3]), InvalidArgumentError, "Dimension 0");
  assertThrows(() => overlaps([3, 3]), InvalidArgumentError, "Dimension 0");
  const draw = (depth: number) =>
    run("DrawBoundingBoxesV2", [
      ...[tf.ones([1, 2, 2, depth]), tf.ones([1, 1, 4]), tf.ones([1, 2])],
    ]);
  assertThrows(() => draw(2), InvalidArgumentError, "Channel depth");
  assertThrows(() => draw(3), InvalidArgumentError, "channels than the image");
});

Deno.test("levels refuse ranges, axes and numbers of bits that there are not", () => {
  const x = tf.tensor([[-2, 0.25], [0.5, 3]]);
  const quantize = (attrs: Attrs, low: tf.TensorLike = -1, high: tf.TensorLike = 1) =>
    run("QuantizeAndDequantizeV2", [x, tf.tensor(low), tf.tensor(high)], attrs);
  const given = { range_given: true };
  assertThrows(() => quantize(given, [0, 0]), InvalidArgumentError, "rank");
  assertThrows(() => quantize({ ...given, axis: 1 }, [0, 0, 0]), InvalidArgumentError, "Dimension");
  assertThrows(() => quantize({ num_bits: 62 }), InvalidArgumentError, "num_bits is out of range");
  assertThrows(() => quantize({ axis: 2 }), tf.ValueError, "at least rank 3");
  assertThrows(() => quantize({ axis: -2 }), InvalidArgumentError, "Found -2");
  assertThrows(() => quantize({ round_mode: "UP" }), InvalidArgumentError, "'UP'");
});

Deno.test("gradients pass through levels as if nothing was rounded, in version 4 where the range holds", () => {
  const x = tf.tensor([-2, 0.25, 0.5, 3]), ends = [tf.scalar(-1), tf.scalar(1)];
  const gradient = (name: string, more: tf.Tensor[] = []) =>
    tf.grad((x: tf.Tensor) =>
      tf.sum(run(name, [x, ...ends, ...more], { range_given: true })[0]!.mul([1, 2, 3, 4]))
    )(x).arraySync();
  assertEquals(gradient("QuantizeAndDequantizeV2"), [1, 2, 3, 4]);
  assertEquals(gradient("QuantizeAndDequantizeV3", [tf.scalar(4, "int32")]), [1, 2, 3, 4]);
  assertEquals(gradient("QuantizeAndDequantizeV4"), [0, 2, 3, 0]);
});
