/**
 * Compiled code has the bits of eager calls: floats are not rearranged algebraically, and NaN and infinity are
 * preserved.
 */
import * as tf from "@weft/weft";
import fc from "fast-check";
import { assert, assertEquals } from "@std/assert";
import { testOnDevices } from "../devices.ts";

type Binary = (x: tf.Tensor, y: tf.Tensor) => tf.Tensor;

const VALUES = [NaN, Infinity, -Infinity, 0, -0, 1, -1, 1.5, 3e38, -3e38, 1e-30, 0.3, 7.7, 1e8];

/** Each value beside each. */
function operands(): [tf.Tensor, tf.Tensor] {
  const n = VALUES.length;
  return [
    tf.tensor(VALUES.flatMap((v) => VALUES.map(() => v)), [n, n]),
    tf.tensor(VALUES.flatMap(() => VALUES), [n, n]),
  ];
}

/** The first place where two results differ; every NaN is like any other. */
function difference(found: tf.Tensor, wanted: tf.Tensor): string | null {
  const a = found.dataSync() as Float32Array, b = wanted.dataSync() as Float32Array;
  const at = a.findIndex((v, i) => !Object.is(v, b[i]));
  if (at < 0) return null;
  const n = VALUES.length;
  return `of ${VALUES[Math.floor(at / n)]} and ${VALUES[at % n]}: ${a[at]}, eagerly ${b[at]}`;
}

const positive = (x: tf.Tensor): tf.Tensor => tf.cast(tf.greater(x, 0), "float32");

const CASES: Readonly<Record<string, Binary>> = {
  "x·0": (x) => tf.mul(x, 0),
  "(x+1)·0": (x) => tf.mul(tf.add(x, 1), 0),
  "0/x": (x) => tf.div(0, x),
  "x/0": (x) => tf.div(x, 0),
  "0·(x/y)": (x, y) => tf.mul(0, tf.div(x, y)),
  "x+0": (x) => tf.add(x, 0),
  "0−x": (x) => tf.sub(0, x),
  "x·1": (x) => tf.mul(x, 1),
  "(x−x)+y": (x, y) => tf.add(tf.sub(x, x), y),
  "x/x+y": (x, y) => tf.add(tf.div(x, x), y),
  "(x+y)−x": (x, y) => tf.sub(tf.add(x, y), x),
  "x+(y−x)": (x, y) => tf.add(x, tf.sub(y, x)),
  "−x+x": (x) => tf.add(tf.neg(x), x),
  "(x·y)/y": (x, y) => tf.div(tf.mul(x, y), y),
  "x·y−x·y": (x, y) => tf.sub(tf.mul(x, y), tf.mul(x, y)),
  "relu(x)−relu(x)": (x) => tf.sub(tf.relu(x), tf.relu(x)),
  "x·y+(−x)·y": (x, y) => tf.add(tf.mul(x, y), tf.mul(tf.neg(x), y)),
  "1/(1/x)": (x) => tf.div(1, tf.div(1, x)),
  "x·mask": (x, y) => tf.mul(x, positive(y)),
  "x·where": (x, y) => tf.mul(x, tf.where(tf.greater(y, 0), tf.ones([]), tf.zeros([]))),
  "exp(x)·0": (x) => tf.mul(tf.exp(x), 0),
  "exp(x)·exp(y)": (x, y) => tf.mul(tf.exp(x), tf.exp(y)),
  "x+0.1+0.1": (x) => tf.add(tf.add(x, 0.1), 0.1),
  "x·3·(1/3)": (x) => tf.mul(tf.mul(x, 3), 1 / 3),
  "(x+1e8)−1e8": (x) => tf.sub(tf.add(x, 1e8), 1e8),
  "x·y+y": (x, y) => tf.add(tf.mul(x, y), y),
  "(x+0.3)·y": (x, y) => tf.mul(tf.add(x, 0.3), y),
  "(x+0.3)·0.7": (x) => tf.mul(tf.add(x, 0.3), 0.7),
  "(x+y)·x": (x, y) => tf.mul(tf.add(x, y), x),
  "(x−y)·(x+y)": (x, y) => tf.mul(tf.sub(x, y), tf.add(x, y)),
  "(x+y)·(x+y)": (x, y) => tf.mul(tf.add(x, y), tf.add(x, y)),
  "(x−y)·x+y·x": (x, y) => tf.add(tf.mul(tf.sub(x, y), x), tf.mul(y, x)),
  "x·3−x": (x) => tf.sub(tf.mul(x, 3), x),
  "x/3·3": (x) => tf.mul(tf.div(x, 3), 3),
  "x−max(x,x)": (x) => tf.sub(x, tf.maximum(x, x)),
  "x−floor(x)": (x) => tf.sub(x, tf.floor(x)),
  "−1·x+0": (x) => tf.add(tf.mul(-1, x), 0),
  "(x·0.3+0.7)·x+0.1": (x) => tf.add(tf.mul(tf.add(tf.mul(x, 0.3), 0.7), x), 0.1),
  "matMul·0": (x, y) => tf.mul(tf.matMul(x, y, false, true), 0),
  "sum(x·0)": (x) => tf.sum(tf.mul(x, 0), 1),
  "sum(x)·0": (x) => tf.mul(tf.sum(x, 1), 0),
  "sum(x−x)": (x) => tf.sum(tf.sub(x, x), 1),
};

