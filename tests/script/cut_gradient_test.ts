/** Gradients that a script without vjp cuts: errors name it, and where other paths carry one there is a warning. */
import * as tf from "@weft/weft";
import { assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import { stub } from "@std/testing/mock";
import { testOnDevices } from "../devices.ts";
import { type Any, assertFlat, errorOf, open } from "./helpers.ts";

type T = tf.Tensor;
/** A body of its own for each test: each is warned of once. */
function makeScore(options: Any = {}, call: Any = tf.numpyFunction): (x: Any) => T {
  const { score } = { score: (x: tf.NdArray) => x.map((v) => 2 * Number(v)) };
  return (x) => call(score, [x], tf.TensorSpec([], "float32"), options);
}
const TEXT = "PyFunc 'score' has no vjp: give one, use pyFunction, or stopGradient";

async function warnings(fn: () => unknown): Promise<string[]> {
  using warn = stub(console, "warn");
  await fn();
  return warn.calls.map(({ args }) => args[0]);
}

/** Ways to differentiate a function: the value of its gradient at 3, null for none. */
const WAYS: Readonly<Record<string, (f: (x: T) => T) => Promise<unknown> | unknown>> = {
  "tf.grad": (f) => (tf.grad(f as Any)(tf.scalar(3)) as T).item(),
  "a tape": (f) => {
    const x = tf.scalar(3);
    using tape = new tf.GradientTape();
    tape.watch(x);
    return (tape.gradient(f(x), x) as T | null)?.item() ?? null;
  },
  "tf.gradients": async (f) => {
    await using g = open(() => {
      const x = tf.placeholder("float32", [], "x");
      return tf.gradients(f(x), [x])[0];
    });
    return g.parts && await g.sess.run(g.parts, { feeds: { "x:0": 3 } });
  },
  "a function": (f) => (tf.grad(tf.function(f as Any) as Any)(tf.scalar(3)) as T).item(),
};

testOnDevices("a gradient that is cut beside others is warned of, once", async () => {
  for (const [way, differentiate] of Object.entries(WAYS)) {
    const score = makeScore();
    const f = (x: T) => tf.mul(x, tf.add(score(x), 1));
    const seen: unknown[] = [];
    const lines = await warnings(async () => {
      for (let i = 0; i < 2; i++) seen.push(await differentiate(f));
    });
    assertEquals(seen, [7, 7], way);
    assertEquals(lines, [`A gradient is cut where other paths carry one: ${TEXT}`], way);
  }
});

/** Ways to ask for a gradient that say null, or zero, where there is none. */
const SILENT: Readonly<Record<string, (f: (x: Any) => T) => Promise<unknown> | unknown>> = {
  "a tape": WAYS["a tape"],
  "tf.gradients": WAYS["tf.gradients"],
  "a tape that says zero": (f) => {
    const x = tf.scalar(3);
    using tape = new tf.GradientTape();
    tape.watch(x);
    return (tape.gradient(f(x), x, { unconnectedGradients: "zero" }) as T).item();
  },
  "a jacobian": (f) => {
    const x = tf.tensor([3, 4]);
    using tape = new tf.GradientTape();
    tape.watch(x);
    return tape.jacobian(tf.stack([f(x.gather(0)), f(x.gather(1))]), x);
  },
  "a tape around a function": (f) => WAYS["a tape"](tf.function(f as Any) as Any),
  "a tape around a branch": (f) =>
    WAYS["a tape"](tf.function((x: T) => tf.cond(tf.greater(x, 0), () => f(x), () => x)) as Any),
  "a function with a tape": (f) =>
    tf.function((x: T) => {
      using tape = new tf.GradientTape();
      tape.watch(x);
      return tape.gradient(f(x), x, { unconnectedGradients: "zero" }) as T;
    })(tf.scalar(3)).item(),
  "gradients of a branch": (f) =>
    WAYS["tf.gradients"]((x) => tf.cond(tf.greater(x, 0), () => f(x), () => x)),
  "gradients of a loop": (f) =>
    WAYS["tf.gradients"]((x) =>
      tf.whileLoop((i) => tf.less(i, 1), (i, y: T) => [tf.add(i, 1), f(y)], [
        tf.constant(0),
        x,
      ])[1] as T
    ),
  "gradients of a script around it": (f) =>
    WAYS["tf.gradients"]((x) => tf.pyFunction((a: T) => f(a), [x], tf.TensorSpec([])) as T),
  "a tape around a script around it": (f) =>
    WAYS["a tape"]((x) => tf.pyFunction((a: T) => f(a), [x], tf.TensorSpec([])) as T),
  "gradients of a variable": async (f) => {
    await using g = open(() => {
      const v = tf.variable(3);
      return tf.gradients(f(v), [v])[0];
    });
    return g.parts;
  },
};

testOnDevices("a gradient that is cut altogether is warned of, once, in every way", async () => {
  for (const [way, differentiate] of Object.entries(SILENT)) {
    const score = makeScore(), seen: unknown[] = [];
    const lines = await warnings(async () => {
      for (let i = 0; i < 2; i++) seen.push(await differentiate((x) => tf.square(score(x))));
    });
    for (const found of seen) assertEquals(found || null, null, way);
    assertEquals(lines.length, 1, `${way}: ${lines}`);
    assertMatch(lines[0], /^A gradient (comes through nowhere|is cut where other paths)/, way);
    assertStringIncludes(lines[0], TEXT, way);
    const strict = makeScore({ strictGradients: true });
    const error = await errorOf(() => differentiate((x) => tf.square(strict(x))));
    assertEquals(error.constructor, tf.errors.InvalidArgumentError, `${way} ${error.stack}`);
    assertStringIncludes(error.message, `${TEXT} (strictGradients)`, way);
  }
});

testOnDevices(
  "strictGradients makes a cut an error, in every script function and way",
  async () => {
    const CALLS: readonly Any[] = [
      tf.numpyFunction,
      tf.pyFunc,
      (f: Any, args: Any, outputTypes: Any, options: Any) =>
        tf.contrib.framework.pyFunc(f, { args, outputTypes, ...options }),
    ];
    for (const call of CALLS) {
      for (const [way, differentiate] of Object.entries(WAYS)) {
        const score = makeScore({ strictGradients: true }, call);
        const f = (x: T) => tf.mul(x, tf.square(score(x)));
        const error = await errorOf(() => differentiate(f));
        assertEquals(error.constructor, tf.errors.InvalidArgumentError, `${way} ${error.stack}`);
        assertStringIncludes(error.message, `${TEXT} (strictGradients)`, way);
      }
    }
  },
);

testOnDevices("the error of a gradient that is missing names what cut it", async () => {
  const score = makeScore();
  let error!: Error;
  const lines = await warnings(async () => {
    error = await errorOf(() => tf.grad((x: Any) => tf.square(score(x)))(tf.scalar(3)));
  });
  assertEquals(lines, []);
  assertMatch(error.message, /Cannot compute gradient of y=f\(x\)/);
  assertStringIncludes(error.message, `: ${TEXT}`);
  const v = tf.variable(tf.scalar(3));
  const lost = await errorOf(() => tf.train.sgd(0.1).minimize(() => tf.square(score(v)) as Any));
  assertMatch(lost.message, /Cannot find a connection/);
  assertStringIncludes(lost.message, `: ${TEXT}`);
  v.dispose();
  const other = await errorOf(() => tf.grad((x: Any) => tf.stopGradient(x))(tf.scalar(3)));
  assertEquals(other.message.includes("PyFunc"), false);
});

testOnDevices("what is meant to have no gradient is not warned of", async () => {
  const integers = (x: T) =>
    tf.cast(tf.numpyFunction(() => 2, [x], tf.TensorSpec([], "int32")), "float32");
  const MEANT: Readonly<Record<string, (x: T, score: (x: Any) => T) => T>> = {
    "stopGradient after": (x, score) => tf.mul(x, tf.stopGradient(score(x))),
    "stopGradient before": (x, score) => tf.mul(x, score(tf.stopGradient(x))),
    "integers": (x) => tf.mul(x, integers(x)),
    "not in the result": (x, score) => (score(x), tf.square(x)),
    "a constant": (x, score) => tf.mul(x, score(tf.scalar(1))),
    "a vjp": (x) =>
      tf.mul(
        x,
        tf.numpyFunction((v: tf.NdArray) => v, [x], tf.TensorSpec([], "float32"), {
          vjp: (_, dy) => dy,
          strictGradients: true,
        }),
      ),
  };
  for (const [name, f] of Object.entries(MEANT)) {
    for (const [way, differentiate] of Object.entries(WAYS)) {
      const score = makeScore({ strictGradients: true });
      assertEquals(await warnings(() => differentiate((x) => f(x, score))), [], `${name} ${way}`);
    }
  }
});

testOnDevices("a cut leaves nothing behind", async () => {
  const score = makeScore();
  const f = (x: Any) => tf.mul(x, tf.square(score(x)));
  await warnings(() => tf.tidy(() => void tf.grad(f)(tf.scalar(3))));
  await assertFlat(() => tf.tidy(() => void tf.grad(f)(tf.scalar(3))));
});
