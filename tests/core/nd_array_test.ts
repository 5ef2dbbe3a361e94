/** Host arrays in JavaScript's own arithmetic and as text. */

import { assertEquals, assertThrows } from "@std/assert";
import { NdArray } from "@weft/weft";
import { toNdArray } from "../../src/engine/core/convert.ts";
import type { DType } from "../../src/engine/core/dtype.ts";

// deno-lint-ignore no-explicit-any
type Any = any;

Deno.test("NdArray of rank 0 is its element in arithmetic and comparisons", () => {
  const five = toNdArray(5) as Any, big = toNdArray(2n ** 60n, { dtype: "int64" }) as Any;
  const yes = toNdArray(true) as Any;
  const cases: [unknown, unknown][] = [
    [five * 2, 10],
    [five + 1, 6],
    [1 - five, -4],
    [-five, -5],
    [five > 0, true],
    [five < five, false],
    [five == 5, true],
    [five + five, 10],
    [Number(five), 5],
    [Math.max(five, 7), 7],
    [big + 1n, 2n ** 60n + 1n],
    [big > 3, true],
    [yes + 1, 2],
    [toNdArray(0.1, { dtype: "bfloat16" }) as Any * 1, 0.10009765625],
  ];
  cases.forEach(([actual, wanted], i) => assertEquals(actual, wanted, `case ${i}`));
  assertThrows(() => big + 1, TypeError, "BigInt");
});

Deno.test("NdArray of any other rank or of no number is refused in arithmetic", () => {
  const uses: ((x: Any) => unknown)[] = [
    (x) => x * 2,
    (x) => x + 1,
    (x) => x > 0,
    (x) => x == 1,
    (x) => Number(x),
  ];
  for (const value of [[1, 2], [1], [], [[1]]]) {
    for (const use of uses) {
      assertThrows(() => use(toNdArray(value)), TypeError, "its .map(), or with np.multiply");
    }
  }
  const others: [unknown, DType][] = [["text", "string"], [[1, 2], "complex64"]];
  for (const [value, dtype] of others) {
    const x = dtype === "string"
      ? toNdArray(value)
      : new NdArray(dtype, [], Float32Array.from(value as number[]));
    for (const use of uses) assertThrows(() => use(x), TypeError, `dtype ${dtype}`);
  }
});

Deno.test("NdArray has a text", () => {
  const cases: [unknown, string][] = [
    [5, "5"],
    ["hé", "hé"],
    [[1, 2], "[1, 2]"],
    [[[1, 22], [333, 4]], "[[1  , 22],\n [333, 4 ]]"],
    [Array.from({ length: 30 }, (_, i) => i), "[0, 1, 2, ..., 27, 28, 29]"],
  ];
  for (const [value, text] of cases) {
    const array = toNdArray(value);
    assertEquals([String(array), `${array}`, array.toString()], [text, text, text]);
  }
});

Deno.test("at() counts negative indices from the end and refuses what is out of bounds", () => {
  const arrays: [NdArray, unknown, unknown][] = [
    [toNdArray([1, 2, 3]), 1, 3],
    [toNdArray([true, false]), true, false],
    [toNdArray(["a", "b"]), Uint8Array.of(97), Uint8Array.of(98)],
    [new NdArray("complex64", [2], Float32Array.of(1, 2, 3, 4)), [1, 2], [3, 4]],
    [toNdArray([1n, 2n], { dtype: "int64" }), 1n, 2n],
  ];
  for (const [array, first, last] of arrays) {
    const { size } = array;
    assertEquals([array.at(0), array.at(-size)], [first, first], array.dtype);
    assertEquals([array.at(size - 1), array.at(-1)], [last, last], array.dtype);
    for (const i of [size, -size - 1, 0.5, NaN]) {
      assertThrows(() => array.at(i), RangeError, `index ${i} is out of bounds for an array of`);
    }
  }
});
