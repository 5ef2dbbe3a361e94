/** Refusals of ops that only files have, and cases without a result. */
import * as tf from "@weft/weft";
import { assert, assertEquals, assertThrows } from "@std/assert";
import { apply } from "../../src/engine/core/apply.ts";
import { type Attrs, lookupOp } from "../../src/engine/core/op.ts";

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

Deno.test("AsString refuses formats that a dtype has not", () => {
  const cases: [tf.Tensor, Attrs, string][] = [
    [tf.ones([1]), { fill: "00" }, "one or fewer characters"],
    [tf.ones([1]), { fill: "x" }, 'not supported: "x"'],
    [tf.ones([1]), { scientific: true, shortest: true }, "both scientific and shortest"],
    [ints(1), { shortest: true }, "not supported for datatype int32"],
    [tf.tensor([true]), { precision: 2 }, "precision not supported for datatype bool"],
  ];
  for (const [x, attrs, why] of cases) {
    assertThrows(() => run("AsString", [x], attrs), InvalidArgumentError, why);
  }
});

Deno.test("codes of text refuse what is none", () => {
  const text = (value: string) => tf.tensor(value, [], "string");
  for (const bad of ["+/8=", "YQ=", "YWJj====", "YQ==YQ==", "===="]) {
    assertThrows(() => run("DecodeBase64", [text(bad)]), InvalidArgumentError, "Invalid character");
  }
  assertThrows(() => run("DecodeBase64", [text("Y")]), InvalidArgumentError, "1 modulo 4");
  const hash = (key: number[]) =>
    run("StringToHashBucketStrong", [text("a")], { num_buckets: 5, key });
  assertThrows(() => hash([1]), InvalidArgumentError, "Key must have 2 elements");
  const encode = (code: number, splits: number[]) =>
    run("UnicodeEncode", [ints(code, 65), wide(splits)], {
      output_encoding: "UTF-8",
      errors: "strict",
    });
  assertThrows(() => encode(0xd800, [0, 2]), InvalidArgumentError, "is a surrogate");
  assertThrows(() => encode(65, [1, 2]), InvalidArgumentError, "must be zero");
  assertThrows(() => encode(65, [0, 2, 1, 2]), InvalidArgumentError, "ascending order");
  assertThrows(() => encode(65, [0, 3]), InvalidArgumentError, "equal to length");
});

Deno.test("ParseTensor refuses bytes that are no tensor of the dtype", () => {
  const bytes = (...values: number[]) =>
    new tf.NdArray("string", [], [Uint8Array.from(values)]) as unknown as tf.Tensor;
  const parse = (serialized: tf.Tensor, out_type = "float32") =>
    run("ParseTensor", [serialized], { out_type });
  assertThrows(() => parse(bytes(0xff, 0xff)), InvalidArgumentError, "Could not parse");
  assertThrows(() => parse(bytes()), InvalidArgumentError, "Type mismatch");
  const [written] = run("SerializeTensor", [tf.ones([2])]);
  assertThrows(
    () => parse(written!, "int32"),
    InvalidArgumentError,
    "tensor (float) and dtype (int32)",
  );
  assertThrows(() => parse(tf.reshape(written!, [1])), InvalidArgumentError, "to be a scalar");
  // Two elements, four bytes; then 2^40 elements of none.
  const short = bytes(8, 1, 18, 4, 18, 2, 8, 2, 34, 4, 0, 0, 0, 0);
  assertThrows(() => parse(short), InvalidArgumentError, "it has 4 bytes");
  const huge = bytes(8, 1, 18, 9, 18, 7, 8, 128, 128, 128, 128, 128, 32);
  assertThrows(() => parse(huge), InvalidArgumentError, "it has 0 values");
});

