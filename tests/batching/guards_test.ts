/** Rows that do not go a way of a branch or a loop are kept from what it refuses and from what has no derivative. */
import { assertEquals, assertThrows } from "@std/assert";
import * as tf from "@weft/weft";
import { testOnDevices } from "../devices.ts";

type Fn = (x: tf.Tensor) => tf.Tensor;

const whole = (x: tf.Tensor): tf.Tensor => tf.cast(x, "int32");

/** Functions of a number, one side of which only some numbers may go. */
const BRANCHES: Readonly<Record<string, Fn>> = {
  "an index": (x) =>
    tf.cond(
      tf.less(tf.abs(x), 2),
      () => tf.add(x, tf.gather([5, 6], whole(tf.abs(x)))),
      () => tf.mul(x, 2),
    ),
  "a whole quotient": (x) =>
    tf.cond(
      tf.notEqual(x, 0),
      () => tf.add(x, tf.cast(tf.floorDiv(12, whole(x)), "float32")),
      () => tf.mul(x, 2),
    ),
  "a scatter": (x) =>
    tf.cond(
      tf.less(tf.abs(x), 2),
      () => tf.sum(tf.scatterND(tf.reshape(whole(tf.abs(x)), [1, 1]), tf.reshape(x, [1]), [2])),
      () => tf.mul(x, 2),
    ),
  "numbers that are checked": (x) =>
    tf.cond(
      tf.greater(x, 0),
      () => tf.debugging.checkNumerics(tf.sqrt(x), "of a root"),
      () => tf.neg(x),
    ),
  "a script of all rows": (x) =>
    tf.cond(tf.greater(x, 0), () =>
      tf.numpyFunction(
        (a) => {
          if ([...a.data].some((v) => !(Number(v) > 0))) {
            throw new TypeError("Received no positive number");
          }
          return a;
        },
        [x],
        tf.TensorSpec([], "float32"),
        { stateful: false, shapeFn: (s) => s, vjp: (_, dy) => [dy] },
      ), () => tf.neg(x)),
  "a logarithm": (x) => tf.cond(tf.greater(x, 0), () => tf.log(x), () => tf.mul(x, 2)),
  "a quotient": (x) => tf.cond(tf.notEqual(x, 0), () => tf.div(1, x), () => tf.mul(x, 2)),
  "a power": (x) => tf.cond(tf.greater(x, 0), () => tf.pow(x, 0.5), () => tf.mul(x, 2)),
  "a norm": (x) => tf.cond(tf.notEqual(x, 0), () => tf.norm(tf.stack([x, x])), () => tf.sin(x)),
  "an exponential": (x) =>
    tf.cond(tf.less(x, 50), () => tf.log(tf.add(1, tf.exp(x))), () => tf.mul(x, 1)),
  "a branch in a branch": (x) =>
    tf.cond(
      tf.greater(x, 0),
      () => tf.cond(tf.less(x, 2), () => tf.log(tf.sub(2, x)), () => tf.sqrt(tf.sub(x, 2))),
      () => tf.sin(x),
    ),
  "a branch in a loop": (x) =>
    tf.whileLoop(
      (i: tf.Tensor) => tf.less(i, 2),
      (i: tf.Tensor, a: tf.Tensor) => [
        tf.add(i, 1),
        tf.cond(tf.greater(a, 0), () => tf.log(a), () => tf.sub(a, 1)),
      ],
      [tf.scalar(0, "int32"), x],
    )[1]!,
  "a loop that ends by the row": (x) =>
    tf.whileLoop(
      (a: tf.Tensor) => tf.greater(a, 1),
      (a: tf.Tensor) => [tf.pow(tf.sub(a, 1), 0.5)],
      [x],
    )[0]!,
  "a walk along indices": (x) =>
    tf.whileLoop(
      (at: tf.Tensor) => tf.greaterEqual(at, 0),
      (at: tf.Tensor, sum: tf.Tensor) => [
        tf.gather(tf.tensor([-1, 0, 1], [3], "int32"), at),
        tf.add(tf.mul(sum, 3), x),
      ],
      [whole(tf.clipByValue(x, -1, 2)), x],
    )[1]!,
  "results of other extents": (x) =>
    tf.sum(tf.cond(tf.greater(x, 0), () => tf.stack([x, x]), () => tf.stack([x, x, x]))),
};

const NUMBERS: readonly (readonly number[])[] = [[4, -1, 0, 100, 1.25], [-3, -1], [3, 5]];

const same = async (found: tf.Tensor, wanted: readonly number[], of: string): Promise<void> => {
  const list = Array.from(await found.data(), Number);
  const isNear = (v: number, i: number): boolean => {
    const w = wanted[i]!;
    return Object.is(v, w) || Math.abs(v - w) <= 1e-4 * (1 + Math.abs(w));
  };
  if (list.length !== wanted.length || !list.every(isNear)) assertEquals(list, wanted, of);
};

