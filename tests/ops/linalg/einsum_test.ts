import * as tf from "@weft/weft";
import { assertAlmostEquals, assertEquals, assertThrows } from "@std/assert";
import { testOnDevices } from "../../devices.ts";
import { noise } from "../values.ts";

const SIZES: Readonly<Record<string, number>> = { a: 2, b: 3, c: 4, d: 2, e: 3 };

/** The sum over every assignment of letters. */
function reference(equation: string, xs: readonly tf.Tensor[]): number[] {
  const [left, out] = equation.split("->"), terms = left.split(",");
  const letters = [...new Set(left.replaceAll(",", ""))];
  const size = (list: string): number => [...list].reduce((n, l) => n * SIZES[l], 1);
  const at: Record<string, number> = {};
  const flat = (list: string): number => [...list].reduce((i, l) => i * SIZES[l] + at[l], 0);
  const data = xs.map((x) => x.dataSync() as Float32Array);
  const result = new Array<number>(size(out)).fill(0);
  for (let n = 0, all = size(letters.join("")); n < all; n++) {
    let rest = n;
    for (const l of letters) {
      at[l] = rest % SIZES[l];
      rest = Math.floor(rest / SIZES[l]);
    }
    result[flat(out)] += terms.reduce((p, t, i) => p * data[i][flat(t)], 1);
  }
  return result;
}

const EQUATIONS = [
  "ab,bc->ac",
  "ab,bc->ca",
  "ba,bc->ac",
  "ab,cb->ac",
  "abc,acd->abd",
  "abc,dbc->ad",
  "abcd,cde->abe",
  "a,b->ab",
  "ab,ab->ab",
  "ab,ab->",
  "ab->ba",
  "abc->b",
  "ab,bc,ce->ae",
  "a,ab,b->",
  "ad,ad->a",
  "abc,c->ba",
];

testOnDevices("einsum() sums over the letters that are not in the result", () => {
  for (const equation of EQUATIONS) {
    const xs = equation.split("->")[0].split(",").map((t, i) =>
      tf.tensor(noise("float32", [...t].map((l) => SIZES[l]), i + 1))
    );
    const y = tf.einsum(equation, ...xs);
    assertEquals(y.shape, [...equation.split("->")[1]].map((l) => SIZES[l]), equation);
    const data = y.dataSync() as Float32Array;
    reference(equation, xs).forEach((w, i) => assertAlmostEquals(data[i], w, 1e-4, equation));
  }
});

Deno.test("einsum() says as much of its result's shape as is known of the operands'", () => {
  type Partial = readonly (number | null)[] | null;
  const cases: [string, Partial[], Partial | string][] = [
    ["ab,bc->ac", [[2, null], [3, 4]], [2, 4]],
    ["ab,bc->acb", [[2, null], [3, 4]], [2, 4, 3]],
    ["ab,bc->acb", [[2, 3], [null, 4]], [2, 4, 3]],
    ["ab,bc->acb", [[null, null], [null, null]], [null, null, null]],
    ["ab,bc->ac", [null, [3, 4]], null],
    [
      "ab,bc->ac",
      [[2, 1], [3, 4]],
      "expected dimension 1 at axis 0 of input shaped [3,4], received 3",
    ],
    [
      "ab,bc->ac",
      [[2, 3], [1, 4]],
      "expected dimension 3 at axis 0 of input shaped [1,4], received 1",
    ],
    ["...a,...a->...a", [[1, 2], [3, 2]], [3, 2]],
    ["...a,...a->...a", [[3, 2], [1, 2]], [3, 2]],
    // What is not known yet may be more than 1.
    ["...a,...a->...a", [[null, 2], [1, 2]], [null, 2]],
    ["...a,...a->...a", [[1, 2], [null, 2]], [null, 2]],
    ["...a,...a->...a", [[null, 2], [3, 2]], [3, 2]],
    ["...a,...a->...a", [[3, 2], [null, 2]], [3, 2]],
    [
      "...a,...a->...a",
      [[2, 2], [3, 2]],
      "expected dimension 2 at axis 0 of input shaped [3,2], received 3",
    ],
  ];
  for (const [equation, shapes, wanted] of cases) {
    const what = `${equation} of ${JSON.stringify(shapes)}`;
    const shapeOf = () =>
      new tf.Graph().asDefault(() =>
        tf.einsum(equation, ...shapes.map((s) => tf.placeholder("float32", s))).staticShape
      );
    if (typeof wanted === "string") assertThrows(shapeOf, tf.ValueError, wanted, what);
    else assertEquals(shapeOf(), wanted, what);
  }
});

testOnDevices("einsum() takes diagonals, ellipses and implied results", () => {
  const x = tf.tensor([[1, 2], [3, 4]]);
  assertEquals(tf.einsum("ii->i", x).arraySync(), [1, 4]);
  assertEquals(tf.einsum("ii", x).item(), 5);
  assertEquals(tf.einsum("ij,jk", x, x).arraySync(), [[7, 10], [15, 22]]);
  const batch = tf.stack([x, tf.mul(x, 2)]);
  assertEquals(tf.einsum("...ij,jk->...ik", batch, x).arraySync(), [[[7, 10], [15, 22]], [
    [14, 20],
    [30, 44],
  ]]);
});

testOnDevices("einsum() has gradients", () => {
  const x = tf.tensor([[1, 2], [3, 4]]), y = tf.tensor([[5, 6], [7, 8]]);
  const [dx, dy] = tf.grads((a, b) => tf.sum(tf.einsum("ij,jk->ik", a, b)))([x, y]);
  assertEquals(dx.arraySync(), [[11, 15], [11, 15]]);
  assertEquals(dy.arraySync(), [[4, 4], [6, 6]]);
  assertEquals(tf.grad((a) => tf.einsum("ii->", a))(x).arraySync(), [[1, 0], [0, 1]]);
  assertEquals(tf.grad((a) => tf.sum(tf.einsum("ij->i", a)))(x).arraySync(), [[1, 1], [1, 1]]);
});

Deno.test("einsum() names what cannot be read", () => {
  const x = tf.ones([2, 3]);
  assertThrows(() => tf.einsum("ij->->i", x), tf.ValueError, "exactly one arrow");
  assertThrows(() => tf.einsum("ij->k", x), tf.ValueError, "not present");
  assertThrows(() => tf.einsum("i->i", x), tf.ValueError, "rank 2");
  assertThrows(() => tf.einsum("ij,jk->ik", x), tf.ValueError, "Expected 2");
  assertThrows(() => tf.einsum("ij,jk->ik", x, x), tf.ValueError, "dimension");
});
