/** Variables inside segments: reads and assignments among kernels keep their order, and errors change nothing. */
import * as tf from "@weft/weft";
import { assertEquals, assertThrows } from "@std/assert";
import { testOnDevices } from "../devices.ts";

const REPEAT = 6;

/** A step over variables that hold these values, and what the variables and its result are after one call. */
interface StepCase {
  readonly name: string;
  readonly values: readonly (readonly number[])[];
  step(v: readonly tf.Variable[], x: tf.Tensor): tf.Tensor;
  /** The same with lists of numbers; changes `v`. */
  plain(v: number[][], x: readonly number[]): number[];
}

const CASES: readonly StepCase[] = [
  {
    name: "a value is read before and after it is assigned",
    values: [[1, 2]],
    step([v], x) {
      const before = v.readValue();
      v.assign(tf.cumsum(tf.add(v, x)));
      return tf.sub(tf.mul(v.readValue(), 2), before);
    },
    plain(v, x) {
      const [a, b] = v[0], next = [a + x[0], a + x[0] + b + x[1]];
      v[0] = next;
      return [2 * next[0] - a, 2 * next[1] - b];
    },
  },
  {
    name: "two variables change places",
    values: [[1, 2], [30, 40]],
    step([v, w], x) {
      const [a, b] = [v.readValue(), w.readValue()];
      const y = tf.cumsum(tf.add(a, x));
      v.assign(tf.reshape(b, [2]));
      w.assign(tf.reshape(a, [2]));
      return y;
    },
    plain(v, x) {
      const [[a, b]] = v;
      v.reverse();
      return [a + x[0], a + x[0] + b + x[1]];
    },
  },
  {
    name: "the last of several assignments holds",
    values: [[1, 2]],
    step([v], x) {
      v.assignAdd(tf.cumsum(x));
      v.assign(tf.reverse(v.readValue(), [0]));
      v.assignSub(x);
      return tf.neg(v);
    },
    plain(v, x) {
      const [a, b] = v[0];
      v[0] = [b + x[0] + x[1] - x[0], a + x[0] - x[1]];
      return v[0].map((y) => -y);
    },
  },
  {
    name: "one value goes to two variables and to the caller",
    values: [[0, 0], [0, 0]],
    step([v, w], x) {
      const y = tf.cumsum(tf.mul(x, 3));
      v.assign(y);
      w.assign(y);
      return y;
    },
    plain(v, x) {
      const y = [3 * x[0], 3 * x[0] + 3 * x[1]];
      v[0] = y;
      v[1] = y;
      return y;
    },
  },
];

for (const { name, values, step, plain } of CASES) {
  testOnDevices(`in a compiled step ${name}`, () => {
    const variables = values.map((value) => tf.variable(value));
    const f = tf.function((x: tf.Tensor) => step(variables, x));
    const expected = values.map((value) => [...value]);
    const results: tf.Tensor[] = [];
    for (let i = 0; i < REPEAT; i++) {
      const x = [i + 1, 2 - i], fed = tf.tensor(x);
      const y = f(fed) as tf.Tensor;
      assertEquals(y.arraySync(), plain(expected, x), `call ${i}`);
      assertEquals(variables.map((v) => v.arraySync()), expected, `after call ${i}`);
      fed.dispose();
      // Results that live on keep their memory.
      results.push(y);
      if (i % 2 === 1) results.shift()!.dispose();
    }
    const before = tf.memory();
    f(tf.tensor([1, 2])).dispose();
    assertEquals(tf.memory().numTensors, before.numTensors + 1);
    tf.dispose([...results, ...variables]);
  });
}

testOnDevices("a variable keeps what a script gave it through a view", async () => {
  const graph = new tf.Graph();
  const v = tf.variable([[0, 0]]);
  const { x, y } = graph.asDefault(() => {
    const x = tf.placeholder("float32", [2], "x");
    const made = tf.pyFunction((a: tf.Tensor) => tf.mul(a, 1), [x], "float32") as tf.Tensor;
    made.setShape([2]);
    // The script's result has no other reader.
    const sums = tf.cumsum(made);
    const assign = v.assign(tf.reshape(made, [1, 2]));
    return { x, y: tf.controlDependencies([assign!], () => tf.neg(sums)) };
  });
  await using sess = new tf.Session({ graph });
  for (let i = 1; i < 5; i++) {
    const out = await sess.run(y, { feeds: new Map([[x, [i, i + 1]]]) }) as tf.NdArray;
    assertEquals(out.toArray(), [-i, -2 * i - 1]);
    // Freed memory would be reused by now.
    using other = tf.mul(tf.tensor([7, 7]), 1);
    assertEquals(other.arraySync(), [7, 7]);
    assertEquals(v.arraySync(), [[i, i + 1]]);
  }
  v.dispose();
});

testOnDevices("a compiled step over a disposed variable says so each time", () => {
  const v = tf.variable([1, 2, 3]);
  const f = tf.function((x: tf.Tensor) => tf.cumsum(tf.mul(v, x)));
  const x = tf.tensor([1, 2, 3]);
  for (let i = 0; i < 3; i++) tf.dispose(f(x));
  v.dispose();
  const before = tf.memory().numTensors;
  for (let i = 0; i < 2; i++) {
    assertThrows(() => f(x), tf.errors.FailedPreconditionError, "Could not find variable");
  }
  assertEquals(tf.memory().numTensors, before);
  x.dispose();
});

testOnDevices("a compiled step follows a variable from device to device", () => {
  const v = tf.variable([1, 2]);
  const f = tf.function(() => {
    v.assign(tf.cumsum(tf.mul(v, 2)));
    return tf.reverse(v, [0]);
  });
  let [a, b] = [1, 2];
  for (const device of [null, "/CPU:0", null, "/CPU:0", "/CPU:0"]) {
    tf.device(device, () => v.assign(tf.neg(v)));
    [a, b] = [-2 * a, -2 * a - 2 * b];
    const y = f() as tf.Tensor;
    assertEquals(y.arraySync(), [b, a]);
    assertEquals(v.arraySync(), [a, b]);
    y.dispose();
  }
  v.dispose();
});

Deno.test("a compiled step whose kernel fails leaves its variables as they were", () => {
  tf.device("/CPU:0", () => {
    const v = tf.variable([1, 2, 3]);
    const f = tf.function((at: tf.Tensor) => {
      v.assign(tf.cumsum(v));
      return tf.gather(v, at) as tf.Tensor;
    });
    const good = tf.tensor([2], [1], "int32"), bad = tf.tensor([7], [1], "int32");
    const expected = [[1, 3, 6], [1, 4, 10]];
    for (const value of expected) {
      using y = f(good) as tf.Tensor;
      assertEquals([y.arraySync(), v.arraySync()], [[value[2]], value]);
      const before = tf.memory();
      assertThrows(() => f(bad), tf.errors.InvalidArgumentError, "indices[0] = 7 is not in [0, 3)");
      assertEquals(v.arraySync(), value);
      assertEquals(tf.memory().numBytes, before.numBytes);
    }
    tf.dispose([v, good, bad]);
  });
});
