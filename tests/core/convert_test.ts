/** Converting JavaScript values and arrays to host arrays: which dtype, which shape, and what is refused. */

import * as tf from "@weft/weft";
import { assert, assertEquals, assertStrictEquals, assertThrows } from "@std/assert";
import { castArray, describe, toNdArray } from "../../src/engine/core/convert.ts";
import type { DType } from "../../src/engine/core/dtype.ts";

const text = ({ dtype, shape, data }: tf.NdArray): unknown[] => [dtype, shape, [...data]];
const bytes = (s: string): Uint8Array => new TextEncoder().encode(s);

Deno.test("toNdArray() takes dtype and shape from the values", () => {
  const cases: [value: unknown, dtype: DType, shape: number[], data: unknown[]][] = [
    [1.5, "float32", [], [1.5]],
    [2n, "int64", [], [2n]],
    [true, "bool", [], [1]],
    ["é", "string", [], [bytes("é")]],
    [[], "float32", [0], []],
    [[[], []], "float32", [2, 0], []],
    [[[1, 2, 3]], "float32", [1, 3], [1, 2, 3]],
    [[[[1], [2]], [[3], [4]]], "float32", [2, 2, 1], [1, 2, 3, 4]],
    [[true, false], "bool", [2], [1, 0]],
    [[true, 2], "float32", [2], [1, 2]],
    [[1, 2n], "int64", [2], [1n, 2n]],
    [[["a"], ["b"]], "string", [2, 1], [bytes("a"), bytes("b")]],
    [[bytes("a"), bytes("bc")], "string", [2], [bytes("a"), bytes("bc")]],
    [Int32Array.of(1, 2), "int32", [2], [1, 2]],
    [Uint8ClampedArray.of(1, 255), "uint8", [2], [1, 255]],
    [[Float32Array.of(1, 2), Float32Array.of(3, 4)], "float32", [2, 2], [1, 2, 3, 4]],
  ];
  for (const [value, ...wanted] of cases) assertEquals(text(toNdArray(value)), wanted);
});

Deno.test("toNdArray() converts to the dtype that is asked for", () => {
  const cases: [value: unknown, dtype: DType, shape: number[], data: unknown[]][] = [
    [[true, false], "int32", [2], [1, 0]],
    [[3n], "int32", [1], [3]],
    [[3n], "float32", [1], [3]],
    [[true, false, 2, -2], "int64", [4], [1n, 0n, 2n, -2n]],
    [[0, -0, NaN, 2, true, false], "bool", [6], [0, 0, 1, 1, 1, 0]],
    [[1, [2, 3]], "complex64", [2], [1, 0, 2, 3]],
    [[[1, 2], [3, 4]], "complex128", [2], [1, 2, 3, 4]],
    [Float32Array.of(1, 2, 3, 4), "complex64", [2], [1, 2, 3, 4]],
    [Float64Array.of(1, 2), "complex64", [1], [1, 2]],
    [Float32Array.of(1, 2), "complex128", [1], [1, 2]],
    [Float64Array.of(1, 2), "complex128", [1], [1, 2]],
    [Int32Array.of(1, 2), "complex64", [2], [1, 0, 2, 0]],
    [Uint8Array.of(0, 2), "bool", [2], [0, 2]],
    [bytes("abc"), "string", [], [bytes("abc")]],
    [Float32Array.of(1.5, -1.5), "int8", [2], [1, -1]],
    [[300, -1], "int16", [2], [300, -1]],
    [[[255], [-0]], "uint8", [2, 1], [255, 0]],
  ];
  for (const [value, dtype, ...wanted] of cases) {
    assertEquals(text(toNdArray(value, { dtype })), [dtype, ...wanted]);
  }
});

Deno.test("toNdArray() wraps numbers and cuts fractions off where it is told to", () => {
  const cases: [value: unknown, dtype: DType, data: unknown[]][] = [
    [[1.9, -1.9], "int32", [1, -1]],
    [2 ** 32 + 5, "int32", [5]],
    [[300, -1], "uint8", [44, 255]],
    [[true, false, 2, -2.5], "int64", [1n, 0n, 2n, -2n]],
    [[NaN, Infinity], "int64", [0n, 2n ** 63n - 1n]],
    [NaN, "int32", [0]],
  ];
  for (const [value, dtype, wanted] of cases) {
    assertEquals([...toNdArray(value, { dtype, numbers: "wrapped" }).data], wanted);
  }
});

