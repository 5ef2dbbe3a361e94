/** `x[i]`, `length` and iteration of host arrays, as NumPy has them. */

import { assert, assertEquals, assertFalse, assertStrictEquals, assertThrows } from "@std/assert";
import { type DType, type ElementValue, NdArray, ValueError } from "@weft/weft";
import { toNdArray } from "../../src/engine/core/convert.ts";
import { copiedLater } from "../../src/engine/core/nd_array.ts";

// deno-lint-ignore no-explicit-any
type Any = any;

const bytes = (text: string): Uint8Array => new TextEncoder().encode(text);

/** For each dtype: two values, one to write and how it reads then. */
const DTYPES: [DType, unknown[], unknown, unknown][] = [
  ["float32", [1, 2], 0.5, 0.5],
  ["float64", [1, 2], 0.1, 0.1],
  ["float16", [1, 2], 0.5, 0.5],
  ["bfloat16", [1, 2], 0.1, 0.10009765625],
  ["int8", [1, 2], -128.9, -128],
  ["int16", [1, 2], -7.9, -7],
  ["int32", [1, 2], true, 1],
  ["int64", [1n, 2n], 2n ** 60n, 2n ** 60n],
  ["int64", [1n, 2n], 7, 7n],
  ["uint8", [1, 2], 255, 255],
  ["uint16", [1, 2], 5n, 5],
  ["uint32", [1, 2], 2 ** 31, 2 ** 31],
  ["uint64", [1n, 2n], 3, 3n],
  ["bool", [true, false], 0, false],
  ["string", [bytes("a"), bytes("bc")], "tea", bytes("tea")],
  ["string", [bytes("a"), bytes("bc")], bytes("süß"), bytes("süß")],
  ["complex64", [[1, 2], [3, 4]], [5, 6], [5, 6]],
  ["complex128", [[1, 2], [3, 4]], 5, [5, 0]],
];

Deno.test("NdArray index reads and writes elements and rows of every dtype", () => {
  for (const [dtype, values, written, read] of DTYPES) {
    const at = `${dtype} ${String(written)}`;
    const x = toNdArray(values, { dtype }) as Any;
    assertEquals([x[0], x[1], x.length, [...x]], [...values, 2, values], at);
    x[0] = written;
    assertEquals([x[0], x[1]], [read, values[1]], at);
    const m = toNdArray([[values, values], [values, values]], { dtype }) as Any;
    m[1][0][1] = written;
    m[0] = m[1];
    m[1][1] = written;
    const rows = [[values[0], read], values];
    assertEquals(m.toArray(), [rows, [rows[0], [read, read]]], at);
    assertEquals([m.length, m[0].shape, m[0][0].shape], [2, [2, 2], [2]], at);
    assertEquals([...m[0]].map((row: Any) => row.toArray()), rows, at);
    const row = m[0][1], copy = row.copy();
    m[0][1][0] = written;
    assertEquals([row[0], copy[0]], [read, values[0]], at);
  }
});

Deno.test("NdArray index writes rows from all that has the shape of their last axes", () => {
  const cases: [unknown, number[][]][] = [
    [7, [[7, 7], [7, 7]]],
    [[5, 6], [[5, 6], [5, 6]]],
    [Float64Array.of(5, 6), [[5, 6], [5, 6]]],
    [[[1, 2], [3, 4]], [[1, 2], [3, 4]]],
    [toNdArray([8, 9]), [[8, 9], [8, 9]]],
    [toNdArray(3), [[3, 3], [3, 3]]],
    [toNdArray([[1, 2], [3, 4]], { dtype: "int64" }), [[1, 2], [3, 4]]],
  ];
  for (const [value, wanted] of cases) {
    const x = NdArray.zeros("float32", [2, 2, 2]);
    (x as Any)[1] = value;
    assertEquals(x.toArray(), [[[0, 0], [0, 0]], wanted], String(value));
  }
  const empty = NdArray.zeros("float32", [2, 0]);
  empty[0] = 1;
  assertEquals([...empty].map((row) => (row as NdArray).shape), [[0], [0]]);
});

