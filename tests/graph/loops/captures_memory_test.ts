/**
 * Captures live as long as their functions, and are not counted; control flow does not dispose the results of its
 * functions.
 */
import * as tf from "@weft/weft";
import { assertEquals, assertThrows } from "@std/assert";
import { testOnDevices } from "../../devices.ts";

const count = (): number => tf.memory().numTensors;

testOnDevices("what a function captures outlives its scope, and counts no more", () => {
  const before = count(), bytes = tf.memory().numBytes;
  let f: (x: tf.Tensor) => tf.Tensor;
  {
    using _scope = tf.scope();
    const c = tf.tensor([1, 2]);
    f = tf.function((x: tf.Tensor) => tf.mul(x, c));
    f(tf.scalar(2));
  }
  assertEquals([count(), tf.memory().numBytes], [before, bytes]);
  for (const n of [3, 4]) {
    using x = tf.scalar(n);
    using y = f(x);
    assertEquals(y.arraySync(), [n, 2 * n]);
  }
  assertEquals([count(), tf.memory().numBytes], [before, bytes]);
});

testOnDevices("what a function captures and tidy() returns stays the caller's", () => {
  const before = count();
  const { c, f } = tf.tidy(() => {
    const c = tf.tensor([1, 2]), f = tf.function((x: tf.Tensor) => tf.mul(x, c));
    f(tf.scalar(2));
    return { c, f };
  });
  assertEquals(count(), before + 1);
  c.dispose();
  assertEquals(count(), before);
  using x = tf.scalar(1);
  assertThrows(() => f(x), tf.RuntimeError, "disposed");
  assertEquals(count(), before + 1);
});

testOnDevices("disposing what a function was left with counts nothing twice", () => {
  const before = count(), bytes = tf.memory().numBytes;
  let c: tf.Tensor | undefined;
  tf.tidy(() => {
    c = tf.tensor([1, 2]);
    const f = tf.function((x: tf.Tensor) => tf.mul(x, c!));
    f(tf.scalar(2));
  });
  assertEquals([count(), tf.memory().numBytes], [before, bytes]);
  assertEquals(c!.arraySync(), [1, 2]);
  c!.dispose();
  assertEquals([count(), tf.memory().numBytes], [before, bytes]);
});

testOnDevices("what scripts, conditions and datasets capture counts no more either", async () => {
  const before = count();
  {
    using _scope = tf.scope();
    const c = tf.tensor([1, 2]),
      doubled = tf.data.range(2).map((x) => tf.mul(tf.cast(x, "float32"), c));
    for await (const e of doubled) tf.dispose(e);
    tf.pyFunction((a: tf.Tensor) => tf.function((b: tf.Tensor) => tf.add(a, b))(a), [c], "float32");
    tf.function((p: tf.Tensor) => tf.cond(p, () => tf.neg(c), () => c))(tf.scalar(true));
    tf.function((x: tf.Tensor) =>
      tf.customGrad((a) => ({ value: tf.square(a), gradFunc: (dy) => dy }))(tf.add(c, x))
    )(c);
    assertThrows(() => tf.function(() => tf.customGrad(() => refuse())(c))(), Error, "refused");
  }
  assertEquals(count(), before);
});

function refuse(): never {
  throw new Error("refused");
}

/** Control flow over `x`, whose function does to a tensor what `f` does. */
type Flow = (f: (t: tf.Tensor) => tf.Tensor, x: tf.Tensor) => unknown;
const is = (t: tf.Tensor): tf.Tensor => t;
const FLOWS: Readonly<Record<string, Flow>> = {
  cond: (f, x) => tf.cond(true, () => f(x), () => x),
  "cond of a literal": (f, x) => tf.cond(0 as unknown as boolean, () => x, () => f(x)),
  case: (f, x) => tf.case([[false, () => x], [true, () => f(x)]], { default: () => x }),
  "case without a default": (f, x) => tf.case([[false, () => x], [true, () => f(x)]]),
  "case, exclusive": (f, x) => tf.case([[false, () => x], [true, () => f(x)]], { exclusive: true }),
  switchCase: (f, x) => tf.switchCase(1, [() => x, () => f(x), () => x]),
  "switchCase of no branch": (f, x) => tf.switchCase(-1, [() => x, () => x, () => f(x)]),
  "switchCase with a default": (f, x) => tf.switchCase(9, [() => x], { default: () => f(x) }),
  whileLoop: (f, x) => tf.whileLoop((i) => tf.less(i, 3), (i, y) => [tf.add(i, 1), f(y)], [0, x]),
  mapFn: (f, x) => tf.mapFn((row) => f(tf.neg(row)), x),
  scan: (f, x) => tf.scan((a, row) => f(tf.add(a, row)), x),
  foldl: (f, x) => tf.foldl((a, row) => f(tf.add(a, row)), x),
  foldr: (f, x) => tf.foldr((a, row) => f(tf.add(a, row)), x),
  pyFunction: (f, x) => tf.pyFunction((a: tf.Tensor) => f(tf.neg(a)), [x], "float32"),
  numpyFunction: (f, x) => tf.numpyFunction((a: tf.NdArray) => (f(x), a), [x], "float32"),
  customGrad: (f, x) => tf.customGrad((a) => ({ value: f(tf.neg(a)), gradFunc: (dy) => dy }))(x),
  "grad of customGrad": (f, x) =>
    tf.grad(tf.customGrad((a) => ({ value: tf.sum(a), gradFunc: (dy) => f(tf.mul(dy, a)) })))(x),
  grad: (f, x) => tf.grad((a) => tf.sum(tf.square(f(a))))(x),
  gradient: (f, x) =>
    tf.tidy(() => {
      using tape = new tf.GradientTape();
      tape.watch(x);
      return tape.gradient(tf.sum(f(tf.square(x))), x);
    }),
  jacobian: (f, x) =>
    tf.tidy(() => {
      using tape = new tf.GradientTape();
      tape.watch(x);
      return tape.jacobian(f(tf.square(x)), x);
    }),
};

for (const [name, flow] of Object.entries(FLOWS)) {
  testOnDevices(`${name} leaves nothing but what it gives, also where its function throws`, () => {
    using x = tf.tensor([1, 2, 3]);
    const fails = (): tf.Tensor => refuse();
    const compiled = tf.function(() => flow(is, x)),
      ways = { eager: flow, compiled: () => compiled() };
    for (const taped of [false, true]) {
      for (const [way, run] of Object.entries(ways)) {
        const left = [is, fails].map((f) => {
          if (way === "compiled" && f === fails) return 0;
          const call = (): void => {
            using tape = taped ? new tf.GradientTape() : null;
            tape?.watch(x);
            if (f === fails) assertThrows(() => run(f, x), Error, "refused");
            else {
              const y = run(f, x);
              for (const t of [y].flat()) if (t !== x) tf.dispose(t);
            }
          };
          call();
          const before = count();
          call();
          return count() - before;
        });
        assertEquals(left, [0, 0], `${way}${taped ? ", taped" : ""}`);
      }
    }
  });
}
