/** Chains of complex numbers on WebGPU: plans make one kernel of them, with real operands, masks and gradients, to what eager code computes. */
import * as tf from "@weft/weft";
import { assert, assertEquals } from "@std/assert";
import { apply } from "../../src/engine/core/apply.ts";
import { lookupOp } from "../../src/engine/core/op.ts";
import { argument, keep, scalar } from "../../src/engine/core/scalar/expr.ts";
import { pipelineOptions } from "../../src/engine/graph/passes/pipeline.ts";
import { testOnDevices, testOnGpu } from "../devices.ts";
import { noise } from "../ops/values.ts";

type T = tf.Tensor;
/** Of complex z and w, and real x. */
type Chain = (z: T, w: T, x: T) => T | T[];

interface Case {
  readonly make: Chain;
  /** Dispatches of the compiled function on a GPU. Default 1. */
  readonly dispatches?: number;
  /** Shapes of z, w and x. Default [3, 5] for all. */
  readonly shapes?: readonly (readonly number[])[];
}

const toComplex = (x: T): T => tf.cast(x, "complex64");

const CASES: Readonly<Record<string, Case>> = {
  "sums and products": { make: (z, w) => tf.sub(tf.mul(tf.add(z, w), w), z) },
  "a quotient and a function": { make: (z, w) => tf.exp(tf.neg(tf.div(z, tf.add(w, 3)))) },
  "a root of a square": { make: (z) => tf.sqrt(tf.square(z)) },
  "logarithms": { make: (z, w) => tf.mul(tf.log(tf.add(z, 4)), tf.log(tf.add(w, 5))) },
  "hyperbolic and circular functions": { make: (z, w) => tf.add(tf.tanh(z), tf.sin(w)) },
  "powers": { make: (z, w) => tf.pow(tf.add(z, 3), tf.mul(w, 0.5)) },
  "a real operand": { make: (z, w, x) => tf.mul(tf.add(z, toComplex(x)), w) },
  "real parts in between": {
    make: (z, w, x) => tf.complex(tf.mul(tf.real(z), x), tf.sub(tf.imag(w), x)),
  },
  "a size": { make: (z, w, x) => tf.add(tf.abs(tf.mul(z, w)), x) },
  "an angle": { make: (z, w) => tf.math.angle(tf.mul(z, tf.conj(w))) },
  "real numbers that were complex on the way": {
    make: (_z, _w, x) => tf.abs(tf.exp(tf.complex(tf.mul(x, 0.5), x))),
  },
  "a mask": { make: (z, w, x) => tf.where(tf.greater(x, 0), tf.mul(z, w), tf.conj(z)) },
  "a mask of parts": { make: (z, w) => tf.where(tf.less(tf.real(z), tf.imag(w)), tf.neg(z), w) },
  "a comparison": {
    make: (z, w) => tf.logicalOr(tf.equal(tf.add(z, w), tf.add(w, z)), tf.notEqual(z, z)),
  },
  "integers beside": {
    make: (z, _w, x) => tf.mul(tf.add(z, 1), toComplex(tf.cast(tf.round(tf.mul(x, 4)), "int32"))),
  },
  "halves beside": {
    make: (z, _w, x) => tf.mul(z, toComplex(tf.cast(tf.cast(x, "float16"), "float32"))),
  },
  "both parts, apart": { make: (z, w) => [tf.real(tf.mul(z, w)), tf.imag(tf.mul(z, w))] },
  "a result that is read twice": {
    make: (z, w) => {
      const y = tf.mul(z, w);
      return [tf.add(y, 1), tf.abs(y), y];
    },
  },
  "rows and columns": {
    make: (z, w, x) => tf.mul(tf.add(z, toComplex(x)), w),
    shapes: [[4, 1, 5], [4, 3, 5], [3, 1]],
    // What is smaller than the result is not computed again for each of its elements.
    dispatches: 2,
  },
  "one number": {
    make: (z, w) => tf.mul(tf.add(z, w), tf.complex(0.5, -2)),
    shapes: [[3, 5], [], [1]],
  },
  "nothing": {
    make: (z, w) => tf.mul(tf.add(z, w), w),
    shapes: [[0, 3], [0, 3], [1]],
    dispatches: 0,
  },
  "a sum over rows, and a product before": {
    make: (z, w, x) => tf.sum(tf.mul(tf.mul(z, w), toComplex(x)), 1),
    dispatches: 2,
  },
  "the size of a sum, and a product of matrices": {
    make: (z, w, x) => tf.add(tf.matMul(x, x, false, true), tf.sum(tf.abs(tf.mul(z, w)))),
    dispatches: 3,
  },
};

function inputsOf({ shapes = [[3, 5], [3, 5], [3, 5]] }: Case): [T, T, T] {
  const real = (i: number, seed: number): T => tf.tensor(noise("float32", [...shapes[i]], seed));
  const complex = (i: number): T => tf.complex(real(i, 2 * i + 1), real(i, 2 * i + 2));
  return [complex(0), complex(1), real(2, 9)];
}

const listOf = (made: T | T[]): T[] => [made].flat();

