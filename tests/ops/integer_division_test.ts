/**
 * Whole numbers divided by zero, and to negative powers: on the CPU an error that names the op and its node, in every kernel and
 * mode, wherever the element lies; on WebGPU what DIFFERENCES.md says.
 */

import * as tf from "@weft/weft";
import type { DType } from "@weft/weft";
import { assert, assertEquals, assertRejects, assertThrows } from "@std/assert";
import { apply } from "../../src/engine/core/apply.ts";
import { lookupOp } from "../../src/engine/core/op.ts";
import { cpuDevice } from "../../src/engine/runtime/devices/devices.ts";
import type { CpuDevice } from "../../src/engine/devices/cpu/cpu_device.ts";
import { runCpuKernel } from "../../src/library/testing/run_op.ts";
import { problemOf } from "../../src/library/testing/run_op.ts";
import { fileName, testOnDevices, testOnGpu } from "../devices.ts";

const DIVISIONS = ["FloorDiv", "FloorMod", "TruncateDiv", "TruncateMod", "Div"];
const DTYPES: readonly DType[] = ["int32", "uint32", "int64", "uint64", "int8", "uint8", "int16"];
/** Op and what takes the place of a bad second operand. */
const FAULTS: readonly (readonly [op: string, bad: number, phrase: string])[] = [
  ...DIVISIONS.map((op) => [op, 0, "Integer division by zero"] as const),
  ["Pow", -1, "Integers to negative integer powers are not allowed"],
];
const takes = (op: string, dtype: DType): boolean => {
  const { allowed } = lookupOp(op)!.signature.attrDefs.find((a) => a.name === "T")!;
  return allowed!.includes(dtype) && (op !== "Pow" || dtype.startsWith("int"));
};

const compute = (op: string, ...xs: tf.Tensor[]): tf.Tensor => apply(lookupOp(op)!, xs)[0];
const whole = (n: number, dtype: DType, shape = [n], at = -1, bad = 0): tf.Tensor =>
  tf.tensor(Array.from({ length: n }, (_, i) => (i === at ? bad : i % 5 + 1)), shape, dtype);

/** Sizes around whole vectors and unrolled ones, and one that threads share. */
const SIZES = [1, 2, 3, 4, 5, 8, 13, 16, 17, 31, 64, 67];

Deno.test("a division by zero is found wherever it is, and nowhere else", async () => {
  assert(await tf.setBackend("cpu"));
  for (const [op, bad, phrase] of FAULTS) {
    for (const dtype of DTYPES.filter((t) => takes(op, t))) {
      for (const n of SIZES) {
        using _scope = tf.scope();
        const x = whole(n, dtype);
        // Memory that was in use before lies past the end: it holds zeros.
        tf.zeros([n + 64], dtype).dispose();
        assertEquals(compute(op, x, whole(n, dtype)).size, n);
        for (const at of new Set([0, n >> 1, n - 1])) {
          const before = tf.memory().numTensors;
          const error = assertThrows(
            () => compute(op, x, whole(n, dtype, [n], at, bad)),
            tf.errors.InvalidArgumentError,
            phrase,
          );
          assertEquals([error.op, error.inputs], [op, [`${dtype}[${n}]`, `${dtype}[${n}]`]]);
          assertEquals(tf.memory().numTensors, before + 1, "the operand alone");
          // What failed leaves nothing behind.
          assertEquals(compute(op, x, whole(n, dtype)).size, n);
        }
      }
    }
  }
});

/** Ways that two operands broadcast, each with a kernel of its own: shapes and where the zero is. */
const BROADCASTS: readonly (readonly [string, number[], number[]])[] = [
  ["a scalar", [37], []],
  ["a row", [5, 7], [7]],
  ["a column of long rows", [5, 37], [5, 1]],
  ["a column of short rows", [300, 3], [300, 1]],
  ["a row of short rows", [300, 3], [3]],
  ["both ways", [4, 1, 6], [5, 1]],
  ["six axes", [2, 1, 2, 1, 2, 1], [1, 3, 1, 3, 1, 3]],
];

Deno.test("a division by zero is found in every broadcast", async () => {
  assert(await tf.setBackend("cpu"));
  const size = (shape: readonly number[]) => shape.reduce((a, b) => a * b, 1);
  for (const [name, left, right] of BROADCASTS) {
    for (const [a, b] of [[left, right], [right, left]]) {
      using _scope = tf.scope();
      const x = whole(size(a), "int32", a), n = size(b);
      compute("FloorDiv", x, whole(n, "int32", b));
      assertThrows(
        () => compute("FloorDiv", x, whole(n, "int32", b, n - 1, 0)),
        tf.errors.InvalidArgumentError,
        "Integer division by zero",
        name,
      );
    }
  }
});

