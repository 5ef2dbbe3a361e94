/** A refused program wherever it may stand: in control flow, scripts, datasets, maps over rows, gradients and steps that follow each other. */
// Runs alone: it makes adapters refuse programs.
import * as tf from "@weft/weft";
import { assert, assertEquals, assertMatch } from "@std/assert";
import { testOnGpu } from "../../devices.ts";
import { errorOf } from "../../script/helpers.ts";
import { fine, lists, numbers, refusals, REFUSED, refusing } from "./refusing.ts";

type F = (x: tf.Tensor) => tf.Tensor;
/** Makes a function in which `f` stands somewhere. */
type Place = (f: F) => F;

const ZERO = (): tf.Tensor => tf.constant(0, "int32");
const turns = (f: F): F => (x) =>
  tf.whileLoop(
    (i: tf.Tensor) => tf.less(i, 3),
    (i: tf.Tensor, y: tf.Tensor) => [tf.add(i, 1), f(y)],
    [ZERO(), x],
  )[1] as tf.Tensor;

/** Places within a function. */
const PLACES: Readonly<Record<string, Place>> = {
  "a loop's body": turns,
  "a loop's condition": (f) => (x) =>
    tf.whileLoop(
      (i: tf.Tensor, y: tf.Tensor) => tf.logicalAnd(tf.less(i, 3), tf.less(tf.sum(f(y)), 1e6)),
      (i: tf.Tensor, y: tf.Tensor) => [tf.add(i, 1), tf.mul(y, 0.5)],
      [ZERO(), x],
    )[1] as tf.Tensor,
  "a branch": (f) => (x) => tf.cond(tf.less(tf.sum(x), 1e6), () => f(x), () => x) as tf.Tensor,
  "what a branch depends on": (f) => (x) =>
    tf.cond(tf.greater(tf.sum(f(x)), 1e6), () => tf.neg(x), () => x) as tf.Tensor,
  "an argument of a numpyFunction": (f) => (x) =>
    tf.numpyFunction((a: tf.NdArray) => a, [f(x)], "float32") as tf.Tensor,
  "what follows a numpyFunction": (f) => (x) =>
    f(tf.ensureShape(
      tf.numpyFunction((a: tf.NdArray) => a, [tf.neg(x)], "float32") as tf.Tensor,
      [24, 4],
    )),
  "a pyFunction": (f) => (x) => tf.pyFunction((a: tf.Tensor) => f(a), [x], "float32") as tf.Tensor,
  "an argument of a pyFunction": (f) => (x) =>
    tf.pyFunction((a: tf.Tensor) => tf.mul(a, 2), [f(x)], "float32") as tf.Tensor,
  "the gradient of a pyFunction": (f) => (x) =>
    tf.grad((v: tf.Tensor) =>
      tf.sum(tf.pyFunction((a: tf.Tensor) => f(a), [v], "float32") as tf.Tensor)
    )(x),
  "what a gradient goes through": (f) => (x) => tf.grad((v: tf.Tensor) => tf.sum(f(v)))(x),
  "the gradient of a gradient": (f) => (x) =>
    tf.grad((v: tf.Tensor) => tf.sum(tf.grad((w: tf.Tensor) => tf.sum(f(w)))(v)))(x),
  "each row's function": (f) => (x) => tf.mapFn((row: tf.Tensor) => f(row), x) as tf.Tensor,
  "the function of all rows": (f) => (x) =>
    tf.vectorizedMap((row: tf.Tensor) => f(row), x) as tf.Tensor,
  "a scan": (f) => (x) => tf.scan((a: tf.Tensor, e: tf.Tensor) => f(tf.add(a, e)), x) as tf.Tensor,
  "a function that is called": (f) => {
    const inner = tf.function((v: tf.Tensor) => f(v));
    return (x) => tf.add(inner(x), inner(tf.neg(x)));
  },
  "a list": (f) => (x) => {
    const list = new tf.TensorArray("float32", 2, { elementShape: [24, 4] });
    return list.write(0, f(x)).write(1, x).stack();
  },
};