async function near(found: readonly T[], wanted: readonly T[], text: string): Promise<void> {
  assertEquals(found.length, wanted.length);
  for (const [i, y] of wanted.entries()) {
    assertEquals([found[i].dtype, found[i].shape], [y.dtype, y.shape], text);
    const [a, b] = [await found[i].data(), await y.data()] as ArrayLike<number>[];
    const largest = Array.from(b).filter(Number.isFinite).reduce(
      (m, v) => Math.max(m, Math.abs(v)),
      1,
    );
    Array.from(b).forEach((v, at) => {
      const apart = Object.is(a[at], v) || a[at] === v ? 0 : Math.abs(a[at] - v);
      assert(apart <= 3e-6 * largest, `${text}: result ${i} at ${at}: ${a[at]}, wanted ${v}`);
    });
  }
}

/** The gradients of what all results' parts are multiplied by in a sum. */
function gradients(make: Chain) {
  return (z: T, w: T, x: T): T[] => {
    const loss = (a: T, b: T, x: T): T => {
      // The parts of z and w are the variables.
      const made = listOf(make(tf.complex(a, tf.sin(a)), tf.complex(tf.cos(b), b), x));
      const parts = made.filter((y) => y.dtype !== "bool").flatMap((y) =>
        y.dtype === "complex64" ? [tf.real(y), tf.imag(y)] : [y]
      );
      return tf.addN(parts.map((y, i) => tf.sum(tf.mul(tf.sin(y), i + 1))));
    };
    const of = [tf.real(z), tf.imag(w)];
    return tf.grads((a: T, b: T) => loss(a, b, x))(of as [T, T]) as T[];
  };
}

/** Cases without a gradient for both. */
const NO_GRADIENTS = new Set([
  "a root of a square",
  "a comparison",
  "integers beside",
  "halves beside",
  "real numbers that were complex on the way",
  "an angle",
  "nothing",
]);

for (const [name, own] of Object.entries(CASES)) {
  testOnDevices(
    `${name} of complex numbers, joined, are eager's, and so are their gradients`,
    async () => {
      using _scope = tf.scope();
      const { verify } = pipelineOptions;
      pipelineOptions.verify = true;
      try {
        const inputs = inputsOf(own), { make } = own;
        await near(
          listOf(tf.function(make)(...inputs) as T | T[]),
          listOf(make(...inputs)),
          "compiled",
        );
        const inputSignature = inputs.map((x) =>
          new tf.TensorSpec(x.shape.map(() => null), x.dtype as tf.DType)
        );
        const unknown = tf.function(make, { inputSignature });
        await near(
          listOf(unknown(...inputs) as T | T[]),
          listOf(make(...inputs)),
          "of unknown extents",
        );
        if (NO_GRADIENTS.has(name)) return;
        const slopes = gradients(make);
        await near(tf.function(slopes)(...inputs) as T[], slopes(...inputs), "gradients");
      } finally {
        pipelineOptions.verify = verify;
      }
    },
  );

  testOnGpu(`${name} of complex numbers take as few dispatches as may be`, async () => {
    using _scope = tf.scope();
    const inputs = inputsOf(own), f = tf.function(own.make);
    for (const y of listOf(f(...inputs) as T | T[])) await y.data();
    const { dispatches } = await tf.profile(() => tf.dispose(listOf(f(...inputs) as T | T[])));
    assertEquals(dispatches, own.dispatches ?? 1);
  });
}

testOnDevices(
  "a joined expression of real numbers that are complex on the way runs anywhere",
  async () => {
    using _scope = tf.scope();
    const parts = [1, 2].map((seed) => tf.tensor(noise("float32", [3, 5], seed)));
    const z = scalar.complex(argument(0), argument(1));
    const exprs = [scalar.abs(scalar.exp(z)), scalar.real(scalar.mul(z, keep(z)))];
    const attrs = { Tin: ["float32", "float32"], Tout: ["float32", "float32"], exprs };
    const found = apply(lookupOp("_FusedPointwise")!, parts, attrs);
    const own = tf.complex(...parts as [T, T]);
    await near(found, [tf.abs(tf.exp(own)), tf.real(tf.mul(own, own))], "joined");
  },
);

testOnDevices("joined complex numbers hide no NaN and no infinity", async () => {
  using _scope = tf.scope();
  const part = (values: number[]): T => tf.tensor(values, [values.length], "float32");
  const z = tf.complex(part([NaN, 1, Infinity, 3e38, 0]), part([1, NaN, 0, 3e38, -0]));
  const w = tf.complex(part([1, 2, 3, 1, 5]), part([0, 1, -1, 1, 2]));
  const chains: Readonly<Record<string, (z: T, w: T) => T>> = {
    "a product with nothing": (z, w) => tf.mul(tf.add(z, w), tf.sub(w, w)),
    "a sum and its parts": (z, w) => tf.sub(tf.sub(tf.add(z, w), z), w),
    "a number that equals itself": (z, w) => tf.equal(tf.add(z, w), tf.add(z, w)),
    "a quotient of itself": (z, w) => tf.div(tf.mul(z, w), tf.mul(z, w)),
  };
  for (const [name, make] of Object.entries(chains)) {
    const [a, b] = await Promise.all(
      [tf.function(make)(z, w), make(z, w)].map((y) => (y as T).data()),
    );
    const text = (x: ArrayLike<number>): string =>
      Array.from(x, (v) => Number.isNaN(Number(v)) ? "NaN" : Number(v).toPrecision(6)).join();
    assertEquals(text(a as Float32Array), text(b as Float32Array), name);
  }
});
