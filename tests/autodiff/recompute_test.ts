/** `recomputeGrad` against the function itself, in every way it can be differentiated. */

import { assert, assertEquals, assertThrows } from "@std/assert";
import * as tf from "@weft/weft";
import { testOnDevices, testOnGpu } from "../devices.ts";

type Fn = (x: tf.Tensor) => tf.Tensor;

const w = [[0.5, -1, 0.25], [2, 0.25, -0.5], [-0.75, 1, 1.5]];

async function numbers(x: tf.Tensor): Promise<number[]> {
  return Array.from(await x.data(), Number);
}

function assertClose(found: number[], wanted: number[]): void {
  const isClose = found.length === wanted.length &&
    found.every((v, i) => Math.abs(v - wanted[i]!) <= 1e-4 * (1 + Math.abs(wanted[i]!)));
  if (!isClose) assertEquals(found, wanted);
}

const PROGRAMS: Readonly<Record<string, Fn>> = {
  "a layer": (x) => tf.tanh(tf.dot(x, w)),
  "a branch": (x) => tf.cond(tf.greater(tf.sum(x), 0), () => tf.square(x), () => tf.sin(x)),
  "a loop": (x) =>
    tf.whileLoop(
      (i: tf.Tensor) => tf.less(i, 3),
      (i: tf.Tensor, x: tf.Tensor) => [tf.add(i, 1), tf.sin(x)],
      [tf.scalar(0, "int32"), x],
    )[1]!,
  "a function": (x) => tf.function((x: tf.Tensor) => tf.tanh(tf.dot(x, w)))(x),
  "a script of tensors": (x) =>
    tf.pyFunction((x: tf.Tensor) => tf.square(x), [x], tf.TensorSpec([3], "float32")),
  "a constant within tidy()": (x) => tf.tidy(() => tf.mul(tf.sin(x), tf.tensor([2, 3, 4]))),
  "a constant within a scope": (x) => {
    using scope = tf.scope();
    return scope.keep(tf.mul(tf.sin(x), tf.tensor([2, 3, 4])));
  },
  "a constant that is disposed": (x) => {
    using c = tf.tensor([2, 3, 4]);
    return tf.mul(tf.sin(x), c);
  },
  "a script with a constant": (x) =>
    tf.pyFunction(
      (x: tf.Tensor) => tf.mul(tf.square(x), tf.tensor([2, 3, 4])),
      [x],
      tf.TensorSpec([3], "float32"),
    ),
  "a loop with a constant": (x) =>
    tf.whileLoop(
      (i: tf.Tensor) => tf.less(i, 2),
      (i: tf.Tensor, x: tf.Tensor) => [tf.add(i, 1), tf.mul(tf.sin(x), tf.tensor([2, 3, 4]))],
      [tf.scalar(0, "int32"), x],
    )[1]!,
  "a gradient with a constant": (x) =>
    tf.grad((v) => tf.sum(tf.mul(tf.sin(v), tf.tensor([2, 3, 4]))))(x),
  "a gradient of its own": (x) =>
    tf.customGrad((v, save) => {
      save([v]);
      return { value: tf.square(v), gradFunc: (dy, [v]) => tf.mul(dy, tf.mul(v!, 2)) };
    })(x),
  "vmap()": (x) => tf.vmap((v: tf.Tensor) => tf.mul(v, tf.sum(tf.square(x))))(x),
};

for (const [name, fn] of Object.entries(PROGRAMS)) {
  testOnDevices(`recomputeGrad() of ${name} has its gradients`, async () => {
    using _scope = tf.scope();
    const x = tf.tensor([0.5, -1.25, 2]);
    const twice = (f: Fn) => (x: tf.Tensor) => tf.sum(tf.mul(f(f(x)), [1, 2, 3]));
    const kept = twice(fn), recomputed = twice(tf.recomputeGrad(fn));
    const second = (f: Fn) => tf.grad((x) => tf.sum(tf.sin(tf.grad(f)(x))));
    for (const  of of[(f: Fn) => f, (f: Fn) => tf.grad(f), second]) {
      const wanted = await numbers(await tf.function(of(kept)).async(x));
      assertClose(await numbers(await tf.function(of(recomputed)).async(x)), wanted);
      assertClose(await numbers(of(recomputed)(x)), wanted);
      assertClose(
        await numbers(tf.jvp(of(recomputed), [x], [x])[1]),
        await numbers(tf.jvp(of(kept), [x], [x])[1]),
      );
    }
  });
}

