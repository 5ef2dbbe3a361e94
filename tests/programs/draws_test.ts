/**
 * Random numbers, wherever they are drawn, are the same for a result and for its gradients: of a product of x and draws, the gradient times x is
 * the product.
 */
import * as tf from "@weft/weft";
import { assert } from "@std/assert";
import { testOnDevices } from "../devices.ts";
import { Turns } from "../effort.ts";

type Draw = () => tf.Tensor;
type Fn = (x: tf.Tensor) => tf.Tensor;

const ZERO = (): tf.Tensor => tf.constant(0, "int32");
const generator = tf.random.Generator.fromSeed(1);

/** Numbers above 0. */
const DRAWS: Readonly<Record<string, Draw>> = {
  "even numbers": () => tf.randomUniform([], 0.5, 2),
  "normal numbers": () => tf.add(tf.exp(tf.random.normal([])), 0.5),
  "a dropout": () => tf.add(tf.sum(tf.dropout(tf.ones([8]), 0.5)), 1),
  "a generator": () => tf.add(generator.uniform([]), 0.5),
  "Poisson numbers": () => tf.add(tf.random.poisson([], 5), 1),
  "a shuffle": () => tf.gather(tf.random.shuffle(tf.range(1, 9)), 0),
  "a class": () =>
    tf.add(tf.cast(tf.reshape(tf.multinomial(tf.zeros([1, 9]), 1), []), "float32"), 1),
  "a numpyFunction": () =>
    tf.ensureShape(
      tf.numpyFunction(() => Math.random() + 0.5, [], "float32") as tf.Tensor,
      [],
    ),
  "a pyFunction": () =>
    tf.ensureShape(
      tf.pyFunction(() => tf.scalar(Math.random() + 0.5), [], "float32") as tf.Tensor,
      [],
    ),
};

/** Functions of x that draw somewhere. */
const PLACES: Readonly<Record<string, (draw: Draw) => Fn>> = {
  "a function": (draw) => (x) => tf.mul(tf.mul(x, draw()), draw()),
  "a loop": (draw) => (x) =>
    tf.whileLoop(
      (i: tf.Tensor) => tf.less(i, 3),
      (i: tf.Tensor, y: tf.Tensor) => [tf.add(i, 1), tf.mul(y, draw())],
      [ZERO(), x],
    )[1] as tf.Tensor,
  "a loop that values end": (draw) => (x) =>
    tf.whileLoop(
      (i: tf.Tensor, y: tf.Tensor) => tf.logicalAnd(tf.less(i, 4), tf.less(tf.abs(y), 1e3)),
      (i: tf.Tensor, y: tf.Tensor) => [tf.add(i, 1), tf.mul(y, draw())],
      [ZERO(), x],
    )[1] as tf.Tensor,
  "a branch": (draw) => (x) =>
    tf.cond(tf.greater(x, 0), () => tf.mul(x, draw()), () => x) as tf.Tensor,
  "a branch of several": (draw) => (x) =>
    tf.switchCase(tf.constant(1, "int32"), [() => x, () => tf.mul(x, draw())]) as tf.Tensor,
  "a scan": (draw) => (x) =>
    tf.gather(
      tf.scan((a: tf.Tensor, e: tf.Tensor) => tf.mul(tf.mul(a, e), draw()), tf.ones([3]), {
        initializer: x,
      }) as tf.Tensor,
      2,
    ),
  "a map of rows": (draw) => (x) =>
    tf.sum(tf.mapFn((e: tf.Tensor) => tf.mul(tf.mul(e, x), draw()), tf.ones([3])) as tf.Tensor),
  "a map of all rows": (draw) => (x) =>
    tf.sum(
      tf.vectorizedMap((e: tf.Tensor) => tf.mul(tf.mul(e, x), draw()), tf.ones([3])) as tf.Tensor,
    ),
  "a function that is called twice": (draw) => {
    const inner = tf.function((x: tf.Tensor) => tf.mul(x, draw()));
    return (x) => inner(inner(x) as tf.Tensor) as tf.Tensor;
  },
  "a branch in a loop": (draw) => (x) =>
    tf.whileLoop(
      (i: tf.Tensor) => tf.less(i, 3),
      (i: tf.Tensor, y: tf.Tensor) => [
        tf.add(i, 1),
        tf.cond(tf.equal(i, 1), () => tf.mul(y, draw()), () => tf.mul(y, tf.add(draw(), 1))),
      ],
      [ZERO(), x],
    )[1] as tf.Tensor,
  "a script": (draw) => (x) =>
    tf.ensureShape(
      tf.pyFunction((y: tf.Tensor) => tf.mul(y, draw()), [x], "float32") as tf.Tensor,
      [],
    ),
  "a gradient of one's own": (draw) => (x) =>
    tf.customGrad((y: tf.Tensor, save: (ts: tf.Tensor[]) => void) => {
      const r = draw();
      save([r]);
      return {
        value: tf.mul(y, r),
        gradFunc: (dy: tf.Tensor, [saved]: tf.Tensor[]) => tf.mul(dy, saved),
      };
    })(x),
};

/** The square of f(x) and its gradients of first and second order. */
function derived(f: Fn): (x: tf.Tensor) => tf.Tensor[] {
  return (x) => {
    using outer = new tf.GradientTape();
    outer.watch(x);
    const [y, g] = ((): tf.Tensor[] => {
      using inner = new tf.GradientTape();
      inner.watch(x);
      const y = tf.square(f(x));
      return [y, inner.gradient(y, x) as tf.Tensor];
    })();
    return [y, g, outer.gradient(g, x) as tf.Tensor];
  };
}

const X = 1.5;
type Way = (f: (x: tf.Tensor) => tf.Tensor[]) => Promise<number[]>;

const valuesOf = (ts: readonly tf.Tensor[]): Promise<number[]> =>
  Promise.all(ts.map(async (t) => (await t.data())[0] as number));

const WAYS: Readonly<Record<string, Way>> = {
  "eagerly": (f) => valuesOf(f(tf.constant(X))),
  "compiled": async (f) =>
    await valuesOf(
      await tf.function((x: tf.Tensor) => f(x)).async(tf.constant(X)) as tf.Tensor[],
    ),
  "in a session": async (f) => {
    const graph = new tf.Graph();
    const [x, ys] = graph.asDefault(() => {
      const x = tf.placeholder("float32", []);
      return [x, f(x)] as const;
    });
    await using session = new tf.Session({ graph });
    return await session.run([...ys], { feeds: new Map([[x, X]]) }) as number[];
  },
};

const turns = new Turns();

for (const [place, put] of Object.entries(PLACES)) {
  testOnDevices(`draws in ${place} are those of the gradients`, async () => {
    for (const [way, run] of Object.entries(WAYS)) {
      // A graph of a session has variables of its own.
      const names = Object.keys(DRAWS).filter((n) => n !== "a generator" || way !== "in a session");
      for (const name of turns.of(names)) {
        using _ = tf.scope();
        const [y, first, second] = await run(derived(put(DRAWS[name])));
        const what = `${name} in ${place}, ${way}: ${[y, first, second]}`;
        assert(Math.abs(first * X / 2 - y) < 1e-4 * y, what);
        assert(Math.abs(second * X * X / 2 - y) < 1e-3 * y, what);
      }
    }
  });
}
