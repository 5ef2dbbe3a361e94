/** Compiled training steps: what they cost on the GPU, and that they compute what eager code does. */
// Runs alone: it counts bind groups, in which buffers that uploads of earlier tests left take turns.
import * as tf from "@weft/weft";
import { assert, assertEquals } from "@std/assert";
import type { WebGpuDevice } from "../../src/engine/devices/webgpu/webgpu_device.ts";
import { gpuDevice } from "../../src/engine/runtime/devices/devices.ts";
import { HAS_WEBGPU, testOnDevices } from "../devices.ts";
import { effort } from "../effort.ts";

interface Mlp {
  readonly vars: tf.Variable[];
  readonly loss: (x: tf.Tensor, y: tf.Tensor) => tf.Tensor;
}

function mlp(sizes: readonly [number, number, number]): Mlp {
  const [i, h, o] = sizes;
  const init = (shape: number[]): tf.Tensor => tf.randomNormal(shape, 0, 0.1, "float32", 7);
  const vars = [
    tf.variable(init([i, h])),
    tf.variable(tf.zeros([h])),
    tf.variable(init([h, o])),
    tf.variable(tf.zeros([o])),
  ];
  const [w1, b1, w2, b2] = vars;
  const loss = (x: tf.Tensor, y: tf.Tensor): tf.Tensor => {
    const logits = tf.add(tf.matMul(tf.relu(tf.add(tf.matMul(x, w1), b1)), w2), b2);
    return tf.mean(tf.softmaxCrossEntropyWithLogits({ labels: y, logits }));
  };
  return { vars, loss };
}

function batch(n: number, inputs: number, classes: number): { x: tf.Tensor; y: tf.Tensor } {
  const x = tf.randomUniform([n, inputs], 0, 1, "float32", 3);
  const y = tf.cast(tf.oneHot(tf.mod(tf.range(0, n, 1, "int32"), classes), classes), "float32");
  return { x, y };
}

Deno.test({
  name:
    "a compiled MLP step with Adam is 9 dispatches and 1 submit, and makes nothing new when warm [webgpu]",
  ignore: !HAS_WEBGPU,
  sanitizeOps: false,
  sanitizeResources: false,
  async fn() {
    await tf.setBackend("webgpu");
    const { vars, loss } = mlp([784, 256, 10]);
    const optimizer = tf.train.adam(0.001);
    const step = tf.function((x: tf.Tensor, y: tf.Tensor) =>
      optimizer.minimize(() => loss(x, y), true, vars)!
    );
    const { x, y } = batch(128, 784, 10);
    const read = async (): Promise<number> => {
      using l = step(x, y);
      return (await l.data())[0] as number;
    };
    const first = await read();
    for (let k = 0; k < 30; k++) await read();
    const counts = await tf.profile(read);
    // Where few buffers may be bound at once, Adam's joined updates come in parts.
    const { maxBuffers } = (gpuDevice() as WebGpuDevice).profile;
    assertEquals([counts.dispatches, counts.submits, counts.readbacks, counts.bytesToHost], [
      maxBuffers > 10 ? 9 : 12,
      1,
      1,
      4,
    ]);
    assertEquals([counts.buffersCreated, counts.bindGroupsCreated, counts.pipelinesCreated], [
      0,
      0,
      0,
    ]);
    assert(counts.result < first / 2, `the loss went from ${first} to ${counts.result}`);
    const before = tf.memory();
    for (let k = 0; k < effort(200, 1000); k++) step(x, y).dispose();
    const ahead = await tf.profile(() => {
      for (let k = 0; k < 50; k++) step(x, y).dispose();
    });
    assertEquals([ahead.buffersCreated, ahead.bindGroupsCreated], [0, 0]);
    await read();
    const after = tf.memory();
    assertEquals([after.numTensors, after.numDataBuffers, after.numBytes], [
      before.numTensors,
      before.numDataBuffers,
      before.numBytes,
    ]);
    assert(
      after.gpuBuffers <= before.gpuBuffers + 64,
      `${after.gpuBuffers} buffers after running ahead, ${before.gpuBuffers} before`,
    );
    for (const v of vars) v.dispose();
    optimizer.dispose();
    await tf.setBackend("cpu");
  },
});