Deno.test("NdArray index refuses what is no place and what is no element", () => {
  const cases: [unknown, (x: Any) => unknown, typeof ValueError | typeof TypeError, string][] = [
    [[1, 2], (x) => x[2], ValueError, "[2] with 2: its first axis has 2 places"],
    [[1, 2], (x) => x[2] = 1, ValueError, "[2] with 2: its first axis has 2 places"],
    [[1, 2], (x) => x[-1], ValueError, "take at(-1) to count from the end"],
    [[1, 2], (x) => x[-1] = 1, ValueError, "take at(-1) to count from the end"],
    [[[1, 2]], (x) => x[-1], ValueError, "take [x.length - 1] to count from the end"],
    [[1, 2], (x) => x[0.5], ValueError, "with 0.5: indices are integers"],
    [[1, 2], (x) => x[NaN], ValueError, "with NaN: indices are integers"],
    [[], (x) => x[0], ValueError, "its first axis has 0 places"],
    [5, (x) => x[0], ValueError, "it has no axis, take its item()"],
    [5, (x) => x[0] = 1, ValueError, "it has no axis, take its item()"],
    [5, (x) => x.length, TypeError, "take its item()"],
    [5, (x) => [...x], TypeError, "take its item()"],
    [[1, 2], (x) => x[0] = "a", TypeError, `Cannot convert "a" to float32`],
    [[1, 2], (x) => x[0] = undefined, TypeError, "Cannot convert undefined to"],
    [[1, 2], (x) => x[0] = [1, 2], ValueError, "Cannot assign a value of shape [2] to [0]"],
    [[[1, 2]], (x) => x[0] = [1], ValueError, "wanted shape [2], or that of its last axes"],
    [["a"], (x) => x[0] = 1, TypeError, "Cannot convert 1 of type number to string"],
    [[[1, 2]], (x) => x[0] = [1, "a"], TypeError, `Cannot convert "a" to float32`],
  ];
  for (const [value, use, type, text] of cases) {
    const x = toNdArray(value), before = x.toArray();
    assertThrows(() => use(x), type, text);
    assertEquals(x.toArray(), before, text);
  }
});

Deno.test("NdArray index leaves all other names as they are", () => {
  const x = toNdArray([[1, 2], [3, 4]]) as Any;
  assertEquals([x.then, x.foo, x[""], x["01"], x[Symbol("s")]], Array(5).fill(undefined));
  x.foo = 1;
  assertEquals([x.foo, Object.keys(x)], [1, ["dtype", "shape", "data", "foo"]]);
  delete x.foo;
  assert("length" in x && 0 in x && !((-1) in x) && !("foo" in x));
  assert(x instanceof Object && Object.hasOwn(x, "data") && !Array.isArray(x));
  assertStrictEquals(x.constructor, NdArray);
  assertEquals([(NdArray.prototype as Any)[0], Object.create(x)[0]], [undefined, undefined]);
  assertEquals({ ...x }, { dtype: "float32", shape: [2, 2], data: x.data });
  assertEquals(JSON.stringify(x), "[[1,2],[3,4]]");
  assertEquals(Deno.inspect(x), `NdArray(float32[2,2]) [[1, 2],\n${" ".repeat(23)}[3, 4]]`);
  assertEquals(Array.from(x[0]), [1, 2]);
  assertEquals(Array.prototype.map.call(x[1], (v) => (v as number) * 2), [6, 8]);
  assertEquals([].concat(x).length, 1);
  assertEquals(x, toNdArray([[1, 2], [3, 4]]));
  assertThrows(() => assertEquals(x, toNdArray([[1, 2], [3, 5]])));
  assertEquals(structuredClone({ ...x }), { ...x });
  assertThrows(() => x.length = 3, TypeError);
});

