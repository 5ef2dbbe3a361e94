/** The stand-ins for `@std` agree with the originals where `node:assert` would not. */

import { AssertionError, assertIsError, assertObjectMatch, assertThrows, equal } from "./assert.ts";
import * as stand from "./assert.ts";

Deno.test("equal() treats numbers as @std/assert does", () => {
  check(equal(NaN, NaN) && equal(0, -0) && equal([0], [-0]), "numbers");
  check(equal(new Float32Array([NaN, 0]), new Float32Array([NaN, -0])), "typed arrays");
  check(!equal(new Float32Array(1), new Float64Array(1)), "kinds of typed arrays");
  check(!equal(1, 1n) && equal([1n], [1n]), "big integers");
});

Deno.test("equal() compares structures", () => {
  check(equal({ a: [1, { b: 2 }] }, { a: [1, { b: 2 }] }), "nested");
  check(equal(Object.create(null), {}), "no prototype");
  check(!equal({ a: undefined }, {}) && !equal({}, { a: undefined }), "undefined properties");
  check(!equal([1, 2], [1, 2, 3]) && !equal([], {}) && !equal(null, {}), "different shapes");
  check(equal(new Map([[{ a: 1 }, [2]]]), new Map([[{ a: 1 }, [2]]])), "maps");
  check(equal(new Set([[1], [2]]), new Set([[2], [1]])), "sets in any order");
  check(!equal(new Set([[1], [1]]), new Set([[1], [2]])), "sets with one partner each");
  check(equal(new Date(5), new Date(5)) && !equal(new Date(5), new Date(6)), "dates");
  check(!equal(new Error("a"), new Error("b")) && !equal(/a/g, /a/), "errors and patterns");
});

Deno.test("equal() ends on cycles", () => {
  const a: unknown[] = [1], b: unknown[] = [1];
  a.push(a);
  b.push(b);
  check(equal(a, b), "cycles");
});

Deno.test("each assertion refuses what it should", async () => {
  const refused: (() => unknown)[] = [
    () => stand.assert(0),
    () => stand.assertFalse(1),
    () => stand.assertEquals([1], [2]),
    () => stand.assertNotEquals([1], [1]),
    () => stand.assertStrictEquals<unknown>([1], [1]),
    () => stand.assertNotStrictEquals(1, 1),
    () => stand.assertAlmostEquals(1, 1.00001),
    () => stand.assertAlmostEquals(NaN, 1),
    () => stand.assertExists(null),
    () => stand.assertInstanceOf(1, Error),
    () => stand.assertNotInstanceOf(new TypeError(), Error),
    () => stand.assertMatch("a", /b/),
    () => stand.assertNotMatch("a", /a/),
    () => stand.assertStringIncludes("abc", "d"),
    () => stand.assertArrayIncludes([1], [2]),
    () => stand.assertObjectMatch({ a: { b: 1 } }, { a: { b: 2 } }),
    () => stand.assertGreater(1, 1),
    () => stand.assertGreaterOrEqual(1, 2),
    () => stand.assertLess(1, 1),
    () => stand.assertLessOrEqual(2, 1),
    () => stand.assertThrows(() => {}),
    () => stand.assertThrows(() => raise(new Error("a")), TypeError),
    () => stand.assertThrows(() => raise(new TypeError("a")), TypeError, "b"),
    () => stand.fail(),
    () => stand.unreachable(),
  ];
  for (const call of refused) {
    try {
      call();
    } catch (error) {
      assertIsError(error, AssertionError);
      continue;
    }
    throw new Error(`Nothing was thrown by ${call}`);
  }
  for (const fn of [() => Promise.resolve(), () => raise(new Error("not a rejection"))]) {
    const error = await stand.assertRejects(fn, TypeError).catch((error) => error);
    assertIsError(error, AssertionError);
  }
});

Deno.test("the assertions accept what they should", async () => {
  stand.assertAlmostEquals(1, 1 + 5e-8);
  stand.assertAlmostEquals(Infinity, Infinity);
  stand.assertArrayIncludes([[1], [2]], [[2]]);
  assertObjectMatch({ a: { b: 1, c: 2 }, d: 3 }, { a: { b: 1 } });
  const thrown = assertThrows(() => raise(new RangeError("too far")), RangeError, "far");
  check(thrown.message === "too far", "the error is returned");
  const rejected = await stand.assertRejects(() => Promise.reject(new TypeError("x")), TypeError);
  check(rejected instanceof TypeError, "the reason is returned");
});

function check(condition: boolean, name: string): void {
  if (!condition) throw new Error(name);
}

function raise(error: Error): never {
  throw error;
}