testOnDevices(
  "recomputeGrad() differentiates variables, what is around it, and nests of results",
  async () => {
    using v = tf.variable([1, 2]), table = tf.variable([[1, 2], [3, 4]]);
    using around = tf.tensor([3, 4]), x = tf.tensor([0.5, 0.25]);
    const make = (x: tf.Tensor) => {
      const y = tf.mul(tf.mul(x, v), around);
      return { y, rows: tf.gather(table, [1, 1]), n: tf.scalar(3, "int32") };
    };
    const loss = (f: typeof make) => {
      const { y, rows } = f(x);
      return tf.add(tf.sum(tf.square(y)), tf.sum(rows));
    };
    const gradients = (f: typeof make) => {
      using tape = new tf.GradientTape();
      tape.watch([around, x]);
      return tape.gradient(loss(f), [v, table, around, x]) as tf.Tensor[];
    };
    const before = tf.memory().numTensors;
    for (
      const run of [
        (f: typeof make) => gradients(f),
        (f: typeof make) => tf.function(() => gradients(f))(),
      ]
    ) {
      const wanted = run(make), found = run(tf.recomputeGrad(make));
      for (const [i, g] of found.entries()) {
        assertClose(
          await numbers(tf.add(g, 0)),
          await numbers(tf.add(wanted[i]!, 0)),
        );
      }
      tf.dispose([wanted, found]);
    }
    assert(tf.memory().numTensors - before < 40);
    assertEquals(tf.recomputeGrad(make)(x).n.dtype, "int32");
  },
);

testOnDevices(
  "recomputeGrad() calls a function again for its gradient alone, and keeps nothing",
  () => {
    let calls = 0;
    const f = tf.recomputeGrad((x: tf.Tensor) => {
      calls++;
      return tf.tanh(tf.sin(tf.square(x)));
    });
    using x = tf.ones([100]);
    const before = tf.memory().numTensors;
    f(x).dispose();
    assertEquals(calls, 1);
    {
      using tape = new tf.GradientTape();
      tape.watch(x);
      using y = f(x);
      // The value, and the tape's hold of it and of the input: none from inside.
      assert(tf.memory().numTensors - before <= 3, `${tf.memory().numTensors - before}`);
      tape.gradient(y, x)!.dispose();
    }
    assertEquals([calls, tf.memory().numTensors], [3, before]);
  },
);

testOnGpu(
  "a chain of 24 layers needs a third of the memory where parts of it are recomputed",
  () => {
    const chain = (from: number, to: number) => (x: tf.Tensor) => {
      for (let i = from; i < to; i++) x = tf.tanh(tf.matMul(tf.softplus(x), ws[i]!));
      return x;
    };
    const ws = Array.from(
      { length: 24 },
      (_, i) => tf.variable(tf.randomNormal([32, 32], 0, 0.2, "float32", i)),
    );
    const parts = [0, 5, 10, 15, 20].map((i) => tf.recomputeGrad(chain(i, Math.min(i + 5, 24))));
    const forms = {
      kept: chain(0, 24),
      recomputed: (x: tf.Tensor) => parts.reduce((x, f) => f(x), x),
    };
    const x = tf.ones([8192, 32]);
    const first = tf.memory().poolBytes;
    // The pool keeps all that was in use at once.
    const peak = (f: Fn): number => {
      tf.dispose(
        tf.function(() => {
          using tape = new tf.GradientTape();
          return tape.gradient(tf.sum(f(x)), ws) as tf.Tensor[];
        })(),
      );
      return tf.memory().poolBytes - first;
    };
    const recomputed = peak(forms.recomputed), kept = peak(forms.kept);
    assert(kept > 3 * recomputed, `${recomputed} bytes recomputed, ${kept} kept`);
    tf.dispose([ws, x]);
  },
);

Deno.test("recomputeGrad() refuses what it cannot differentiate", () => {
  assertThrows(
    () => tf.recomputeGrad(3 as never),
    TypeError,
    "Argument 'f' passed to 'recomputeGrad'",
  );
  assertThrows(() => tf.recomputeGrad((x) => x)(3 as never), TypeError, "must be tensors");
  assertThrows(() => tf.recomputeGrad(() => 3 as never)(), TypeError, "must return tensors");
  assertThrows(() => tf.recomputeGrad((() => Promise.resolve()) as never)(), Error, "promise");
});
