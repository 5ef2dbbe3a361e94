/** Functions of complex numbers against NumPy's: small and huge arguments, branch cuts, zeros. */

import * as tf from "@weft/weft";
import { assert, assertEquals } from "@std/assert";
import goldens from "./complex_goldens.json" with { type: "json" };

type Golden = readonly (number | string)[];
type Z = tf.Tensor;

/** JSON has texts for numbers that it lacks. */
function numberOf(golden: number | string): number {
  return golden === "inf" ? Infinity : golden === "-inf" ? -Infinity : Number(golden);
}

/** Both parts within 12 digits of the larger one. */
function assertClose(received: readonly number[], golden: Golden, what: string): void {
  const wanted = golden.map(numberOf);
  const most = Math.hypot(...wanted) * 1e-3;
  const isClose = wanted.every((w, i) =>
    received[i] === w || Number.isNaN(w) && Number.isNaN(received[i]) ||
    Math.abs(received[i] - w) <= 1e-12 * Math.max(Math.abs(w), most)
  );
  assert(isClose, `${what}: received ${received}, wanted ${wanted}`);
}

function column(rows: readonly (readonly number[])[], re: number): Z {
  const part = (k: number) => tf.tensor(rows.map((row) => row[k]), undefined, "float64");
  return tf.complex(part(re), part(re + 1));
}

Deno.test("functions of complex numbers are NumPy's, at small and huge arguments and on branch cuts", () => {
  const functions: Record<string, (z: Z) => Z> = {
    ...{ exp: tf.exp, expm1: tf.expm1, log: tf.log, log1p: tf.log1p, sqrt: tf.sqrt },
    ...{ sign: tf.sign, sinh: tf.sinh, cosh: tf.cosh, tanh: tf.tanh, asinh: tf.asinh },
    ...{ acosh: tf.acosh, atanh: tf.atanh, sin: tf.sin, cos: tf.cos, tan: tf.tan },
    ...{ asin: tf.asin, acos: tf.acos, atan: tf.atan },
  };
  assertEquals(Object.keys(functions), Object.keys(goldens.functions));
  tf.tidy(() => {
    const z = column(goldens.points, 0);
    for (const [name, wanted] of Object.entries(goldens.functions)) {
      const received = functions[name](z).arraySync() as number[][];
      wanted.forEach((golden, i) => {
        assertClose(received[i], golden, `${name}(${goldens.points[i]})`);
      });
    }
  });
});

Deno.test("quotients and powers of complex numbers are NumPy's", () => {
  const functions: Record<string, (a: Z, b: Z) => Z> = { div: tf.div, pow: tf.pow };
  tf.tidy(() => {
    const a = column(goldens.pairs, 0), b = column(goldens.pairs, 2);
    for (const [name, wanted] of Object.entries(goldens.binary)) {
      const received = functions[name](a, b).arraySync() as number[][];
      wanted.forEach((golden, i) => {
        assertClose(received[i], golden, `${name}(${goldens.pairs[i]})`);
      });
    }
    // Of zero, TensorFlow's answers: NumPy knows no power of it with a negative real part.
    const powers = tf.pow(
      tf.complex([0, 0, 0, 0], [0, 0, 0, 0]),
      tf.complex([1.5, -1.5, 0, 0], [1, 0, 0, 1]),
    );
    assertEquals(powers.arraySync(), [[0, 0], [Infinity, NaN], [1, 0], [NaN, NaN]]);
  });
});
