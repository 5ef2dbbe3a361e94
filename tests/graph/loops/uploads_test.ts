/** Number of uploads of the results of a map's scripts: one for all rows that wait together. */
import * as tf from "@weft/weft";
import { assertEquals, assertRejects } from "@std/assert";
import { testOnDevices } from "../../devices.ts";

const ROWS = 100;
/** Rows that go together: 64 of them, then the others. */
const WINDOWS = 2;
const rows = new tf.NdArray(
  "float32",
  [ROWS, 2],
  new Float32Array(2 * ROWS).map((_, i) => i),
);

type Script = (v: tf.NdArray) => unknown;
const plusOne = (v: tf.NdArray): tf.NdArray => v.map((e) => Number(e) + 1);
const later = async (v: tf.NdArray): Promise<tf.NdArray> => {
  await new Promise((done) => queueMicrotask(() => done(null)));
  return plusOne(v);
};
const call = (x: tf.Tensor, body: Script, stateful = true): tf.Tensor =>
  tf.numpyFunction(body as typeof plusOne, [x], tf.TensorSpec([2], "float32"), { stateful });

interface Case {
  /** The work on each row. */
  readonly row: (r: tf.Tensor) => tf.Tensor;
  readonly want: (v: number) => number;
  /** Uploads, that of the rows among them. */
  readonly uploads: number;
}

/** Kernels stay where they are, though they are small. */
const onDevice = (fn: () => tf.Tensor): tf.Tensor =>
  tf.device(tf.getBackend() === "webgpu" ? "/GPU:0" : null, fn);

const between = (body: Script, stateful: boolean): Case => ({
  row: (r) => tf.add(tf.mul(call(tf.mul(r, 2), body, stateful), r), 3),
  want: (v) => (2 * v + 1) * v + 3,
  // Calls that need not be in turn are all there when the first have awaited.
  uploads: 1 + (body === later && !stateful ? 1 : WINDOWS),
});
const twice = (stateful: boolean): Case => ({
  row: (r) => {
    const first = call(onDevice(() => tf.mul(r, 2)), plusOne, stateful);
    const second = call(onDevice(() => tf.mul(first, r)), plusOne, stateful);
    return onDevice(() => tf.mul(second, 3));
  },
  want: (v) => ((2 * v + 1) * v + 1) * 3,
  // Where calls have effects, a row's second one comes before the next row's first.
  uploads: 1 + (stateful ? ROWS : WINDOWS) + WINDOWS,
});

const CASES: Readonly<Record<string, Case>> = {
  "a script with effects": between(plusOne, true),
  "a script without effects": between(plusOne, false),
  "a script with effects that awaits": between(later, true),
  "a script without effects that awaits": between(later, false),
  "two scripts with effects": twice(true),
  "two scripts without effects": twice(false),
  "a script that comes first": {
    row: (r) => tf.exp(tf.neg(call(r, plusOne))),
    want: (v) => Math.exp(-v - 1),
    // The rows stay where they are.
    uploads: WINDOWS,
  },
  "results of two dtypes": {
    row: (r) => {
      const [a, b] = tf.numpyFunction(
        (v: tf.NdArray) => [plusOne(v), Math.round(Number(v.at(0)))],
        [tf.mul(r, 1)],
        [tf.TensorSpec([2], "float32"), tf.TensorSpec([], "int32")],
      );
      return tf.add(tf.mul(a, 2), tf.cast(b, "float32"));
    },
    want: (v) => 2 * (v + 1) + 2 * Math.floor(v / 2),
    uploads: 1 + 2 * WINDOWS,
  },
};

function open(row: Case["row"]): { sess: tf.Session; built: tf.Tensor } {
  const graph = new tf.Graph();
  const built = graph.asDefault(() => tf.mapFn(row, tf.placeholder("float32", [ROWS, 2], "rows")));
  return { sess: new tf.Session({ graph }), built };
}

for (const [what, { row, want, uploads }] of Object.entries(CASES)) {
  testOnDevices(`mapFn() uploads for many rows at once: ${what}`, async (device) => {
    const { sess, built } = open(row);
    await using _ = sess;
    const before = tf.memory().numTensors;
    for (let k = 0; k < 2; k++) {
      const { result, trace } = await tf.trace(() =>
        sess.run(built, { feeds: { "rows:0": rows } })
      );
      const found = (result as tf.NdArray).data as Float32Array;
      found.forEach((v, i) => assertEquals(Math.abs(v - want(i)) <= 1e-6 * (1 + want(i)), true));
      const sent = trace.traceEvents.filter((e) => e.cat === "upload").length;
      assertEquals(sent, device === "cpu" ? 0 : uploads);
    }
    assertEquals(tf.memory().numTensors, before);
  });
}

testOnDevices(
  "mapFn() calls scripts in turn though their results go together, up to the first that fails",
  async () => {
    for (const waits of [false, true]) {
      const calls: number[] = [];
      const body = (v: tf.NdArray): unknown => {
        calls.push(Number(v.at(0)));
        if (calls.length === 70) throw new tf.NotImplementedError("the 70th");
        return v;
      };
      const { sess, built } = open((r) =>
        tf.mul(call(tf.mul(r, 2), waits ? (v) => Promise.resolve().then(() => body(v)) : body), 2)
      );
      await using _ = sess;
      const before = tf.memory().numTensors;
      await assertRejects(
        () => sess.run(built, { feeds: { "rows:0": rows } }),
        tf.errors.UnimplementedError,
        "the 70th",
      );
      assertEquals(calls, Array.from({ length: 70 }, (_, k) => 4 * k));
      // The run has ended; what it held is freed in the turn after.
      await new Promise((done) => setTimeout(done));
      assertEquals(tf.memory().numTensors, before);
    }
  },
);

testOnDevices(
  "the gradient of a map whose scripts' results go together is that of the plain one",
  async () => {
    const graph = new tf.Graph();
    const loss = (x: tf.Tensor, square: (r: tf.Tensor) => tf.Tensor) =>
      tf.sum(tf.mapFn((r) => tf.mul(square(tf.mul(r, 0.125)), r), x));
    const script = (r: tf.Tensor) =>
      tf.numpyFunction(
        (v: tf.NdArray) => v.map((e) => Number(e) ** 2),
        [r],
        tf.TensorSpec([2], "float32"),
        {
          vjp: ({ inputs: [x] }, dy) => [tf.mul(tf.mul(dy, 2), x)],
        },
      );
    const built = graph.asDefault(() => {
      const x = tf.placeholder("float32", [ROWS, 2], "rows");
      return [script, tf.square].map((square) => tf.gradients(loss(x, square), x)[0]!);
    });
    await using sess = new tf.Session({ graph });
    const before = tf.memory().numTensors;
    const [found, wanted] = await sess.run(built, { feeds: { "rows:0": rows } }) as tf.NdArray[];
    assertEquals(found.toArray(), wanted.toArray());
    assertEquals(tf.memory().numTensors, before);
  },
);
