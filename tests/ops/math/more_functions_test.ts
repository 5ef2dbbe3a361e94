/** Bessel functions, integrals, incomplete functions and running sums of exponentials, beside TensorFlow 2.21's in float64. */
import * as tf from "@weft/weft";
import { assert, assertEquals, assertThrows } from "@std/assert";
import { testOnDevices } from "../../devices.ts";
import RECORDED from "./special.json" with { type: "json" };

const { math } = tf;

interface Recorded {
  readonly inputs: readonly unknown[];
  readonly values: unknown;
  readonly gradients: readonly unknown[];
}

/** The function of a recorded name: a path in `tf.math`, or a call with an axis. */
function functionOf(name: string): (...x: tf.Tensor[]) => tf.Tensor {
  const [path, way] = name.split(" ");
  if (way === "back") return (x) => math.cumulativeLogsumexp(x, 1, { reverse: true });
  if (way !== undefined) return (x) => math.cumulativeLogsumexp(x, Number(way));
  return path.split(".").reduce(
    (at: unknown, key) => (at as Record<string, unknown>)[key],
    math,
  ) as (
    ...x: tf.Tensor[]
  ) => tf.Tensor;
}

function assertNear(actual: unknown, expected: unknown, epsilon: number, text: string): void {
  const list = [expected].flat(3) as number[], own = [actual].flat(3) as number[];
  assertEquals(own.length, list.length, text);
  list.forEach((v, i) => {
    const near = Math.abs(own[i] - v) <= epsilon * Math.max(Math.abs(v), 0.1);
    assert(near || Object.is(own[i], v), `${text} [${i}]: ${own[i]} for ${v}`);
  });
}

for (const [name, recorded] of Object.entries(RECORDED as Record<string, Recorded>)) {
  const fn = functionOf(name), { inputs, values, gradients } = recorded;
  testOnDevices(`math.${name} and its gradients`, async () => {
    using _s = tf.scope();
    // What float32 holds of the arguments moves large results by more than its own digits.
    for (const [dtype, epsilon] of [["float64", 1e-9], ["float32", 2e-4]] as const) {
      const x = inputs.map((v) => tf.cast(tf.tensor(v as number[], undefined, "float64"), dtype));
      const read = async (t: tf.Tensor) => await tf.cast(t, "float64").array();
      const fits = dtype === "float64" || !/I1$|I0$|J|Y|expint|fresnel/.test(name);
      if (!fits) {
        assertEquals(fn(...x).dtype, "float32");
        continue;
      }
      assertNear(await read(fn(...x)), values, epsilon, `${name} ${dtype}`);
      const unknown = inputs.map((v) =>
        new tf.TensorSpec(Array.isArray((v as unknown[])[0]) ? [null, null] : [null], dtype)
      );
      const compiled = tf.function(fn, { inputSignature: unknown });
      assertNear(await read(compiled(...x) as tf.Tensor), values, epsilon, `${name} compiled`);
      const weights = tf.reshape(tf.range(1, x[0].size + 1), x[0].shape);
      const loss = (...v: tf.Tensor[]) => tf.sum(tf.mul(fn(...v), tf.cast(weights, dtype)));
      gradients.forEach((g, i) => {
        if (g === null) return;
        const own = tf.grad((v) => loss(...x.with(i, v)))(x[i]);
        const list = tf.cast(own, "float64").arraySync() as number[];
        // TensorFlow's slope of I1 at 0 is 1, where it is 1/2.
        if (name === "besselI1") list[0] *= 2;
        assertNear(list, g, dtype === "float64" ? 1e-8 : 1e-3, `gradient ${i} of ${name} ${dtype}`);
      });
    }
  });
}