Deno.test({
  name: "another batch size compiles no new WGSL for a compiled step [webgpu]",
  ignore: !HAS_WEBGPU,
  async fn() {
    await tf.setBackend("webgpu");
    const { vars, loss } = mlp([24, 16, 8]);
    const optimizer = tf.train.adam(0.001);
    const step = tf.function(
      (x: tf.Tensor, y: tf.Tensor) => optimizer.minimize(() => loss(x, y), true, vars)!,
      {
        inputSignature: [tf.TensorSpec([null, 24], "float32"), tf.TensorSpec([null, 8], "float32")],
      },
    );
    const run = (n: number): void => {
      const { x, y } = batch(n, 24, 8);
      step(x, y).dispose();
      tf.dispose([x, y]);
    };
    run(64);
    // Sizes are parameters of programs. Far other sizes may take another tiling of matrices, which is another program.
    for (const n of [60, 52, 56]) {
      const counts = await tf.profile(() => run(n));
      assertEquals([step.traceCount, counts.pipelinesCreated], [1, 0], `batch of ${n}`);
    }
    for (const v of vars) v.dispose();
    optimizer.dispose();
    await tf.setBackend("cpu");
  },
});

testOnDevices("20 compiled steps end where 20 eager steps do", () => {
  const run = (compiled: boolean): number[] => {
    const { vars, loss } = mlp([12, 9, 5]);
    const optimizer = tf.train.adam(0.01);
    const body = (x: tf.Tensor, y: tf.Tensor): tf.Tensor =>
      optimizer.minimize(() => loss(x, y), true, vars)!;
    const step = compiled ? tf.function(body) : body;
    const { x, y } = batch(11, 12, 5);
    const out: number[] = [];
    for (let k = 0; k < 20; k++) {
      using l = step(x, y);
      out.push(l.item());
    }
    for (const v of vars) {
      out.push(...v.dataSync() as Float32Array);
      v.dispose();
    }
    optimizer.dispose();
    return out;
  };
  const eager = run(false), compiled = run(true);
  eager.forEach((v, i) =>
    assert(Math.abs(v - compiled[i]) <= 1e-4 * (1 + Math.abs(v)), `${v} and ${compiled[i]} at ${i}`)
  );
});

Deno.test({
  name: "eager steps that repeat a kernel on many tensors make no bind groups when warm [webgpu]",
  ignore: !HAS_WEBGPU,
  sanitizeOps: false,
  sanitizeResources: false,
  async fn() {
    await tf.setBackend("webgpu");
    const { counters } = gpuDevice() as WebGpuDevice;
    const weights = Array.from({ length: 12 }, (_, i) => tf.fill([32, 32], i / 100));
    // A layer has the kernels of all others; what it makes is freed in another order each time.
    const step = async (turn: number): Promise<void> => {
      const kept: tf.Tensor[] = [];
      const y = tf.tidy(() => {
        let x: tf.Tensor = tf.ones([32, 32]);
        for (const w of weights) {
          const h = tf.tanh(tf.matMul(x, w));
          kept.push(tf.keep(tf.mul(h, h)));
          x = tf.add(x, h);
        }
        return tf.sum(x);
      });
      await y.data();
      y.dispose();
      kept.sort((a, b) => (a.id * 7 + turn) % 12 - (b.id * 7 + turn) % 12);
      tf.dispose(kept);
    };
    for (let turn = 0; turn < 8; turn++) await step(turn);
    const before = counters.bindGroupsCreated;
    for (let turn = 8; turn < 16; turn++) await step(turn);
    assertEquals(counters.bindGroupsCreated - before, 0);
    tf.dispose(weights);
  },
});