Deno.test("integers take whole numbers that they hold, and no others", () => {
  const range: [number, DType][] = [
    [300, "uint8"],
    [-1, "uint8"],
    [128, "int8"],
    [2 ** 16, "uint16"],
    [-(2 ** 15) - 1, "int16"],
    [2 ** 31, "int32"],
    [-1, "uint32"],
    [2 ** 63, "int64"],
    [-1, "uint64"],
  ];
  for (const [value, dtype] of range) {
    for (const nest of [value, [value], [[0], [value]], [true, value]]) {
      const shown = dtype.endsWith("64") ? BigInt(value) : value;
      const text = `Cannot convert ${shown} to ${dtype}: it is out of range`;
      assertThrows(() => toNdArray(nest, { dtype }), tf.ValueError, text);
    }
  }
  for (const value of [1.5, NaN, Infinity, -Infinity]) {
    for (const dtype of ["int8", "uint8", "int16", "int32", "uint32", "int64", "uint64"] as const) {
      for (const nest of [value, [value], [[0], [value]]]) {
        const text = `Cannot convert ${value} of type number to ${dtype}`;
        assertThrows(() => toNdArray(nest, { dtype }), TypeError, text);
      }
    }
  }
});

Deno.test("toNdArray() copies neither typed arrays nor host arrays of the right dtype", () => {
  const data = Float32Array.of(1, 2), array = new tf.NdArray("float32", [2], data);
  assertStrictEquals(toNdArray(data).data, data);
  assertStrictEquals(toNdArray(array), array);
  assertStrictEquals(toNdArray(array, { dtype: "float32" }), array);
  const pairs = Float64Array.of(1, 2);
  assertStrictEquals(toNdArray(pairs, { dtype: "complex128" }).data, pairs);
});

Deno.test("a shape is filled with one value, or must hold as many as there are", () => {
  const shaped = (value: unknown, shape: number[], dtype?: DType) =>
    text(toNdArray(value, { shape, dtype }));
  assertEquals(shaped([1, 2, 3, 4], [2, 2]), ["float32", [2, 2], [1, 2, 3, 4]]);
  assertEquals(shaped(7, [2, 1], "int32"), ["int32", [2, 1], [7, 7]]);
  assertEquals(shaped([[5]], [3]), ["float32", [3], [5, 5, 5]]);
  assertEquals(shaped([[1, 2]], [2], "complex64"), ["complex64", [2], [1, 2, 1, 2]]);
  assertThrows(
    () => shaped([1, 2], [3]),
    tf.ValueError,
    "Cannot make a tensor of shape [3] (3 elements): based on the provided shape, the values have 2",
  );
});

Deno.test("integers take bigints that they hold, and no others", () => {
  for (
    const [value, dtype] of [[2n ** 70n, undefined], [2n ** 63n, "int64"], [-1n, "uint64"], [
      2n ** 31n,
      "int32",
    ]] as const
  ) {
    for (const nest of [value, [value], [[0n, value]]]) {
      assertThrows(() => toNdArray(nest, { dtype }), tf.ValueError, `Cannot convert ${value} to`);
    }
  }
  assertEquals([...toNdArray([2n ** 64n - 1n], { dtype: "uint64" }).data], [2n ** 64n - 1n]);
  assertEquals([...toNdArray([-1n, 2n ** 31n - 1n], { dtype: "int32" }).data], [-1, 2 ** 31 - 1]);
  assertEquals([...toNdArray([2n ** 70n], { dtype: "float64" }).data], [2 ** 70]);
});

Deno.test("exact conversion takes only what the dtype holds exactly", () => {
  const good: [unknown, DType][] = [
    [[-128, 127], "int8"],
    [[0, 255], "uint8"],
    [[-32768, 32767], "int16"],
    [[0, 65535], "uint16"],
    [[-(2 ** 31), 2 ** 31 - 1], "int32"],
    [[0, 2 ** 32 - 1], "uint32"],
    [[-(2n ** 63n), 2n ** 63n - 1n], "int64"],
    [[0n, 2n ** 64n - 1n], "uint64"],
    [[1, 2], "int64"],
    [[1.5, 1e300], "float64"],
    [[3n], "int32"],
    [[true, false, 1], "int32"],
  ];
  for (const [value, dtype] of good) {
    const { data } = toNdArray(value, { dtype, numbers: "exact" });
    assertEquals([...data].map(Number), (value as unknown[]).map(Number), dtype);
  }
  const bad: [unknown, DType][] = [
    ...([[-129, "int8"], [128, "int8"], [-1, "uint8"], [256, "uint8"]] as [number, DType][]),
    ...([[-32769, "int16"], [32768, "int16"], [-1, "uint16"], [65536, "uint16"]] as [
      number,
      DType,
    ][]),
    ...([[-(2 ** 31) - 1, "int32"], [2 ** 31, "int32"]] as [number, DType][]),
    ...([[-1, "uint32"], [2 ** 32, "uint32"], [0.5, "int32"], [0.5, "int64"]] as [number, DType][]),
    [-(2n ** 63n) - 1n, "int64"],
    [2n ** 63n, "int64"],
    [-1n, "uint64"],
    [2n ** 64n, "uint64"],
    [2n ** 31n, "int32"],
    [1n, "float32"],
    [NaN, "int32"],
  ];
  for (const [value, dtype] of bad) {
    assertThrows(
      () => toNdArray([value], { dtype, numbers: "exact" }),
      TypeError,
      `to ${dtype}`,
    );
  }
});