Deno.test("DecodeCSV refuses records that are not written as they should be", () => {
  const csv = (record: string, defaults: tf.Tensor[]) =>
    run("DecodeCSV", [tf.tensor([record], [1], "string"), ...defaults], {
      OUT_TYPE: defaults.map((d) => d.dtype),
    });
  const text = tf.tensor("", [], "string"), whole = tf.scalar(1, "int32");
  const cases: [string, tf.Tensor[], string][] = [
    ['a"b', [text], "Unquoted fields"],
    ['"a', [text], "has to end with quote"],
    ['"a"b,c', [text, text], "escaped by another quote"],
    ["x", [whole], "not a valid int32: x"],
    ["2147483648", [whole], "not a valid int32"],
    ["1,2", [whole], "Expect 1 fields but have 2 in record 0"],
    [",1", [tf.zeros([0], "int32"), whole], "Field 0 is required"],
  ];
  for (const [record, defaults, why] of cases) {
    assertThrows(() => csv(record, defaults), InvalidArgumentError, why);
  }
});

Deno.test("random ops of a key refuse other algorithms, and bounds that hold nothing", () => {
  const u64 = (...v: bigint[]) =>
    new tf.NdArray("uint64", [v.length], BigUint64Array.from(v)) as unknown as tf.Tensor;
  const one = tf.scalar(1, "int32");
  const draw = (key: tf.Tensor, counter: tf.Tensor, alg: number) =>
    run("StatelessRandomUniformV2", [ints(2), key, counter, tf.scalar(alg, "int32")]);
  assertThrows(() => draw(u64(1n), u64(1n, 2n), 2), UnimplementedError, "algorithm 2");
  assertThrows(() => draw(u64(1n), u64(1n), 1), InvalidArgumentError, "a counter of 2");
  assertThrows(
    () =>
      run("StatelessRandomUniformIntV2", [ints(2), u64(1n), u64(1n, 2n), one, one, one], {
        dtype: "int32",
      }),
    InvalidArgumentError,
    "Need minval < maxval",
  );
  assertThrows(
    () => run("StatelessRandomGetKeyCounter", [wide([1, 2, 3])]),
    InvalidArgumentError,
    "shape [2]",
  );
});

Deno.test("parts of sparse tensors refuse shapes that differ, and tell the gradients of their values", () => {
  const at = wide([[2, 1], [0, 1], [1, 0]]), dims = wide([3, 2]), x = tf.tensor([1, 2, 3]);
  const other = wide([[0, 1], [2, 0]]), weights = tf.tensor([5, 7, 11, 13]);
  assertThrows(
    () => run("SparseReorder", [at, x, wide([3, 2, 1])]),
    InvalidArgumentError,
    "a matrix of 3 columns",
  );
  assertThrows(
    () => run("SparseSlice", [at, x, dims, wide([0]), wide([1])]),
    InvalidArgumentError,
    "2 elements",
  );
  const sorted = wide([[0, 1], [1, 0], [2, 1]]);
  const sum = (a: tf.Tensor, b: tf.Tensor, shape = dims) =>
    run("SparseAdd", [sorted, a, dims, other, b, shape, tf.scalar(0)])[1]!;
  assertThrows(() => sum(x, x, wide([3, 3])), InvalidArgumentError, "shapes do not match");
  const gradient = (f: (x: tf.Tensor) => tf.Tensor, x: tf.Tensor) => [
    ...tf.grads((x: tf.Tensor) => {
      const y = f(x);
      return tf.sum(tf.mul(y, weights.slice([0], [y.size])));
    })([x])[0]!.dataSync(),
  ];
  // Entries go to places 2, 0 and 1.
  assertEquals(gradient((x) => run("SparseReorder", [at, x, dims])[1]!, x), [11, 5, 7]);
  const slice = (x: tf.Tensor) => run("SparseSlice", [at, x, dims, wide([1, 0]), wide([2, 2])])[1]!;
  assertEquals(gradient(slice, x), [5, 0, 7]);
  // The sum has entries at (0, 1), (1, 0), (2, 0) and (2, 1).
  const b = tf.tensor([4, 6]);
  assertEquals(gradient((a) => sum(a, b), x), [5, 7, 13]);
  assertEquals(gradient((b) => sum(x, b), b), [5, 11]);
});