/** Ways to run a function and to read what it gives. */
const WAYS: Readonly<Record<string, (f: F) => unknown>> = {
  "eagerly": (f) => f(numbers(1)).dataSync(),
  "eagerly, awaited": (f) => f(numbers(1)).data(),
  "compiled": (f) => tf.function((x: tf.Tensor) => f(x))(numbers(1)).dataSync(),
  "compiled, awaited": async (f) => {
    const y = await tf.function((x: tf.Tensor) => f(x)).async(numbers(1)) as tf.Tensor;
    await y.data();
  },
};

/** Makes calls, of which the first throw the errors that are told once. */
async function told(): Promise<void> {
  for (let i = 0; i < 2; i++) {
    using _ = tf.scope();
    try {
      await tf.add(tf.zeros([1]), 1).data();
    } catch (error) {
      assertMatch((error as Error).message, REFUSED);
    }
  }
}

/** Asserts that `run` fails with the refusal, and that the device computes what it did before. */
async function refused(run: () => unknown, what: string): Promise<void> {
  const wanted = lists(fine(numbers(1.7)));
  const error = await errorOf(() => run()).catch(() => {
    throw new Error(`${what}: nothing was refused`);
  });
  assertMatch(error.message, REFUSED, what);
  assert(error instanceof tf.errors.InternalError, what);
  refusals.isOn = false;
  await told();
  assertEquals(lists(fine(numbers(1.7))), wanted, what);
}

for (const [place, put] of Object.entries(PLACES)) {
  testOnGpu(`a refused program is an error in ${place}`, async () => {
    for (const [way, run] of Object.entries(WAYS)) {
      const before = tf.memory().numTensors;
      {
        using _ = tf.scope();
        await refused(() => run(put(refusing())), `${place}, ${way}`);
      }
      assertEquals(tf.memory().numTensors, before, `${place}, ${way}`);
    }
  });
}

testOnGpu("a refused program is an error in a dataset's function", async () => {
  using _ = tf.scope();
  const rows = () => tf.data.fromTensorSlices(tf.tensor([[1, 2], [3, 4], [5, 6]]));
  const there = (f: F): F => (x) => tf.device("/GPU:0", () => f(x)) as tf.Tensor;
  // deno-lint-ignore no-explicit-any
  const passes: Readonly<Record<string, (f: F) => any>> = {
    map: (f) => rows().map((x: tf.Tensor) => f(x)),
    "map of batches": (f) => rows().batch(2).map((x: tf.Tensor) => f(x)),
    "map before batch": (f) => rows().map((x: tf.Tensor) => f(x)).batch(2),
    "parallel map": (f) => rows().map((x: tf.Tensor) => f(x), { numParallelCalls: 2 }).prefetch(2),
    filter: (f) => rows().filter((x: tf.Tensor) => tf.less(tf.sum(f(x)), 1e6)),
  };
  for (const [name, make] of Object.entries(passes)) {
    await refused(async () => {
      for await (const x of make(there(refusing()))) {
        using y = x as tf.Tensor;
        const found = await y.data();
        assert(found.every(Number.isFinite));
      }
    }, name);
  }
});

testOnGpu("what a refused batch only reads keeps its numbers", async () => {
  using _ = tf.scope();
  const wanted = lists(fine(numbers(1.3)));
  for (const isCompiled of [false, true]) {
    // Weights of kernels of an earlier batch, of an upload, and of a variable.
    const weights = fine(numbers(1.3)), given = numbers(2.5), v = tf.variable(numbers(3.5));
    const [known] = lists([given]), [state] = lists([v as unknown as tf.Tensor]);
    assertEquals(lists(weights), wanted);
    const f = refusing();
    const step = (x: tf.Tensor) => f(tf.add(tf.add(weights[0], given), tf.add(v, x)));
    const run = isCompiled ? tf.function(step) : step;
    for (let k = 0; k < 2; k++) {
      const error = await errorOf(async () => void await run(numbers(1)).data());
      assertMatch(error.message, REFUSED);
    }
    refusals.isOn = false;
    assertEquals(lists(weights), wanted);
    assertEquals(lists([given]), [known]);
    assertEquals(lists([tf.identity(v)]), [state]);
    v.dispose();
  }
});

