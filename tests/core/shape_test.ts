/** Partial shapes: what is known of two of them, broadcasting, strides, axes, texts. */

import { assert, assertEquals, assertThrows } from "@std/assert";
import { ValueError } from "../../src/engine/core/errors.ts";
import * as shape from "../../src/engine/core/shape.ts";

type P = shape.PartialShape;

/** A shape, or what the error says. */
function outcome(work: () => unknown): unknown {
  try {
    return work();
  } catch (e) {
    assert(e instanceof ValueError, String(e));
    return e.message;
  }
}

Deno.test("two partial shapes are the same, compatible, merged, relaxed and broadcast", () => {
  const rank = "Shapes must be equal rank, but are 1 and 2";
  const dimension =
    "Dimension 1 in both shapes must be equal, but are 3 and 4. Shapes are [2,3] and [?,4]";
  // a, b, the same, compatible, merged, relaxed, broadcast; the other way round is alike.
  const cases: [P, P, boolean, boolean, unknown, P, unknown][] = [
    [null, null, true, true, null, null, null],
    [null, [2], false, true, [2], null, null],
    [[], [], true, true, [], [], []],
    [[2, 3], [2, 3], true, true, [2, 3], [2, 3], [2, 3]],
    [[2, null], [null, 3], false, true, [2, 3], [null, null], [2, 3]],
    [[null], [null], true, true, [null], [null], [null]],
    [[2, 3], [null, 4], false, false, dimension, [null, null], "Incompatible shapes: "],
    [[1], [2, 2], false, false, rank, null, [2, 2]],
    [[3, 1], [1, 4], false, false, "Dimension 0", [null, null], [3, 4]],
    [[1, null], [5, 1], false, false, "Dimension 0", [null, null], [5, null]],
    [[0, 2], [1, 2], false, false, "Dimension 0", [null, 2], [0, 2]],
    [[2], [3], false, false, "Dimension 0", [null], "Incompatible shapes: "],
    [[4, null], [3], false, false, "Shapes must be equal rank", null, [4, 3]],
  ];
  const agrees = (received: unknown, wanted: unknown, what: string): void => {
    if (typeof wanted !== "string") assertEquals(received, wanted, what);
    else assert(String(received).startsWith(wanted), `${what}: ${received}`);
  };
  for (const [a, b, same, compatible, merged, relaxed, broadcast] of cases) {
    for (const [p, q, isTurned] of [[a, b, false], [b, a, true]] as const) {
      const what = `${JSON.stringify(p)}, ${JSON.stringify(q)}`;
      assertEquals(shape.sameShape(p, q), same, what);
      assertEquals(shape.compatible(p, q), compatible, what);
      assertEquals(shape.relaxShapes(p, q), relaxed, what);
      agrees(outcome(() => shape.broadcastShapes(p, q)), broadcast, what);
      const first = isTurned && typeof merged === "string" ? merged.slice(0, 9) : merged;
      agrees(outcome(() => shape.mergeShapes(p, q)), first, what);
    }
  }
});

Deno.test("shapes are told from other values, counted, and written as TensorFlow writes them", () => {
  const shapes = [[], [0], [2, 3], new Array(shape.MAX_RANK).fill(1)];
  const others = [
    null,
    3,
    "2",
    [-1],
    [1.5],
    [2 ** 53],
    ["2"],
    new Array(shape.MAX_RANK + 1).fill(1),
  ];
  for (const dims of shapes) assert(shape.isShape(dims), `${dims}`);
  for (const dims of others) assert(!shape.isShape(dims), `${dims}`);
  assertEquals([[], [0, 3], [2, 3, 4]].map(shape.sizeOf), [1, 0, 24]);
  assertEquals([null, [], [2], [2, null]].map(shape.isConcrete), [false, true, true, false]);
  const texts = [null, [], [2], [2, null]].map((s) => [shape.shapeText(s), shape.shapeTuple(s)]);
  assertEquals(texts, [
    ["<unknown>", "<unknown>"],
    ["[]", "()"],
    ["[2]", "(2,)"],
    ["[2,?]", "(2, None)"],
  ]);
  assertEquals(shape.shapeText([[1], "a"] as unknown as number[]), "[object,string]");
  assertEquals(shape.shapeText("a" as unknown as number[]), "string");
});

Deno.test("checkInferred() counts shapes and their dimensions", () => {
  const deep = new Array(shape.MAX_RANK + 1).fill(1);
  assertEquals(shape.checkInferred([[1], null, deep], 2, "f"), [[1], null, deep]);
  assertThrows(() => shape.checkInferred([[1], deep], 2, "f"), ValueError, "of rank 255");
  assertThrows(
    () => shape.checkInferred([[1]], 2, "f"),
    ValueError,
    "has 2 outputs and shapes of 1",
  );
  shape.checkInferred([deep.slice(1)], 1, "f");
});

Deno.test("strides are row-major, and nothing along axes that are stretched", () => {
  assertEquals([[], [5], [2, 3, 4], [2, 0, 4]].map(shape.stridesOf), [[], [1], [12, 4, 1], [
    0,
    4,
    1,
  ]]);
  assertEquals(shape.broadcastStrides([3, 1], [2, 3, 4]), [0, 1, 0]);
  assertEquals(shape.broadcastStrides([2, 3], [2, 3]), [3, 1]);
  assertEquals(shape.broadcastStrides([], [2]), [0]);
});

Deno.test("axes are counted from both ends, sorted and taken once", () => {
  assertEquals([0, 2, -1, -3].map((axis) => shape.normalizeAxis(axis, 3)), [0, 2, 2, 0]);
  for (const axis of [3, -4, 0.5, NaN]) {
    const text = `Invalid axis ${axis}: it must be in the range [-3, 3)`;
    assertThrows(() => shape.normalizeAxis(axis, 3), ValueError, text);
  }
  const axes = [null, undefined, 1, -1, [2], [-1, 0, 2], []];
  assertEquals(axes.map((a) => shape.normalizeAxes(a, 3)), [
    [0, 1, 2],
    [0, 1, 2],
    [1],
    [2],
    [2],
    [0, 2],
    [],
  ]);
});