Deno.test("a division by zero is found by whichever thread meets it", async () => {
  assert(await tf.setBackend("cpu"));
  const { engine } = cpuDevice() as CpuDevice;
  const { worthSharing } = engine!;
  engine!.worthSharing = 1e4;
  try {
    const n = 1 << 17, x = new Int32Array(n).fill(9);
    for (const at of [0, n >> 1, n - 1]) {
      const y = new Int32Array(n).fill(2);
      using _scope = tf.scope();
      assertEquals(tf.sum(tf.floorDiv(tf.tensor(x), tf.tensor(y))).item(), 4 * n);
      y[at] = 0;
      assertThrows(() => tf.mod(tf.tensor(x), tf.tensor(y)), tf.errors.InvalidArgumentError);
    }
  } finally {
    engine!.worthSharing = worthSharing;
  }
});

Deno.test("loops refuse what vector code refuses", () => {
  for (const [op, bad, phrase] of FAULTS) {
    for (const dtype of DTYPES.filter((t) => takes(op, t))) {
      const inputs = [whole(3, dtype), whole(3, dtype, [3], 1, bad)].map((t) => t.ndarraySync());
      const def = lookupOp(op)!, problem = problemOf(def, inputs, {});
      assertThrows(
        () => runCpuKernel(def, inputs, problem),
        tf.errors.InvalidArgumentError,
        phrase,
      );
    }
  }
});

/** Programs over two vectors, with ops around the division that it could be fused with. */
const PROGRAMS: Readonly<Record<string, (a: tf.Tensor, b: tf.Tensor) => tf.Tensor>> = {
  "alone": (a, b) => tf.floorDiv(a, b),
  "before others": (a, b) => tf.add(tf.floorDiv(a, b), tf.mul(a, a)),
  "after others": (a, b) => tf.floorDiv(tf.add(a, 1), tf.mul(b, 1)),
  "in a sum": (a, b) => tf.sum(tf.floorDiv(a, b)),
  "in a greatest element": (a, b) => tf.max(tf.add(tf.floorDiv(a, b), 1)),
  "beside a float": (a, b) => tf.mul(tf.cast(tf.floorDiv(a, b), "float32"), 0.5),
  "after a product": (a, b) =>
    tf.add(tf.matMul(tf.ones([4, 4]), tf.ones([4, 4])), tf.cast(tf.floorDiv(a, b), "float32")),
  "in a loop": (a, b) =>
    (tf.whileLoop((i: tf.Tensor) => tf.less(i, 2), (i: tf.Tensor, x: tf.Tensor) => [
      tf.add(i, 1),
      tf.floorDiv(x, b),
    ], [tf.tensor(0, [], "int32"), a]) as tf.Tensor[])[1],
};

const good = () => whole(4, "int32"), zero = () => whole(4, "int32", [4], 2, 0);

for (const [name, program] of Object.entries(PROGRAMS)) {
  Deno.test(`plans refuse a division by zero, and name its node: ${name}`, async () => {
    assert(await tf.setBackend("cpu"));
    using _scope = tf.scope();
    const f = tf.function(program);
    const wanted = program(good(), good()).arraySync();
    const graph = new tf.Graph();
    const y = graph.asDefault(() =>
      program(tf.placeholder("int32", [4], "a"), tf.placeholder("int32", [4], "b"))
    );
    await using session = new tf.Session({ graph });
    const feeds = (b: number) => ({ "a:0": [1, 2, 3, 4], "b:0": [1, 2, b, 4] });
    // Twice: the second time everything is prepared.
    for (let i = 0; i < 2; i++) {
      assertEquals(f(good(), good()).arraySync(), wanted);
      const error = assertThrows(
        () => f(good(), zero()),
        tf.errors.InvalidArgumentError,
        "by zero",
      );
      assertEquals([error.op, error.node], ["FloorDiv", "FloorDiv"]);
      assert(error.message.includes(fileName(import.meta.url)), error.message);
      await session.run(y, { feeds: feeds(3) });
      const late = await assertRejects(
        () => session.run(y, { feeds: feeds(0) }),
        tf.errors.InvalidArgumentError,
        "Integer division by zero",
      );
      assert(String((late as { node?: string }).node).endsWith("FloorDiv"));
    }
  });
}

