/** Transposed variables in segments: kernels keep them in their own layout until the variable changes. */
import * as tf from "@weft/weft";
import { assertEquals, assertThrows } from "@std/assert";
import type { DeviceBuffer } from "../../src/engine/core/device.ts";
import type { VariableState } from "../../src/engine/runtime/variables/variable_state.ts";
import { testOnDevices } from "../devices.ts";
import { noise } from "../ops/values.ts";
import { assertClose } from "../tf/close.ts";

interface Case {
  readonly name: string;
  readonly x: readonly number[];
  readonly w: readonly number[];
  run(x: tf.Tensor, w: tf.Tensor): tf.Tensor | tf.Tensor[];
  /** Transpositions of one run on the CPU, once nothing changes any more. */
  readonly left: number;
}

const last = (w: tf.Tensor): tf.Tensor => tf.transpose(w, [2, 3, 1, 0]);

const CASES: readonly Case[] = [
  {
    name: "a filter of 3 by 3",
    x: [1, 6, 7, 4],
    w: [8, 4, 3, 3],
    run: (x, w) => tf.conv2d(x, last(w), 1, "same"),
    left: 0,
  },
  {
    name: "a filter of 1 by 1",
    x: [2, 5, 6, 4],
    w: [16, 4, 1, 1],
    run: (x, w) => tf.conv2d(x, last(w), 1, "valid"),
    left: 0,
  },
  {
    name: "a filter of one axis",
    x: [1, 1, 9, 4],
    w: [6, 4, 3],
    run: (x, w) => tf.conv2d(x, last(tf.expandDims(w, 2)), 1, "valid"),
    left: 0,
  },
  {
    name: "a depthwise filter",
    x: [1, 6, 7, 4],
    w: [4, 1, 3, 3],
    run: (x, w) =>
      tf.depthwiseConv2d(
        x,
        tf.reshape(last(w), [3, 3, 4, 1]),
        1,
        "same",
      ),
    left: 0,
  },
  {
    name: "a filter of two convolutions",
    x: [1, 6, 7, 4],
    w: [4, 4, 3, 3],
    run(x, w) {
      const filter = last(w);
      return tf.conv2d(tf.conv2d(x, filter, 1, "same"), filter, 2, "valid");
    },
    left: 0,
  },
  {
    name: "a filter that is also returned",
    x: [1, 6, 7, 4],
    w: [8, 4, 3, 3],
    run(x, w) {
      const filter = last(w);
      return [tf.conv2d(x, filter, 1, "same"), filter];
    },
    left: 1,
  },
  {
    name: "a filter and its sums",
    x: [1, 6, 7, 4],
    w: [4, 4, 3, 3],
    run(x, w) {
      const filter = last(w), y = tf.conv2d(x, filter, 1, "same");
      return [y, tf.cumsum(filter, 2)];
    },
    left: 0,
  },
  {
    name: "a filter that a scatter may overwrite",
    x: [1, 6, 7, 4],
    w: [4, 4, 3, 3],
    run(x, w) {
      const filter = last(w), y = tf.conv2d(x, filter, 1, "same");
      return [y, tf.tensorScatterUpdate(filter, [[1]], tf.zeros([1, 3, 4, 4]))];
    },
    left: 1,
  },
  {
    name: "a filter that is multiplied by itself",
    x: [1, 6, 7, 4],
    w: [4, 4, 3, 3],
    run: (x, w) => tf.conv2d(x, tf.matMul(last(w), last(w)), 1, "same"),
    left: 1,
  },
];

const filled = (shape: readonly number[], seed: number): tf.Tensor =>
  tf.tensor(noise("float32", shape, seed));