testOnDevices("Bessel functions at the ends of their domains", () => {
  using _s = tf.scope();
  const { special } = math;
  const at = [0, -1, Infinity, NaN];
  const rows: [(x: tf.TensorLike) => tf.Tensor, number[]][] = [
    [special.besselK0, [Infinity, NaN, 0, NaN]],
    [special.besselK1e, [Infinity, NaN, 0, NaN]],
    [special.besselY0, [-Infinity, NaN, 0, NaN]],
    [special.besselY1, [-Infinity, NaN, 0, NaN]],
    [special.expint, [-Infinity, NaN, Infinity, NaN]],
    [special.spence, [Math.fround(Math.PI ** 2 / 6), NaN, -Infinity, NaN]],
  ];
  for (const [fn, wanted] of rows) assertEquals(fn(at).arraySync(), wanted, fn.name);
  const ends = [Infinity, -Infinity, NaN];
  assertEquals(math.besselI0(ends).arraySync(), [Infinity, Infinity, NaN]);
  assertEquals(math.besselI1(ends).arraySync(), [Infinity, -Infinity, NaN]);
  assertEquals(special.besselJ1(ends).arraySync(), [0, -0, NaN].map(Math.abs));
  assertEquals(special.dawsn(ends).arraySync(), [0, -0, NaN]);
  assertEquals(special.fresnelCos(ends).arraySync(), [0.5, -0.5, NaN]);
  assertEquals(math.besselI0([[]]).shape, [1, 0]);
  assertEquals(math.besselI0(tf.cast([0], "int32")).dtype, "float32");
});

testOnDevices("math.nextafter, angle and invertPermutation", async () => {
  using _s = tf.scope();
  assertEquals(math.nextafter([1, 0, 2], [2, -1, 2]).arraySync(), [1 + 2 ** -23, -(2 ** -149), 2]);
  assertEquals(math.nextafter(1, [[0], [1]]).arraySync(), [[1 - 2 ** -24], [1]]);
  const steps = tf.grads((x, y) => tf.sum(tf.square(math.nextafter(x, y))));
  const [dx, dy] = steps([tf.tensor([1, 2]), tf.tensor([[3], [0]])]);
  assertEquals([dx.arraySync(), dy.arraySync()], [[4, 8], [[0], [0]]]);
  const pi = Math.fround(Math.PI);
  assertEquals(await math.angle([1, -1, 0, -0]).array(), [0, pi, 0, 0]);
  assertEquals(await math.angle(tf.complex([0, -1], [2, 0])).array(), [Math.fround(pi / 2), pi]);
  assertEquals(await math.invertPermutation([2, 0, 1]).array(), [1, 2, 0]);
  assertEquals(await (tf.function(math.invertPermutation)([1, 0]) as tf.Tensor).array(), [1, 0]);
});

testOnDevices("math.cumulativeLogsumexp leaves each out with exclusive", async () => {
  using _s = tf.scope();
  const out = await math.cumulativeLogsumexp([1, 2, 3], 0, { exclusive: true }).array() as number[];
  assertNear(out.slice(1), [1, 2.3132617], 1e-6, "exclusive");
  assertEquals(out[0], -Infinity);
  const plain = math.cumulativeLogsumexp([-Infinity, -Infinity, 0]);
  assertEquals(await plain.array(), [-Infinity, -Infinity, 0]);
});

testOnDevices("more functions of tf.math check their arguments", () => {
  using _s = tf.scope();
  // deno-lint-ignore no-explicit-any
  const m = math as any;
  for (
    const [call, type, text] of [
      [() => m.besselI0("a"), TypeError, "'BesselI0' Op has DataType string"],
      [() => m.special.expint(() => 1), TypeError, "'x' passed to 'expint'"],
      [() => m.igamma([1, 2], [1, 2, 3]), tf.ValueError, ""],
      [() => m.betainc([1, 2], [1, 2, 3], 0.5), tf.ValueError, ""],
      [() => m.nextafter([1, 2], [1, 2, 3]), tf.ValueError, ""],
      [() => m.cumulativeLogsumexp([1], 1), tf.ValueError, "axis"],
      [() => m.cumulativeLogsumexp([1], 0, { reversed: true }), TypeError, "reversed"],
      [() => m.invertPermutation([0.5]), TypeError, "x"],
      [() => m.invertPermutation([0, 0]).dataSync(), tf.ValueError, "not a permutation"],
      [
        () => m.invertPermutation([3, 1]).dataSync(),
        tf.ValueError,
        "not a permutation",
      ],
      [() => m.invertPermutation([[0]]), tf.ValueError, "rank 1"],
    ] as const
  ) {
    assertThrows(call, type as new () => Error, text, `${call}`);
  }
});