Deno.test("a division by a number is fused as before", async () => {
  assert(await tf.setBackend("cpu"));
  using _scope = tf.scope();
  const f = tf.function((a: tf.Tensor) => tf.add(tf.floorDiv(a, 3), tf.mul(tf.mod(a, 4), 2)));
  assertEquals(f(tf.tensor([7, -7], [2], "int32")).arraySync(), [8, -1]);
  const zero = tf.function((a: tf.Tensor) => tf.add(tf.floorDiv(a, 0), 1));
  assertThrows(
    () => zero(tf.tensor([7], [1], "int32")),
    tf.errors.InvalidArgumentError,
    "Integer division by zero",
  );
});

Deno.test("a division of constants fails when it is run, not when it is folded", async () => {
  assert(await tf.setBackend("cpu"));
  const graph = new tf.Graph();
  const [bad, fine] = graph.asDefault(() => {
    const seven = tf.tensor(7, [], "int32");
    return [tf.floorDiv(seven, tf.tensor(0, [], "int32")), tf.add(seven, 1)];
  });
  await using session = new tf.Session({ graph });
  assertEquals(await session.run(fine), 8);
  await assertRejects(() => session.run(bad), tf.errors.InvalidArgumentError, "by zero");
});

testOnDevices("what has no elements divides by nothing", () => {
  for (const dtype of ["int32", "int64"] as const) {
    assertEquals(tf.floorDiv(tf.zeros([0], dtype), tf.zeros([1], dtype)).shape, [0]);
  }
});

testOnGpu("on WebGPU whole numbers divided by zero are 0, compiled and not", () => {
  const f = tf.function((a: tf.Tensor, b: tf.Tensor) => tf.add(tf.floorDiv(a, b), tf.mod(a, b)));
  const divide = (a: tf.Tensor, b: tf.Tensor) => tf.add(tf.floorDiv(a, b), tf.mod(a, b));
  const a = tf.tensor([7, -7, 7, 9], [4], "int32"), b = tf.tensor([0, 0, 2, -4], [4], "int32");
  assertEquals([f(a, b).arraySync(), divide(a, b).arraySync()], [[0, 0, 4, -6], [0, 0, 4, -6]]);
});

type Binary = (a: tf.Tensor, b: tf.Tensor) => tf.Tensor;

/** Wraps a number to each integer dtype. */
const INTEGERS: Readonly<Record<string, (v: bigint) => bigint>> = Object.fromEntries(
  [8, 16, 32, 64].flatMap((bits) => [
    [`int${bits}`, (v: bigint) => BigInt.asIntN(bits, v)],
    [`uint${bits}`, (v: bigint) => BigInt.asUintN(bits, v)],
  ]),
);
/** The result of each op on integers, before wrapping. */
const OF_BITS: readonly [name: string, op: Binary, want: (x: bigint, y: bigint) => bigint][] = [
  ["bitwiseAnd", tf.bitwiseAnd, (x, y) => x & y],
  ["bitwiseOr", tf.bitwiseOr, (x, y) => x | y],
  ["bitwiseXor", tf.bitwiseXor, (x, y) => x ^ y],
  ["leftShift", tf.leftShift, (x, y) => x << y],
  ["rightShift", tf.rightShift, (x, y) => x >> y],
  ["bitwiseInvert", (x) => tf.bitwiseInvert(x), (x) => ~x],
];

testOnDevices("bitwise ops keep the dtype of all integers, and refuse all else", () => {
  const least = -(2n ** 63n),
    xs = [0n, 1n, 5n, 100n, -1n, -7n, least],
    ys = [3n, 1n, 2n, 7n, 5n, 4n, 6n];
  for (const [dtype, wrap] of Object.entries(INTEGERS)) {
    const tensor = (values: bigint[]): tf.Tensor => {
      const wrapped = values.map(wrap);
      return tf.tensor(
        dtype.endsWith("64") ? wrapped : wrapped.map(Number),
        undefined,
        dtype as tf.DType,
      );
    };
    for (const [name, op, want] of OF_BITS) {
      const y = op(tensor(xs), tensor(ys));
      assertEquals(y.dtype, dtype, `${name} of ${dtype}`);
      const wanted = xs.map((x, i) => wrap(want(wrap(x), wrap(ys[i]))));
      assertEquals(Array.from(y.dataSync() as Int32Array, BigInt), wanted, `${name} of ${dtype}`);
      assertEquals((tf.function(op as never) as Binary)(tensor(xs), tensor(ys)).dtype, dtype);
    }
  }
  for (const [name, op] of OF_BITS) {
    for (const x of [tf.tensor([true]), tf.tensor([1.5]), tf.tensor(["a"])]) {
      assertThrows(() => op(x, x), TypeError, "integer", name);
    }
  }
});