for (const { name, x: xShape, w: wShape, run, left } of CASES) {
  testOnDevices(`a compiled function keeps ${name} until the variable changes`, async (device) => {
    const x = filled(xShape, 1), values = [filled(wShape, 2), filled(wShape, 3)];
    const before = tf.memory();
    const w = tf.variable(values[0]), f = tf.function((x: tf.Tensor) => run(x, w));
    const list = (y: tf.Tensor | tf.Tensor[]): tf.Tensor[] => Array.isArray(y) ? y : [y];
    const same = async (value: tf.Tensor): Promise<void> => {
      const got = list(f(x)), wanted = list(tf.tidy(() => run(x, value)));
      for (const [i, y] of got.entries()) {
        assertClose(await y.array(), await wanted[i].array(), 1e-5, "result");
      }
      [...got, ...wanted].forEach((y) => y.dispose());
    };
    for (let i = 0; i < 4; i++) await same(values[0]);
    const { trace } = await tf.trace(() => list(f(x)).forEach((y) => y.dispose()));
    const steps = trace.traceEvents.filter((e) => e.cat === "step");
    if (device === "cpu") {
      assertEquals(steps.filter((e) => e.args?.op === "Transpose").length, left);
    }
    w.assign(values[1]);
    for (let i = 0; i < 4; i++) await same(values[1]);
    w.assign(values[0]);
    await same(values[0]);
    w.dispose();
    assertEquals(tf.memory().numTensors, before.numTensors);
    [x, ...values].forEach((t) => t.dispose());
  });
}

testOnDevices(
  "a compiled step that changes a transposed filter each time has its new value",
  async () => {
    const x = filled([1, 6, 7, 4], 1), start = filled([4, 4, 3, 3], 2);
    const step = (x: tf.Tensor, w: tf.Variable): tf.Tensor => {
      const y = tf.conv2d(x, last(w), 1, "same");
      w.assign(tf.sub(tf.mul(w, 0.5), tf.mean(y)));
      return y;
    };
    const w = tf.variable(start), v = tf.variable(start);
    const f = tf.function((x: tf.Tensor) => step(x, w));
    for (let i = 0; i < 5; i++) {
      const [a, b] = [f(x), step(x, v)];
      assertClose(await a.array(), await b.array(), 1e-5, "result");
    }
    assertClose(await w.array(), await v.array(), 1e-5, "result");
  },
);

testOnDevices("an error beside a kept filter frees what was made", async (device) => {
  // GPUs do not check indices.
  if (device === "webgpu") return;
  const x = filled([1, 6, 7, 4], 1), w = tf.variable(filled([8, 4, 3, 3], 2));
  const f = tf.function((x: tf.Tensor, at: tf.Tensor) => {
    const y = tf.conv2d(x, last(w), 1, "same");
    return tf.gather(tf.exp(y), at, 1);
  });
  const at = (i: number): tf.Tensor => tf.tensor1d([i, 1], "int32");
  const good = at(2), bad = at(60);
  for (let i = 0; i < 3; i++) f(x, good).dispose();
  const before = tf.memory();
  for (let i = 0; i < 3; i++) assertThrows(() => f(x, bad));
  assertEquals(tf.memory().numBytes, before.numBytes);
  const y = f(x, good),
    wanted = tf.tidy(() => {
      const y = tf.conv2d(x, last(w), 1, "same");
      return tf.gather(tf.exp(y), good, 1);
    });
  assertClose(await y.array(), await wanted.array(), 1e-5, "result");
});

testOnDevices(
  "a form of a variable is left out where memory is short, and other errors are told",
  () => {
    using w = tf.variable(filled([4, 3], 2));
    const state = w.resource as VariableState, spec = { dtype: "float32", shape: [4, 3] } as const;
    const failing = (error: Error) => (): DeviceBuffer | undefined =>
      state.form({
        ...{ key: error.message, input: 1, spec, run: () => [] },
        make: () => {
          throw error;
        },
      });
    assertEquals(failing(new tf.errors.ResourceExhaustedError("no room"))(), undefined);
    assertThrows(
      failing(new tf.errors.InternalError("a fault")),
      tf.errors.InternalError,
      "a fault",
    );
  },
);
