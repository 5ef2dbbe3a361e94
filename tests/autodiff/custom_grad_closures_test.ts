/** Gradient functions of customGrad() close over what their function made: the value, steps on the way, tensors from around. */
import * as tf from "@weft/weft";
import { assertAlmostEquals, assertEquals, assertThrows } from "@std/assert";
import { testOnDevices } from "../devices.ts";

type T = tf.Tensor;
type Op = (x: T) => T;

const three = tf.keep(tf.scalar(3));
/** x³ with the gradient 3x² and the second derivative 6x, whatever is closed over. */
const CUBES: Record<string, Op> = {
  "what was made on the way": tf.customGrad((x) => {
    const square = tf.mul(x, x);
    return { value: tf.mul(square, x), gradFunc: (dy) => tf.mul(dy, tf.mul(square, 3)) };
  }),
  "the value": tf.customGrad((x) => {
    const value = tf.mul(tf.mul(x, x), x);
    return { value, gradFunc: (dy) => tf.mul(dy, tf.mul(3, tf.square(tf.pow(value, 1 / 3)))) };
  }),
  "the input": tf.customGrad((x) => ({
    value: tf.pow(x, 3),
    gradFunc: (dy) => tf.mul(dy, tf.mul(three, tf.square(x))),
  })),
  "the value, and saves the input": tf.customGrad((x, save) => {
    const value = tf.mul(tf.mul(x, x), x);
    save([x]);
    return { value, gradFunc: (dy, [x]) => tf.mul(dy, tf.div(tf.mul(3, value), x)) };
  }),
};

const spec = tf.TensorSpec([1]);
/** Where the op is called; each gives the first derivative, `second` the second. */
const PLACES: Record<string, (op: Op, x: T) => T | Promise<T>> = {
  "eagerly": (op, x) => tf.grad(op)(x),
  "twice by one tape": (op, x) => {
    using tape = new tf.GradientTape({ persistent: true });
    tape.watch(x);
    const y = tf.tidy(() => op(x));
    tf.dispose(tape.gradient(y, x) as T);
    const found = tape.gradient(y, x) as T;
    y.dispose();
    return found;
  },
  "in a function": (op, x) => tf.grad(tf.function(op) as Op)(x),
  "with its gradient in a function": (op, x) => tf.function((x: T) => tf.grad(op)(x))(x) as T,
  "in a branch of a function": (op, x) =>
    tf.grad(
      tf.function((x: T) => tf.cond(tf.greater(tf.sum(x), 0), () => op(x), () => x) as T) as Op,
    )(x),
  "in a loop": (op, x) =>
    tf.grad((x) =>
      tf.whileLoop((i) => tf.less(i, 1), (i, v) => [tf.add(i, 1), op(v as T)], [
        tf.zeros([], "int32"),
        x,
      ])[1] as T
    )(x),
  "in a script": (op, x) => tf.grad((x) => tf.pyFunction((x: T) => op(x), [x], spec))(x),
  "in a script of a function": (op, x) =>
    tf.grad(tf.function((x: T) => tf.pyFunction((x: T) => op(x), [x], spec)) as Op)(x),
  "in a script that awaits": (op, x) =>
    tf.function((x: T) =>
      tf.grad((x) => tf.pyFunction(async (x: T) => (await null, op(x)), [x], spec))(x)
    ).async(x) as Promise<T>,
};

for (const [closed, op] of Object.entries(CUBES)) {
  testOnDevices(`customGrad() closes over ${closed}`, async () => {
    const x = tf.tensor([2]);
    for (const [place, gradient] of Object.entries(PLACES)) {
      const found = await gradient(op, x);
      assertAlmostEquals((await found.data())[0], 12, 1e-4, place);
      found.dispose();
    }
    for (
      const second of [
        tf.grad(tf.grad(op)),
        tf.grad(tf.function((x: T) => tf.grad(op)(x)) as Op),
      ]
    ) {
      const found = second(x);
      assertAlmostEquals(found.dataSync()[0], 12, 1e-3);
      found.dispose();
    }
  });

  testOnDevices(`customGrad() that closes over ${closed} trains variables`, async () => {
    for (const isCompiled of [false, true]) {
      using v = tf.variable([2]);
      using optimizer = tf.train.sgd(0.125);
      const minimize = () => void optimizer.minimize(() => tf.sum(op(v)));
      if (isCompiled) tf.function(() => (minimize(), tf.identity(v)))();
      else minimize();
      assertAlmostEquals(v.dataSync()[0], 0.5, 1e-4);
    }
    const graph = new tf.Graph();
    const dx = graph.asDefault(() => {
      const x = tf.placeholder("float32", [1], "x");
      return tf.gradients(op(x), [x])[0]!;
    });
    await using session = new tf.Session({ graph });
    const found = await session.run(dx, { feeds: { "x:0": [2] } }) as tf.NdArray;
    assertAlmostEquals(found.at(0) as number, 12, 1e-4);
  });

  testOnDevices(`customGrad() that closes over ${closed} leaves nothing`, () => {
    const x = tf.tensor([2]);
    const calls: (() => void)[] = [
      () => op(x).dispose(),
      () => tf.grad(op)(x).dispose(),
      () => tf.grad(tf.grad(op))(x).dispose(),
      () => {
        const tape = new tf.GradientTape();
        tape.watch(x);
        op(x).dispose();
        tape.dispose();
      },
      () => tf.grad((x) => tf.pyFunction((x: T) => op(x), [x], spec))(x).dispose(),
    ];
    const before = tf.memory().numTensors;
    for (const call of calls) {
      call();
      assertEquals(tf.memory().numTensors, before);
    }
  });
}

testOnDevices("customGrad() frees what it made where its functions throw", () => {
  const x = tf.tensor([2]), before = tf.memory().numTensors;
  const late = tf.customGrad((x) => {
    const e = tf.exp(x);
    return {
      value: e,
      gradFunc: () => {
        tf.add(e, 1);
        throw new RangeError("late");
      },
    };
  });
  const early = tf.customGrad((x) => {
    tf.exp(x);
    throw new RangeError("early");
  });
  for (const [op, message] of [[late, "late"], [early, "early"]] as const) {
    assertThrows(() => tf.grad(op)(x), RangeError, message);
    assertEquals(tf.memory().numTensors, before);
  }
});
