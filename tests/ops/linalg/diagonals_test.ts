/** Diagonals of matrices. Numbers are TensorFlow 2.21's. */
import * as tf from "@weft/weft";
import { assertEquals, assertRejects, assertThrows } from "@std/assert";
import { gradCheck } from "@weft/weft/testing";
import { testOnDevices } from "../../devices.ts";

const { linalg } = tf;
const WIDE = [[1, 2, 3, 4], [5, 6, 7, 8], [9, 10, 11, 12]], TALL = [[1, 2], [3, 4], [5, 6], [7, 8]];
/** Matrix, lowest and highest diagonal, alignment, and what is taken out, -9 where nothing is. */
const PARTS = [
  [WIDE, [-1, 1], "RIGHT_LEFT", [[2, 7, 12], [1, 6, 11], [5, 10, -9]]],
  [WIDE, [-1, 1], "RIGHT_RIGHT", [[2, 7, 12], [1, 6, 11], [-9, 5, 10]]],
  [TALL, [-2, 1], "RIGHT_LEFT", [[-9, 2], [1, 4], [3, 6], [5, 8]]],
  [TALL, [-2, 1], "LEFT_RIGHT", [[2, -9], [1, 4], [3, 6], [5, 8]]],
  [TALL, [-3, -2], "LEFT_RIGHT", [[5, 8], [-9, 7]]],
] as const;

testOnDevices("diagPart() takes diagonals out, diag() and setDiag() put them back", () => {
  for (const [matrix, k, align, part] of PARTS) {
    const x = tf.tensor(matrix), taken = linalg.diagPart(x, { k, align, paddingValue: -9 });
    assertEquals(taken.arraySync(), part, align);
    const [numRows, numCols] = x.shape;
    const back = linalg.diag(taken, { k, align, numRows, numCols });
    assertEquals(linalg.diagPart(back, { k, align, paddingValue: -9 }).arraySync(), part);
    assertEquals(linalg.setDiag(x, taken, { k, align }).arraySync(), matrix);
  }
  assertEquals(linalg.diag([[1, 2], [3, 4]]).arraySync(), [[[1, 0], [0, 2]], [[3, 0], [0, 4]]]);
  assertEquals(linalg.diag([1, 2], { numRows: 4 }).shape, [4, 2]);
  assertEquals(linalg.diag([1n, 2n], { k: -1, paddingValue: 7 }).arraySync(), [
    [7n, 7n, 7n],
    [1n, 7n, 7n],
    [7n, 2n, 7n],
  ]);
  assertEquals(linalg.trace([WIDE, WIDE]).arraySync(), [18, 18]);
  assertEquals(linalg.diagPart([["a", "b"], ["c", "d"]], { paddingValue: "" }).shape, [2]);
});

testOnDevices("cross() is at right angles, and of integers too", () => {
  assertEquals(linalg.cross([[1, 2, 3], [0, 0, 1]], [[4, 5, 6], [1, 0, 0]]).arraySync(), [
    [-3, 6, -3],
    [0, 1, 0],
  ]);
  const ints = tf.tensor([1, 2, 3], [3], "int32");
  assertEquals(linalg.cross(ints, [4, 5, 6]).dtype, "int32");
});

testOnDevices("diagonals of matrices that a graph does not know have gradients", async () => {
  const graph = new tf.Graph();
  const fetches = graph.asDefault(() => {
    const x = tf.placeholder("float32", [null, null], "x");
    const y = linalg.diagPart(x, { k: [-1, 0] });
    return [y, tf.gradients(tf.sum(tf.square(y)), x)[0]!];
  });
  await using session = new tf.Session({ graph });
  const [y, dx] = await session.run(fetches, {
    feeds: { "x:0": [[1, 2], [3, 4]] },
  }) as tf.NdArray[];
  assertEquals([y.toArray(), dx.toArray()], [[[1, 4], [3, 0]], [[2, 0], [6, 8]]]);
  gradCheck((x, d) => linalg.setDiag(x, d, { k: [0, 1] }), [WIDE, [[1, 2, 3], [4, 5, 6]]]);
  gradCheck((x) => linalg.trace(tf.square(x)), [WIDE]);
});

testOnDevices("diagonals that are not there are refused", () => {
  const { ValueError } = tf, square = [[1, 2], [3, 4]];
  assertThrows(() => linalg.diagPart(square, { k: 5 }), ValueError, "out of bound: 5");
  assertThrows(() => linalg.diagPart(square, { k: [1, 0] }), ValueError, "[1,0]");
  assertThrows(() => linalg.diagPart([1, 2]), ValueError, "wanted matrices");
  assertThrows(() => linalg.diagPart(square, { align: "LEFT" as never }), ValueError, "align");
  assertThrows(() => linalg.diag([1, 2], { numRows: 1 }), ValueError, "want at least 2 and 2");
  assertThrows(() => linalg.diag([1, 2], { numRows: 4, numCols: 4 }), ValueError, "exactly");
  assertThrows(() => linalg.diag([[1, 2]], { k: [0, 1] }), ValueError, "2 diagonals");
  assertThrows(() => linalg.setDiag(square, [1, 2, 3]), ValueError);
  assertThrows(() => linalg.diag([1], { rows: 1 } as never), TypeError, "numRows");
  assertThrows(() => linalg.cross([1, 2], [3, 4]), ValueError, "must have size 3");
});

/** Functions of diagonals of which some or all lie outside of the matrices, at shapes of their arguments, and their gradients' shapes. */
const OUTSIDE: readonly [string, (x: tf.Tensor) => tf.Tensor, number[]][] = [
  ["one of no elements", (x) => tf.linalg.diag(x, { k: -1 }), [0]],
  ["rows of none", (x) => tf.linalg.diag(x, { k: 2 }), [3, 0]],
  ["two of no elements", (x) => tf.linalg.diag(x, { k: [-1, 0] }), [2, 0]],
  ["bands of no rows", (x) => solved(x, tf.zeros([0, 1])), [2, 0]],
  ["more bands than rows", (x) => solved(x, tf.ones([2, 1])), [3, 2]],
];

function solved(bands: tf.Tensor, right: tf.Tensor): tf.Tensor {
  return tf.linalg.bandedTriangularSolve(bands, right);
}

testOnDevices("diagonals outside of matrices have gradients without elements", async () => {
  for (const [name, f, shape] of OUTSIDE) {
    using _scope = tf.scope();
    const x = tf.ones(shape), specs = [shape, shape.map(() => null)];
    const slope = (x: tf.Tensor) => tf.grad((x) => tf.square(f(x)))(x);
    const twice = (x: tf.Tensor) => tf.grad((x) => tf.square(slope(x)))(x);
    for (const g of [slope, twice]) {
      const eager = g(x), wanted = await eager.array();
      assertEquals(eager.shape, shape, name);
      for (const spec of specs) {
        const compiled = tf.function(g, { inputSignature: [new tf.TensorSpec(spec)] });
        assertEquals(await (await compiled.async(x) as tf.Tensor).array(), wanted, name);
      }
    }
  }
  await assertRejects(
    async () => await tf.linalg.diagPart(tf.ones([1, 1]), { k: -1 }).array(),
    tf.errors.InvalidArgumentError,
    "out of bound",
  );
});