testOnGpu("a variable that a refused batch writes is an error until it is assigned", async () => {
  using _ = tf.scope();
  const v = tf.variable(numbers(1)), f = tf.function(refusing());
  v.assign(f(numbers(1)) as tf.Tensor);
  assertMatch((await errorOf(() => tf.identity(v).data())).message, REFUSED);
  assertMatch((await errorOf(() => tf.identity(v).data())).message, REFUSED);
  refusals.isOn = false;
  v.assign(numbers(2));
  assertEquals(lists([tf.identity(v)]), lists([numbers(2)]));
  v.assignAdd(numbers(2));
  assertEquals(lists([tf.identity(v)]), lists([tf.mul(numbers(2), 2)]));
  v.dispose();
});

testOnGpu(
  "steps that follow each other while earlier ones are read fail from the refused one on",
  async () => {
    using _ = tf.scope();
    const w = numbers(0.3), f = refusing();
    refusals.isOn = false;
    const step = tf.function((x: tf.Tensor) =>
      tf.tanh(tf.add(tf.matMul(x, tf.matMul(w, w, true)), 1))
    );
    const wanted: number[][] = [];
    for (let k = 0, x = numbers(1); k < 6; k++) wanted.push(...lists([x = step(x) as tf.Tensor]));
    refusals.isOn = true;
    const bad = tf.function((x: tf.Tensor) => f(x));
    const read: Promise<Float32Array | null>[] = [];
    let x = numbers(1);
    for (let k = 0; k < 6; k++) {
      try {
        x = (k === 3 ? bad(x) : step(x)) as tf.Tensor;
      } catch (error) {
        assertMatch((error as Error).message, REFUSED);
        break;
      }
      read.push(x.data().then((d) => d as Float32Array, () => null));
    }
    const found = await Promise.all(read);
    refusals.isOn = false;
    // A step before may have stood in the batch of the refused one.
    found.forEach((d, k) => {
      if (k >= 3) assertEquals(d, null, `step ${k}`);
      else if (d !== null) {
        d.forEach((v, i) => assert(Math.abs(v - wanted[k]![i]!) < 1e-5, `step ${k}`));
      }
    });
    assertEquals(lists([w]), lists([numbers(0.3)]));
  },
);

testOnGpu(
  "a copy of what was there before is lost with the refused batch that it stands in",
  async () => {
    using _ = tf.scope();
    for (let k = 0; k < 4; k++) {
      const kept = fine(numbers(1.1 + k));
      const wanted = lists(kept);
      const bad = tf.function(refusing())(numbers(1)) as tf.Tensor;
      // The copies stand in the batch of the refused program: they are awaited at once.
      const reads = [...kept.map((t) => t.data()), bad.data()];
      // An eager call takes the error that is told once.
      if (k % 2 === 0) await Promise.resolve();
      try {
        tf.add(kept[0], 1);
      } catch (error) {
        assertMatch((error as Error).message, REFUSED);
      }
      const found = await Promise.allSettled(reads);
      refusals.isOn = false;
      found.forEach((r, i) => {
        if (r.status === "rejected") assertMatch((r.reason as Error).message, REFUSED);
        else assertEquals(Array.from(r.value as Float32Array), wanted[i], `copy ${i}`);
      });
      assertEquals(found.at(-1)!.status, "rejected");
      await told();
      assertEquals(lists(kept), wanted);
    }
  },
);
