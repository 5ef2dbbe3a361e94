/** Vectorised scripts in mapFn: one call of a body for its rows, in functions and sessions, on both devices, with gradients. */
import * as tf from "@weft/weft";
import { assert, assertEquals, assertMatch } from "@std/assert";
import { fileName, testOnDevices } from "../../devices.ts";
import { errorOf, open, plain } from "../helpers.ts";
import { cube, double, OPTIONS, ROW, taken, X } from "./bodies.ts";

type Fn = (row: tf.Tensor) => tf.Tensor;

/** A function of rows, what it computes without scripts, and the batches that its bodies get in mapFn. */
interface Case {
  readonly name: string;
  readonly row: Fn;
  readonly plain: Fn;
  readonly calls: readonly string[];
}

const w = tf.variable([10, 20]);
const CASES: readonly Case[] = [
  {
    name: "alone",
    row: double,
    plain: (x) => tf.mul(x, 2),
    calls: ["3x2"],
  },
  {
    name: "with a body of tensors",
    row: cube,
    plain: (x) => tf.pow(x, 3),
    calls: ["3x2"],
  },
  {
    name: "between kernels, one after another",
    row: (x) => tf.add(cube(tf.add(double(tf.sub(x, 1)), x)), x),
    plain: (x) => tf.add(tf.pow(tf.sub(tf.mul(x, 3), 2), 3), x),
    calls: ["3x2", "3x2"],
  },
  {
    name: "in a branch, beside variables",
    row: (x) =>
      tf.cond(
        tf.greater(tf.sum(x), 5),
        () => tf.mul(w, cube(tf.mul(x, 2))),
        () => double(x),
      ),
    plain: (x) =>
      tf.where(tf.greater(tf.sum(x), 5), tf.mul(w, tf.mul(8, tf.pow(x, 3))), tf.mul(2, x)),
    calls: ["2x2", "1x2"],
  },
  {
    name: "in a loop that ends for some rows before others",
    row: (x) => tf.whileLoop((v) => tf.less(tf.sum(v), 20), (v) => [double(v)], [x])[0],
    plain: (x) => tf.whileLoop((v) => tf.less(tf.sum(v), 20), (v) => [tf.mul(v, 2)], [x])[0],
    calls: ["3x2", "2x2", "1x2"],
  },
  {
    name: "in a function that the row calls",
    row: tf.function((x: tf.Tensor) => tf.add(cube(x), 1)) as Fn,
    plain: (x) => tf.add(tf.pow(x, 3), 1),
    calls: ["3x2"],
  },
  {
    name: "before constants that wait for it",
    row: (x) => {
      const after = tf.controlDependencies([double(x)], () => tf.constant([1, 3]));
      return tf.add(cube(tf.mul(x, after)), after);
    },
    plain: (x) => tf.add(tf.pow(tf.mul(x, [1, 3]), 3), [1, 3]),
    calls: ["3x2", "3x2"],
  },
];

for (const c of CASES) {
  testOnDevices(
    `a vectorised script in the rows of mapFn() is called once, ${c.name}`,
    async () => {
      const x = tf.tensor(X), weight = tf.tensor([[1, 2], [3, 4], [5, 7]]);
      const of = (row: Fn) => tf.function((x: tf.Tensor) => tf.mapFn(row, x)) as Fn;
      const [mapped, wanted] = [of(c.row), of(c.plain)];
      taken();
      const expected = wanted(x).arraySync();
      assertEquals(mapped(x).arraySync(), expected);
      assertEquals(taken(), c.calls);

      const gradient = (f: Fn) => tf.grad((x: tf.Tensor) => tf.sum(tf.mul(weight, f(x))));
      const slope = gradient(wanted)(x).arraySync();
      assertEquals(gradient(mapped)(x).arraySync(), slope);
      assertEquals(taken(), c.calls);

      const second = (f: Fn) => tf.grad((x: tf.Tensor) => tf.sum(gradient(f)(x)))(x).arraySync();
      if (c.name !== "alone") assertEquals(second(mapped), second(wanted));
      taken();

      await using g = open(() => {
        const x = tf.placeholder("float32", [null, 2], "x"), y = tf.mapFn(c.row, x);
        return [y, tf.gradients(tf.mul(y, weight), [x])[0]!];
      });
      assertEquals(plain(await g.sess.run(g.parts, { feeds: { "x:0": X } })), [expected, slope]);
      assertEquals(taken(), c.calls);
      assertEquals(plain(await g.sess.run(g.parts[0]!, { feeds: { "x:0": [] } })), []);
      assertEquals(taken(), []);
    },
  );
}

testOnDevices("a vectorised script reads the device once for all rows", async () => {
  await using g = open(() => {
    const x = tf.placeholder("float32", [null, 2], "x");
    return tf.mapFn((row) => tf.add(double(tf.mul(row, 3)), 1), x);
  });
  const metadata: Partial<tf.RunMetadata> = {};
  await g.sess.run(g.parts, { feeds: { "x:0": X }, metadata });
  assertEquals(metadata.hostCalls, 1);
  // What comes back, and before that what the body reads.
  assertEquals(metadata.readbacks, tf.getBackend() === "webgpu" ? 2 : 0);
  taken();
});

testOnDevices("vectorised scripts leave no tensors behind", async () => {
  const f = tf.function((x: tf.Tensor) => tf.mapFn(CASES[2]!.row, x)) as Fn;
  const g = tf.grad((x: tf.Tensor) => tf.sum(tf.mapFn(CASES[3]!.row, x)));
  const run = (): void =>
    tf.tidy(() => {
      f(tf.tensor(X));
      (tf.function(g as Fn) as Fn)(tf.tensor(X));
    });
  run();
  const { numTensors } = tf.memory();
  run();
  assertEquals(tf.memory().numTensors, numTensors);
  const bad = tf.function((x: tf.Tensor) =>
    tf.mapFn((row) =>
      tf.pyFunction(
        (x: tf.Tensor) => {
          if (x.shape[0] === 3) throw new RangeError("too many");
          return x;
        },
        [double(row)],
        ROW,
        OPTIONS,
      ), x)
  );
  const error = await errorOf(() => tf.tidy(() => void bad(tf.tensor(X))));
  assert(error instanceof tf.errors.InvalidArgumentError);
  assertMatch(error.message, /too many/);
  assertMatch(error.message, new RegExp(fileName(import.meta.url)));
  assertEquals(error.node, "EagerPyFunc");
  assertEquals([tf.memory().numTensors, taken().at(-1)], [numTensors, "3x2"]);
});

testOnDevices("a loop around a vectorised script keeps nothing of its earlier turns", () => {
  const counts: number[] = [];
  const body = (x: tf.Tensor): tf.Tensor => {
    counts.push(tf.memory().numDataBuffers);
    return tf.mul(x, 2);
  };
  const f = tf.function((x: tf.Tensor) =>
    tf.mapFn(
      (row) =>
        tf.whileLoop(
          (i, v) => tf.logicalAnd(tf.less(i, 20), tf.greater(tf.sum(double(v)), 0)),
          (i, v) => [tf.add(i, 1), tf.mul(tf.pyFunction(body, [tf.mul(v, 1)], ROW, OPTIONS), 0.5)],
          [tf.scalar(0, "int32"), row],
        )[1],
      x,
    )
  ) as Fn;
  using _scope = tf.scope();
  assertEquals(f(tf.tensor(X)).arraySync(), X);
  assertEquals(counts.length, 20);
  assertEquals(counts[19], counts[1]);
  taken();
});