Deno.test("NdArray index copies a late array when it is written, not when it is read", () => {
  const source = toNdArray([1, 2]), late = copiedLater(source) as Any;
  assertEquals([late[1], [...late]], [2, [1, 2]]);
  assert(Object.getOwnPropertyDescriptor(late, "data")!.get);
  late[0] = 5;
  assertFalse(Object.getOwnPropertyDescriptor(late, "data")!.get);
  assertEquals([late.toArray(), source.toArray()], [[5, 2], [1, 2]]);
});

Deno.test("NdArray index is typed", () => {
  const x = NdArray.zeros("float32", [2]);
  x[0] = 1;
  const first: ElementValue | NdArray = x[0];
  let sum = 0;
  for (const v of x) sum += Number(v);
  for (let i = 0; i < x.length; i++) sum += Number(x[i]);
  assertEquals([first, sum], [1, 2]);
});

Deno.test("NdArray rows of strings share their elements in both directions, as lists too", () => {
  const array = (): NdArray => toNdArray([[["a", "b"], ["c", "d"]], [["e", "f"], ["g", "h"]]]);
  const x = array() as Any;
  const row = x[1], inner = row[0];
  inner[0] = "E";
  assertEquals([x[1][0].strings(), row.strings()], [["E", "f"], ["E", "f", "g", "h"]]);
  x[1] = [["p", "q"], ["r", "s"]];
  assertEquals([inner.strings(), inner.at(-1), row.get(1, 0)], [
    ["p", "q"],
    bytes("q"),
    bytes("r"),
  ]);
  const list = inner.data as Uint8Array[];
  list[1] = bytes("Q");
  x[1][0][0] = "P";
  assertEquals([x.strings().slice(4), list.map((b) => b.length)], [["P", "Q", "r", "s"], [1, 1]]);
  assertEquals([inner.data === list, list.length, inner.size], [true, 2, 2]);
  const copy = row.copy();
  row[0] = "z";
  assertEquals([copy[0].strings(), inner.strings()], [["P", "Q"], ["z", "z"]]);
  assertEquals(row.map((v: ElementValue) => v).strings(), ["z", "z", "r", "s"]);
  assertEquals([...x[0]].map(String), [...array()[0] as NdArray].map(String));
  assertEquals(row.reshape([4]).strings(), ["z", "z", "r", "s"]);
  assertEquals((toNdArray(["only"]) as Any)[0], bytes("only"));
  assertEquals(structuredClone(row.data), row.data);
});

/** For each integer dtype: numbers that it does not hold. NumPy raises for each of them. */
const TOO_FAR: Readonly<Partial<Record<DType, readonly unknown[]>>> = {
  int8: [128, -129, 300.5, NaN, Infinity, 2n ** 40n],
  uint8: [256, -1, -Infinity],
  int16: [32768],
  uint16: [65536, -1],
  int32: [2 ** 31, -(2 ** 31) - 1, 1e20, NaN],
  uint32: [2 ** 32, -1],
  int64: [2n ** 63n, NaN, -Infinity],
  uint64: [-1n, 2n ** 64n, -5],
};

Deno.test("x[i] refuses what an integer dtype does not hold, and leaves the array as it was", () => {
  for (const [dtype, values] of Object.entries(TOO_FAR)) {
    for (const value of values) {
      const says = `Cannot convert ${value} to ${dtype}: it is out of range`;
      const vector: Any = toNdArray([1, 2], { dtype: dtype as DType });
      assertThrows(() => vector[1] = value, ValueError, says);
      const rows: Any = toNdArray([[1, 2], [3, 4]], { dtype: dtype as DType });
      assertThrows(() => rows[1] = [0, value], ValueError, says);
      assertThrows(() => rows[1][0] = value, ValueError, says);
      assertEquals(
        [...vector.data, ...rows.data].map(Number),
        [1, 2, 1, 2, 3, 4],
        `${dtype} ${value}`,
      );
    }
  }
});