for (const [name, fn] of Object.entries(BRANCHES)) {
  // Rows of other extents have no tensor: all but the sum of these may be there.
  const stacks = name !== "results of other extents";
  testOnDevices(`vmap() keeps rows from ${name} as mapFn() does`, async () => {
    for (const numbers of stacks ? NUMBERS : NUMBERS.slice(1)) {
      using _scope = tf.scope();
      const x = tf.tensor([...numbers]), total = (x: tf.Tensor) => tf.sum(tf.vmap(fn)(x));
      const rows = numbers.map((v) => fn(tf.scalar(v)).dataSync()[0]! as number);
      const slopes = numbers.map((v) => tf.grad(fn)(tf.scalar(v)).dataSync()[0]! as number);
      const open = { inputSignature: [tf.TensorSpec([null], "float32")] };
      await same(tf.vmap(fn)(x), rows, "eagerly");
      await same(await tf.function(tf.vmap(fn), open).async(x), rows, "in a function");
      await same(tf.grad(total)(x), slopes, "a gradient around it");
      await same(await tf.function(tf.grad(total), open).async(x), slopes, "its function");
      await same(tf.vmap(tf.grad(fn))(x), slopes, "a gradient in it");
      await same(tf.jvp(tf.vmap(fn), [x], [tf.onesLike(x)])[1], slopes, "forward");
    }
  });
}

/** Functions of a vector of unknown length, which a script gives. */
const OPEN: Readonly<Record<string, Fn>> = {
  "a largest element": (x) => tf.max(x),
  "a mean": (x) => tf.mean(x),
  "a norm": (x) => tf.norm(x),
  "a log of sums": (x) => tf.logSumExp(x),
  "a rank": (x) => tf.rank(x),
  "a transpose": (x) => tf.transpose(x),
  "any and all": (x) => tf.logicalAnd(tf.any(tf.greater(x, 0)), tf.all(tf.less(x, 4))),
  "a gradient": (x) => tf.grad((v) => tf.sum(tf.square(v)))(x),
};

for (const [name, fn] of Object.entries(OPEN)) {
  testOnDevices(`vmap() computes ${name} of rows of unknown rank`, async () => {
    using _scope = tf.scope();
    const opened = (x: tf.Tensor) =>
      fn(tf.pyFunction((a: tf.Tensor) => tf.abs(a), [x], tf.TensorSpec(null, "float32")));
    const rows = [[1, -2], [3, 4]], x = tf.tensor(rows);
    const wanted = await Promise.all(rows.map((row) => opened(tf.tensor(row)).array()));
    assertEquals(await tf.vmap(opened)(x).array(), wanted);
    assertEquals(await (await tf.function(tf.vmap(opened)).async(x)).array(), wanted);
  });
}

testOnDevices(
  "vmap() and vectorizedMap() run over the first axis of what has an unknown rank",
  async () => {
    const spec = new tf.TensorSpec(null, "float32"), rows = [[3, 1, 2], [4, 0, 9]];
    const fns: readonly Fn[] = [
      (x) => tf.add(tf.mul(x, 2), 1),
      (x) => tf.sum(x),
      (x) => tf.sort(x),
    ];
    for (const f of fns) {
      const all = (x: tf.Tensor): tf.Tensor[] => [
        tf.vmap(f)(x) as tf.Tensor,
        tf.vectorizedMap(f, x) as tf.Tensor,
        tf.grad((x: tf.Tensor) => tf.sum(tf.square(tf.vmap(f)(x) as tf.Tensor)))(x),
      ];
      const run = tf.function(all, { inputSignature: [spec] });
      for (const given of [rows, [[1, 2]], [5, 6]]) {
        const x = tf.tensor(given);
        const isOfScalars = !Array.isArray(given[0]) && f === fns[2];
        if (isOfScalars) continue;
        const found = await run.async(x) as tf.Tensor[];
        for (const [i, wanted] of all(x).entries()) {
          assertEquals(await found[i]!.array(), await wanted.array());
        }
      }
    }
    const scaled = tf.vmap((a: tf.Tensor, b: tf.Tensor) => tf.mul(a, b), { inAxes: [0, null] });
    const run = tf.function((x: tf.Tensor, y: tf.Tensor) => scaled(x, y), {
      inputSignature: [spec, spec],
    });
    const y = await run.async(tf.tensor([1, 2]), tf.tensor([1, 10])) as tf.Tensor;
    assertEquals(await y.array(), [[1, 10], [2, 20]]);
    const last = tf.function((x: tf.Tensor) => tf.vmap(fns[0]!, { inAxes: 1 })(x) as tf.Tensor, {
      inputSignature: [spec],
    });
    assertThrows(
      () => last(tf.tensor(rows)),
      tf.ValueError,
      "over axis 1 of tensor 0: its rank",
    );
  },
);
