/** tf.gradients: what its options say, and what it refuses. */

import * as tf from "@weft/weft";
import { assertEquals, assertThrows } from "@std/assert";
import { testOnDevices } from "../devices.ts";

/** Values of what `build` returns in a graph where x is 3 and y is 2; null stays null. */
async function valuesOf(
  build: (x: tf.Tensor, y: tf.Tensor) => readonly (tf.Tensor | null)[],
): Promise<unknown[]> {
  const { feeds, out } = new tf.Graph().asDefault(() => {
    const x = tf.placeholder("float32", [], "x"), y = tf.placeholder("float32", [], "y");
    return { feeds: new Map([[x, 3], [y, 2]]), out: build(x, y) };
  });
  const fetched = out.filter((t) => t !== null);
  await using session = new tf.Session({ graph: fetched[0].graph });
  const values = await session.run(fetched, { feeds }) as unknown[];
  return out.map((t) => t === null ? null : values.shift());
}

testOnDevices("gradients() sums over ys, weighted by gradYs", async () => {
  assertEquals(
    await valuesOf((x, y) => {
      const a = tf.mul(x, y), b = tf.mul(x, x);
      return [
        ...tf.gradients(a, x),
        ...tf.gradients([a, b], [x, y]),
        ...tf.gradients([a, b], [x, y], { gradYs: [10, null] }),
        ...tf.gradients(a, [x], { gradYs: [tf.constant(5)] }),
      ];
    }),
    [2, 8, 3, 26, 30, 10],
  );
});

testOnDevices("gradients() goes through no tensor of stopGradients", async () => {
  assertEquals(
    await valuesOf((x) => {
      const a = tf.mul(x, x), b = tf.mul(a, x);
      const of = (xs: tf.Tensor[], stopGradients: tf.Tensor[]) =>
        tf.gradients(b, xs, { stopGradients });
      // What is stopped and asked for has its partial derivative.
      return [...of([x], []), ...of([x], [a]), ...of([x, a], [a]), ...of([x, a], [x, a])];
    }),
    [27, 9, 9, 3, 9, 3],
  );
});

testOnDevices("gradients() in functions and branches reach tensors from outside", () => {
  const x = tf.tensor([1, 2]);
  const ofEager = tf.function(() => tf.gradients(tf.sum(tf.mul(x, x)), x)[0]!);
  assertEquals((ofEager() as tf.Tensor).arraySync(), [2, 4]);
  const inBranch = tf.function((z: tf.Tensor) => {
    const w = tf.mul(z, 2);
    const slope = (stopGradients: tf.Tensor[]): tf.Tensor => {
      const y = tf.mul(w, w);
      return tf.gradients(tf.sum(tf.mul(y, w)), w, { stopGradients: [...stopGradients, y] })[0]!;
    };
    return tf.cond(tf.greater(tf.sum(w), 0), () => tf.add(slope([]), slope([w])), () => w);
  });
  assertEquals((inBranch(x) as tf.Tensor).arraySync(), [8, 32]);
});

testOnDevices("gradients() of what is not connected are null, or zeros where asked", async () => {
  assertEquals(
    await valuesOf((x, y) => {
      const a = tf.mul(x, x), whole = tf.cast(x, "int32");
      return [
        ...tf.gradients(a, [x, y, whole]),
        ...tf.gradients(a, [x, y], { unconnectedGradients: "zero" }),
        ...tf.gradients(a, [y], { unconnectedGradients: "none" }),
      ];
    }),
    [6, null, null, 6, 0, null],
  );
});

Deno.test("gradients() names its operations by the scope and the ops they differentiate", () => {
  new tf.Graph().asDefault(() => {
    const x = tf.placeholder("float32", [2], "x");
    const y = tf.nameScope("layer", () => tf.square(x));
    const [dx] = tf.gradients(y, x), [named] = tf.gradients(y, x, { name: "again" });
    assertEquals(dx!.name.startsWith("gradients/Square_grad/"), true, dx!.name);
    assertEquals(named!.name.startsWith("again/Square_grad/"), true, named!.name);
    assertEquals([dx!.shape, tf.gradients(y, [])], [[2], []]);
  });
});

Deno.test("gradients() refuses what it cannot differentiate", () => {
  const x = tf.scalar(1);
  assertThrows(() => tf.gradients(x, x), tf.RuntimeError, "Use tf.GradientTape instead");
  assertThrows(() => tf.gradients([], []), tf.RuntimeError, "Use tf.GradientTape instead");
  new tf.Graph().asDefault(() => {
    const x = tf.placeholder("float32", [], "x"), z = tf.complex(x, x);
    assertThrows(() => tf.gradients([], [x]), tf.ValueError, "ys is empty");
    assertThrows(
      () => tf.gradients([x, x], [x], { gradYs: [1] }),
      tf.ValueError,
      "Length mismatch. Passed 1 grad_ys for 2 ys",
    );
    assertThrows(() => tf.gradients(z, x), TypeError, "must set grad_ys (y.dtype = complex64)");
  });
});
