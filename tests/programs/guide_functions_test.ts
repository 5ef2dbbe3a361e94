/** First steps from guides to functions and control flow: loops, branches, state, nests, polymorphism. */

import * as tf from "@weft/weft";
import { after, ONLY_STEP, testPrograms } from "./harness.ts";
import { gradient } from "./network.ts";

type T = tf.Tensor;
const int = (x: number): T => tf.scalar(x, "int32");

testPrograms([
  {
    name: "guide: how many steps until 1",
    inputs: { n: { below: 97, shape: [] } },
    without: ONLY_STEP,
    build: () => ({ n }) => {
      const [, steps, highest] = tf.whileLoop(
        (n) => tf.greater(n, 1),
        (n, steps, highest) => {
          const next = tf.cond(
            tf.equal(tf.mod(n, 2), 0),
            () => tf.floorDiv(n, 2),
            () => tf.add(tf.mul(n, 3), 1),
          );
          return [next, tf.add(steps, 1), tf.maximum(highest, next)];
        },
        [tf.add(n, 2), int(0), tf.add(n, 2)],
      );
      return { steps, highest };
    },
  },
  {
    name: "guide: fizz and buzz, written to an array of tensors",
    without: ONLY_STEP,
    build: () => () => {
      const divides = (i: T, by: number): T => tf.equal(tf.mod(i, by), 0);
      const [, said] = tf.whileLoop(
        (i) => tf.lessEqual(i, 15),
        (i, said) => [
          tf.add(i, 1),
          said.write(
            tf.sub(i, 1),
            tf.case([
              [tf.logicalAnd(divides(i, 3), divides(i, 5)), () => int(-3)],
              [divides(i, 3), () => int(-1)],
              [divides(i, 5), () => int(-2)],
            ], { default: () => tf.identity(i) }),
          ),
        ],
        [int(1), new tf.TensorArray("int32", 15, { elementShape: [] })] as [T, tf.TensorArray],
      );
      return { said: said.stack() };
    },
  },
  {
    name: "guide: a recurrent cell over the steps of a sequence",
    variables: { w: [4, 3], u: { shape: [3, 3], scale: 0.3 } },
    inputs: { x: [2, 5, 4] },
    without: ONLY_STEP,
    build: ({ v: { w, u } }) => {
      const run = tf.function((sequence: T) => {
        const input = tf.transpose(sequence, [1, 0, 2]),
          length = tf.slice(tf.shape(input), [0], [1]);
        const [, state, states] = tf.whileLoop(
          (i) => tf.less(i, tf.reshape(length, [])),
          (i, state, states) => {
            const next = tf.tanh(tf.add(tf.matMul(tf.gather(input, i), w), tf.matMul(state, u)));
            return [tf.add(i, 1), next, states.write(i, next)];
          },
          [
            int(0),
            tf.zeros([2, 3]),
            new tf.TensorArray("float32", 0, {
              dynamicSize: true,
              elementShape: [2, 3],
            }),
          ] as [T, T, tf.TensorArray],
        );
        return { state, states: tf.transpose(states.stack(), [1, 0, 2]) };
      });
      return ({ x }) => {
        const tape = new tf.GradientTape();
        const { state, states } = run(x);
        const total = tf.add(tf.sum(state), tf.mean(tf.square(states)));
        return { states, du: gradient(tape, total, u) };
      };
    },
  },
  {
    name: "guide: leaving a loop early, and skipping turns",
    inputs: { x: { shape: [12], scale: 3 } },
    without: ONLY_STEP,
    build: () => ({ x }) => {
      // Sums what is positive, and stops when the sum is above 5.
      const [at, sum] = tf.whileLoop(
        (i, sum) => tf.logicalAnd(tf.less(i, 12), tf.lessEqual(sum, 5)),
        (i, sum) => {
          const value = tf.gather(x, i);
          return [
            tf.add(i, 1),
            tf.cond(tf.less(value, 0), () => tf.identity(sum), () => tf.add(sum, value)),
          ];
        },
        [int(0), tf.scalar(0)],
        { maximumIterations: 9 },
      );
      return { at, sum };
    },
  },
  {
    name: "guide: a shape that grows from turn to turn",
    inputs: { x: [2, 2] },
    without: ONLY_STEP,
    build: () => ({ x }) => {
      const [, grown] = tf.whileLoop(
        (i) => tf.less(i, 3),
        (i, m) => [tf.add(i, 1), tf.concat([m, tf.mul(m, 2)], 0)],
        [int(0), x],
        { shapeInvariants: [[], [null, 2]] },
      );
      return { grown, rows: tf.gather(tf.shape(grown), 0) };
    },
  },
  {
    name: "guide: powers by a function that calls a function",
    inputs: { x: { shape: [3], offset: 1.5 }, n: { below: 6, shape: [] } },
    without: ONLY_STEP,
    build: () => {
      const square = tf.function((x: T) => tf.mul(x, x));
      const power = tf.function((x: T, n: T) =>
        tf.whileLoop(
          (n) => tf.greater(n, 0),
          (n, base, result) => [
            tf.floorDiv(n, 2),
            square(base),
            tf.cond(tf.equal(tf.mod(n, 2), 1), () => tf.mul(result, base), () => result),
          ],
          [n, x, tf.onesLike(x)],
        )[2]
      );
      return ({ x, n }) => {
        const tape = new tf.GradientTape();
        tape.watch(x);
        const y = power(x, n);
        return { y, dx: gradient(tape, y, x) };
      };
    },
  },
  {
    name: "guide: one function for several dtypes and shapes",
    inputs: { x: [2, 3], i: { below: 7, shape: [4] } },
    without: ONLY_STEP,
    build: () => {
      const double = tf.function((a: T) => tf.add(a, a));
      return ({ x, i }) => ({
        x: double(x),
        i: double(i),
        row: double(tf.gather(x, 1)),
        wide: double(tf.cast(x, "float64")),
        traces: tf.scalar(0 * double.traceCount),
      });
    },
  },
  {
    name: "guide: a counter that a function keeps, and effects in the order they are written",
    variables: { count: { values: [0], shape: [], dtype: "int32" }, a: { values: [1, 2] } },
    inputs: { b: [2] },
    without: ONLY_STEP,
    build: ({ v: { count, a }, effect }) => {
      return ({ b }) => {
        const first = effect(count.assignAdd(1));
        const taken = effect(after([first], () => a.assign(tf.mul(a, b))));
        const last = effect(after([taken], () => a.assignAdd(b)));
        return after([last], () => ({ count: tf.add(count, 0), a: tf.add(a, 0) }));
      };
    },
  },
  {
    name: "guide: branches that change state, and give nests",
    variables: { hits: { values: [0], shape: [] }, misses: { values: [0], shape: [] } },
    inputs: { x: { shape: [], scale: 2 } },
    without: ONLY_STEP,
    build: ({ v: { hits, misses } }) => ({ x }) => {
      const { value, more } = tf.cond(
        tf.greater(x, 0),
        () => {
          hits.assignAdd(1);
          return { value: tf.sqrt(x), more: [tf.mul(x, 2), tf.scalar(1)] };
        },
        () => {
          misses.assignAdd(tf.abs(x));
          return { value: tf.square(x), more: [tf.neg(x), tf.scalar(-1)] };
        },
      );
      const counts = after([value], () => ({ hits: tf.add(hits, 0), misses: tf.add(misses, 0) }));
      return { value, m0: more[0], m1: more[1], ...counts };
    },
  },
  {
    name: "guide: one of several branches by number, outside of the range too",
    inputs: { x: { shape: [2], offset: 1 }, k: { below: 5, shape: [] } },
    without: ONLY_STEP,
    build: () => ({ x, k }) => {
      const tape = new tf.GradientTape();
      tape.watch(x);
      const y = tf.switchCase(tf.sub(k, 1), [
        () => tf.square(x),
        () => tf.exp(x),
        () => tf.log(x),
      ]);
      return { y, dx: gradient(tape, y, x) };
    },
  },
  {
    name: "guide: maps, scans and folds of nests",
    inputs: { x: [4, 3], y: { shape: [4], offset: 1 } },
    without: ONLY_STEP,
    build: () => ({ x, y }) => {
      const pairs = tf.mapFn(({ a, b }) => ({
        scaled: tf.mul(a, b),
        most: tf.argMax(a),
      }), { a: x, b: y });
      const [fib] = tf.scan(([a, b]) => [b, tf.add(a, b)], tf.range(0, 8), {
        initializer: [tf.scalar(0), tf.scalar(1)],
      }) as T[];
      const means = tf.scan((mean, row) => tf.add(tf.mul(mean, 0.5), tf.mul(row, 0.5)), x) as T;
      const longest = tf.foldl(
        (best, row) => tf.cond(tf.greater(tf.norm(row), tf.norm(best)), () => row, () => best),
        x,
      ) as T;
      const { scaled, most } = pairs;
      return { scaled, most: tf.cast(most, "int32"), fib, means, longest };
    },
  },
  {
    name: "guide: what a function captures is read when it runs",
    variables: { scale: { values: [2], shape: [] } },
    inputs: { x: [3] },
    without: ONLY_STEP,
    build: ({ v: { scale }, effect }) => {
      const times = tf.function((x: T) => tf.mul(x, scale));
      return ({ x }) => {
        const before = times(x);
        const done = effect(after([before], () => scale.assignAdd(1)));
        return { before, behind: after([done], () => times(x)) };
      };
    },
  },
  {
    name: "guide: a fixed signature takes any length",
    inputs: { x: [5], y: [2] },
    without: ONLY_STEP,
    build: () => {
      const center = tf.function((x: T) => tf.sub(x, tf.mean(x)), {
        inputSignature: [tf.TensorSpec([null], "float32")],
      });
      return ({ x, y }) => {
        const found = { x: center(x), y: center(y), both: center(tf.concat([x, y])) };
        return { ...found, traces: tf.scalar(center.traceCount) };
      };
    },
  },
  {
    name: "guide: checks inside of functions let what is right pass",
    inputs: { x: { shape: [3], offset: 2 } },
    without: ONLY_STEP,
    build: () => {
      const root = tf.function((x: T) => {
        tf.debugging.assertPositive(x);
        tf.debugging.assertShapes([[x, ["n"]]]);
        return tf.debugging.checkNumerics(tf.sqrt(x), "no roots");
      });
      return ({ x }) => ({ root: root(x) });
    },
  },
]);