Deno.test("what is no tensor is refused by name", () => {
  const cases: [unknown, DType | undefined, new (m: string) => Error, string][] = [
    [[1, [2]], undefined, tf.ValueError, "an array of 1, wanted a value"],
    [[[1], 2], undefined, tf.ValueError, "at depth 1 has no length, wanted 1 entries"],
    [[[1], [2, 3]], undefined, tf.ValueError, "at depth 1 has length 2, wanted 1 entries"],
    [[[[1]], [[2, 3]]], undefined, tf.ValueError, "at depth 2 has length 2"],
    [["a", 1], undefined, TypeError, "Cannot convert 1 of type number to string"],
    [[1, "a"], undefined, TypeError, 'Cannot convert "a" to float32'],
    [["a"], "bool", TypeError, 'Cannot convert "a" to bool'],
    [["a"], "int64", TypeError, 'Cannot convert "a" to int64'],
    [[undefined], undefined, TypeError, "Cannot convert undefined to a tensor"],
    [Symbol("s"), undefined, TypeError, "Symbol(s) of type symbol"],
  ];
  for (const [value, dtype, Class, message] of cases) {
    assertThrows(() => toNdArray(value, { dtype }), Class, message);
  }
  const named = [null, undefined, () => 1, function nameOfItsOwn() {}, [1, 2], new Map(), 3, "s"]
    .map(
      describe,
    );
  assertEquals(named, [
    ...["null", "undefined", "function (anonymous)", "function nameOfItsOwn", "an array of 2"],
    ...["a value of type Map", "3 of type number", '"s"'],
  ]);
});

Deno.test("castArray() truncates, wraps, asks for zero and takes real parts", () => {
  const cast = (
    data: unknown,
    from: DType,
    to: DType,
  ) => [...castArray(toNdArray(data, { dtype: from }), to).data];
  assertEquals(cast([1.9, -1.9], "float64", "int32"), [1, -1]);
  assertEquals(cast([1.9, -1.9], "float32", "int64"), [1n, -1n]);
  assertEquals(cast([3n, -3n], "int64", "float32"), [3, -3]);
  assertEquals(cast([2n ** 32n + 5n], "int64", "int32"), [5]);
  assertEquals(cast([0n, 7n], "int64", "bool"), [0, 1]);
  assertEquals(cast([0, 0.5, NaN], "float32", "bool"), [0, 1, 1]);
  assertEquals(cast([true, false], "bool", "int64"), [1n, 0n]);
  assertEquals(cast([[1.5, 2]], "complex64", "float64"), [1.5]);
  assertEquals(cast([2, 3], "int32", "complex64"), [2, 0, 3, 0]);
  assertEquals(cast([[1, 2]], "complex64", "complex128"), [1, 2]);
  const same = toNdArray([1]);
  assertStrictEquals(castArray(same, "float32"), same);
  assertThrows(() => cast(["1"], "string", "int32"), TypeError, "Cannot cast string to int32");
  assertThrows(() => cast([1], "int32", "string"), TypeError, "Cannot cast int32 to string");
});

Deno.test("numbers in eager code are the numbers that were written, however many there were", () => {
  using zero = tf.scalar(0);
  using whole = tf.scalar(0, "int32");
  tf.tidy(() => {
    for (let i = 0; i < 5000; i++) {
      assertEquals(tf.add(zero, i / 4).item(), i / 4);
      assertEquals(tf.add(whole, i).item(), i);
    }
    assertEquals(tf.mul(-1, tf.reshape(zero, [1])).dataSync(), Float32Array.of(-0));
    assert(Object.is(tf.maximum(tf.scalar(-1), -0).item(), -0));
    assert(Object.is(tf.maximum(tf.scalar(-1), 0).item(), 0));
  });
});
