/** The gamma function and its kin, inverses of distributions. Numbers are TensorFlow 2.21's, in float64. */
import * as tf from "@weft/weft";
import { assert, assertEquals, assertThrows } from "@std/assert";
import { testOnDevices } from "../../devices.ts";

const { math } = tf;
type Row = readonly [
  name: string,
  fn: (...x: tf.Tensor[]) => tf.Tensor,
  inputs: readonly (readonly number[])[],
  wanted: readonly number[],
];
const X = [-Infinity, -3.5, -2, -0.3, -1e-3, 0, 1e-3, 0.5, 1, 1.2, 2, 2.5, 7.3, 50, Infinity, NaN];

const ROWS: readonly Row[] = [
  ["lgamma", math.lgamma, [X], [
    ...[Infinity, -1.309006684993042, Infinity, 1.4648400508576023, 6.908333317515028, Infinity],
    ...[6.907178885383853, 0.5723649429247001, 0, -0.08537409000331583, 0, 0.2846828704729192],
    ...[7.147892523022249, 144.56574394634487, Infinity, NaN],
  ]],
  ["digamma", math.digamma, [X], [
    ...[NaN, 1.388870926359529, NaN, 2.1133097796353986, 999.4211381978913, NaN],
    ...[-1000.5755719318104, -1.9635100260214227, -0.5772156649015323, -0.2890398965921883],
    ...[0.42278433509846747, 0.7031566406452434, 1.917820335637986, 3.9019896734278925],
    ...[Infinity, NaN],
  ]],
  ["erfinv", math.erfinv, [[-1, -0.5, 0, 0.3, 0.9, 1, 1.5, NaN]], [
    ...[-Infinity, -0.4769362762044699, 0, 0.27246271472675443, 1.1630871536766738, Infinity],
    ...[NaN, NaN],
  ]],
  ["ndtri", math.ndtri, [[0, 1e-30, 1e-6, 0.1, 0.5, 0.7, 0.999, 1, -0.1, NaN]], [
    ...[-Infinity, -11.464024688443613, -4.753424308822899, -1.2815515655446004, 0],
    ...[0.5244005127080407, 3.090232306167813, Infinity, NaN, NaN],
  ]],
  ["xlog1py", math.xlog1py, [[0, 0, 2, -1, NaN, 0], [-1, 3, 3, -1, 1, NaN]], [
    ...[0, 0, 2.772588722239781, Infinity, NaN, 0],
  ]],
  [
    "zeta",
    math.zeta,
    [[2, 1.5, 3, 1, 0.5, 2, 2, 2.5, 2, 30, NaN, 2], [
      ...[1, 0.3, 20, 2, 1, 0, -1, -0.5, -0.5, 0.1, 1, 1e9],
    ]],
    [
      ...[1.6449340668482266, 8.237761671459724, 0.0013140612011573272, Infinity, NaN, Infinity],
      ...[Infinity, NaN, 8.934802200544679, 9.999999999999983e+29, NaN, 1.0000000004999997e-09],
    ],
  ],
  ["polygamma", math.polygamma, [[0, 1, 2, 3, 1, 1.5, -1, 1, 1], [
    ...[1.3, 1.3, 0.2, 5, 0, 1, 1, -0.5, -1],
  ]], [
    ...[-0.16919088886680012, 1.1342534349966191, -251.4780361144359, 0.02142782819275508],
    ...[Infinity, NaN, NaN, 8.934802200544679, Infinity],
  ]],
];

/** Within a relative error, or as much of `least`. */
function assertNear(
  received: readonly number[],
  wanted: readonly number[],
  { error, least, what }: { error: number; least: number; what: string },
): void {
  assertEquals(received.length, wanted.length);
  wanted.forEach((w, i) => {
    const near = Math.abs(received[i] - w) <= error * Math.max(Math.abs(w), least);
    assert(Object.is(received[i] + 0, w + 0) || near, `${what}[${i}] is ${received[i]}, not ${w}`);
  });
}

testOnDevices("special functions have TensorFlow's values, eagerly and in functions", () => {
  for (const [name, fn, inputs, wanted] of ROWS) {
    for (const [dtype, error] of [["float32", 2e-6], ["float64", 3e-15]] as const) {
      const x = inputs.map((v) => tf.tensor(v, undefined, dtype));
      for (const f of [fn, tf.function(fn as never) as typeof fn]) {
        const received = f(...x).arraySync() as number[];
        assertNear(received, wanted, { error, least: 1, what: `${name} of ${dtype}` });
      }
    }
  }
});

testOnDevices("inverses keep the digits of what is near zero and of tails", () => {
  const small = [1e-30, -1e-12, 1e-6];
  const wanted = small.map((x) => x * Math.sqrt(Math.PI) / 2);
  const received = math.erfinv(small).arraySync() as number[];
  assertNear(received, wanted, { error: 1e-6, least: 0, what: "erfinv" });
  const near = math.lgamma([1 + 2 ** -20, 2 + 2 ** -20]).arraySync() as number[];
  assertNear(near, [-0.5772149170 * 2 ** -20, 0.4227846427 * 2 ** -20], {
    error: 1e-5,
    least: 0,
    what: "lgamma",
  });
});

testOnDevices("special functions of large or many-valued arguments end, and refuse texts", () => {
  assertEquals(math.zeta(3, -1e15 - 0.5).shape, []);
  assertEquals(math.zeta(1e30, 1).item(), 1);
  assertEquals(math.polygamma(1e30, 1).item(), -Infinity);
  assertEquals(math.polygamma([[1], [2]], [1, 2, 3]).shape, [2, 3]);
  assertThrows(() => math.zeta([1, 2], [1, 2, 3]), tf.ValueError);
  assertThrows(() => math.lgamma(["a"]), TypeError, "Lgamma");
});