testOnDevices("compiled arithmetic has the bits of eager calls, also with NaN and infinity", () => {
  const [x, y] = operands();
  for (const [name, f] of Object.entries(CASES)) {
    tf.tidy(() => {
      const wrong = difference(tf.function(f)(x, y) as tf.Tensor, f(x, y));
      assert(wrong === null, `${name} ${wrong}`);
    });
  }
  tf.dispose([x, y]);
});

testOnDevices("compiled float16 arithmetic hides no NaN either", () => {
  for (const name of ["x·0", "(x+1)·0", "0/x", "(x+y)−x", "x·y−x·y"]) {
    tf.tidy(() => {
      const [x, y] = operands().map((t) => tf.cast(t, "float16"));
      const f: Binary = (x, y) => tf.cast(CASES[name](x, y), "float32");
      const wrong = difference(tf.function(f)(x, y) as tf.Tensor, f(x, y));
      assert(wrong === null, `${name} ${wrong}`);
    });
  }
});

/** Steps of a random expression: each takes two earlier values. */
const STEPS: readonly Binary[] = [
  (a, b) => tf.add(a, b),
  (a, b) => tf.sub(a, b),
  (a, b) => tf.mul(a, b),
  (a, b) => tf.div(a, b),
  (a) => tf.neg(a),
  (a, b) => tf.maximum(a, b),
  (a) => tf.abs(a),
  (a, b) => tf.where(tf.less(a, b), a, b),
  (a) => positive(a),
  (a) => tf.mul(a, 0),
  (a) => tf.add(a, 0.1),
  (a) => tf.sub(1e8, a),
  (a) => tf.div(a, 3),
  (a) => tf.square(a),
];

testOnDevices("random arithmetic has the bits of eager calls", () => {
  const [x, y] = operands();
  const step = fc.record({ kind: fc.nat(STEPS.length - 1), a: fc.nat(6), b: fc.nat(6) });
  fc.assert(
    fc.property(fc.array(step, { minLength: 2, maxLength: 14 }), (steps) => {
      const f: Binary = (x, y) => {
        const values = [x, y];
        // Mostly of the last ones: terms that might cancel are near.
        for (const { kind, a, b } of steps) {
          const at = (k: number): tf.Tensor => values[Math.max(0, values.length - 1 - k)];
          values.push(STEPS[kind](at(a), at(b)));
        }
        return values.at(-1)!;
      };
      tf.tidy(() => {
        const wrong = difference(tf.function(f)(x, y) as tf.Tensor, f(x, y));
        assert(wrong === null, String(wrong));
      });
    }),
    { seed: 9, numRuns: 60 },
  );
  tf.dispose([x, y]);
});

testOnDevices("chains of hundreds of ops have the bits of eager calls", () => {
  const x = tf.tensor(VALUES);
  const chain = (x: tf.Tensor): tf.Tensor => {
    let y = x;
    for (let i = 0; i < 600; i++) {
      y = i % 5 === 4 ? tf.mul(y, 0.9) : i % 3 === 0 ? tf.sub(y, x) : tf.add(y, 0.1 * i);
    }
    return y;
  };
  tf.tidy(() => {
    assertEquals(difference(tf.function(chain)(x) as tf.Tensor, chain(x)), null);
  });
  x.dispose();
});

testOnDevices("addN() takes one term and ten thousand", async () => {
  for (const n of [1, 7, 8, 64, 65, 130, 10_000]) {
    const terms = Array.from({ length: n }, (_, i) => tf.fill([3], i % 5 - 1));
    const sum = new Array(3).fill(terms.reduce((s, _, i) => s + i % 5 - 1, 0));
    tf.tidy(() => {
      assertEquals(tf.addN(terms).arraySync(), sum);
      const f = tf.function((...xs: tf.Tensor[]) => tf.mul(tf.addN(xs), 2));
      assertEquals((f(...terms) as tf.Tensor).arraySync(), sum.map((v) => 2 * v));
    });
    if (n <= 130) {
      const graph = new tf.Graph();
      const { y, dx, x } = graph.asDefault(() => {
        const x = tf.placeholder("float32", [3], "x");
        const y = tf.addN(Array.from({ length: n }, (_, i) => tf.add(x, i % 5)));
        return { x, y, dx: tf.gradients(y, [x])[0]! };
      });
      await using sess = new tf.Session({ graph });
      const out = await sess.run([y, dx], { feeds: new Map([[x, [-1, -1, -1]]]) });
      assertEquals((out as tf.NdArray[]).map((a) => a.toArray()), [sum, [n, n, n]]);
    }
    tf.dispose(terms);
  }
});
