/** The backend "weft" of TensorFlow.js: its programs on our device, with data in tensors of ours. */
import * as tf from "@weft/weft";
import { fromTfjs, registerWeftBackend, toTfjs } from "@weft/weft/tfjs";
import * as tfjs from "@tensorflow/tfjs-core";
import * as tfl from "@tensorflow/tfjs-layers";
import "@tensorflow/tfjs-backend-cpu";
import { assert, assertEquals, assertThrows } from "@std/assert";
import { type TestDevice, testOnDevices } from "../devices.ts";
import { assertFlat as assertFlatIn, totals } from "../script/helpers.ts";
tfjs.enableProdMode();

/** Registers a test for each device, with TensorFlow.js on our backend. */
function testOnWeft(name: string, fn: (device: TestDevice) => void | Promise<void>): void {
  testOnDevices(name, async (device) => {
    registerWeftBackend();
    assert(await tfjs.setBackend("weft"));
    await fn(device);
  });
}

/** Asserts that `fn` leaves nothing behind in either library. */
async function assertFlat(fn: () => unknown): Promise<void> {
  await assertFlatIn(fn, () => {
    const { numTensors, numDataBuffers } = tfjs.memory();
    return { ...totals(), tfjsTensors: numTensors, tfjsBuffers: numDataBuffers };
  });
}

testOnWeft("kernels of TensorFlow.js run on our device", async (device) => {
  const { dispatches } = await tf.profile(async () => {
    await assertFlat(async () => {
      const y = tfjs.tidy(() => {
        const x = tfjs.tensor2d([[1, 2], [3, 4]]);
        return tfjs.softmax(tfjs.matMul(x, tfjs.transpose(x)));
      });
      const sums = tfjs.sum(y, 1);
      tfjs.test_util.expectArraysClose(await sums.data(), [1, 1], 1e-6);
      assertEquals(sums.dataSync().length, 2);
      tfjs.dispose([y, sums]);
    });
  });
  assert(device === "cpu" || dispatches > 2, `there were ${dispatches} dispatches`);
});

/** A value of each dtype, as TensorFlow.js makes it, and what it reads. */
const VALUES: readonly (readonly [tfjs.DataType, number[], () => tfjs.Tensor, unknown[]])[] = [
  ["float32", [2], () => tfjs.tensor1d([0.5, -Infinity]), [0.5, -Infinity]],
  ["int32", [1, 2], () => tfjs.tensor2d([[1, -7]], [1, 2], "int32"), [1, -7]],
  ["bool", [2], () => tfjs.tensor1d([true, false]), [1, 0]],
  ["string", [2], () => tfjs.tensor1d(["weft", "naïve"]), ["weft", "naïve"]],
  ["complex64", [1], () => tfjs.complex([3], [4]), [3, 4]],
  ["float32", [0, 3], () => tfjs.zeros([0, 3]), []],
];

for (const [dtype, shape, make, values] of VALUES) {
  testOnWeft(`${dtype}[${shape}] is written, read, copied and exchanged`, async () => {
    await assertFlat(async () => {
      const t = tfjs.tidy(make);
      assertEquals([t.dtype, t.shape], [dtype, shape]);
      assertEquals([...await t.data()], values as number[]);
      assertEquals([...t.dataSync()], values as number[]);
      const copy = tfjs.clone(t);
      t.dispose();
      using ours = fromTfjs(copy);
      copy.dispose();
      assertEquals([ours.dtype, ours.shape], [dtype, shape]);
      const again = toTfjs(ours);
      assertEquals([...await again.data()], values as number[]);
      again.dispose();
    });
  });
}

testOnWeft("a reshaped tensor lies in the same memory, which its last holder frees", async () => {
  await assertFlat(async () => {
    const before = tfjs.memory().numDataBuffers;
    const x = tfjs.tensor1d([1, 2, 3, 4]);
    const y = tfjs.reshape(x, [2, 2]), z = tfjs.expandDims(y);
    assertEquals(tfjs.memory().numDataBuffers, before + 1);
    x.dispose();
    const sum = tfjs.add(z, 1);
    assertEquals(await sum.array(), [[[2, 3], [4, 5]]] as never);
    tfjs.dispose([y, sum]);
    assertEquals(tfjs.memory().numDataBuffers, before + 1);
    z.dispose();
  });
});

testOnWeft("toTfjs() and fromTfjs() copy nothing", async () => {
  await assertFlat(() => {
    using x = tf.tensor([[1, 2], [3, 4]]);
    const { numDataBuffers } = tf.memory();
    const t = toTfjs(x), flat = tfjs.reshape(t, [4]);
    using y = fromTfjs(flat);
    assertEquals(tf.memory().numDataBuffers, numDataBuffers);
    tfjs.dispose([t, flat]);
    assertEquals(y.arraySync(), [1, 2, 3, 4]);
  });
});

testOnWeft("tensors of another backend move here", async () => {
  await tfjs.setBackend("cpu");
  await assertFlat(async () => {
    const x = tfjs.tensor1d([1, 2]);
    await tfjs.setBackend("weft");
    const y = tfjs.mul(x, x);
    assertEquals([...await y.data()], [1, 4]);
    tfjs.dispose([x, y]);
  });
});

testOnWeft(
  "a model of layers trains as it does on TensorFlow.js's own backend, and leaks nothing",
  async () => {
    const train = async (): Promise<number[]> => {
      const model = tfl.sequential({
        layers: [
          tfl.layers.conv2d({
            filters: 2,
            kernelSize: 3,
            activation: "relu",
            inputShape: [6, 6, 1],
            kernelInitializer: tfl.initializers.constant({ value: 0.1 }),
          }),
          tfl.layers.maxPooling2d({ poolSize: 2 }),
          tfl.layers.flatten(),
          tfl.layers.dense({ units: 1, kernelInitializer: "ones" }),
        ],
      });
      model.compile({ optimizer: "adam", loss: "meanSquaredError" });
      const values = Float32Array.from({ length: 8 * 36 }, (_, i) => Math.sin(i * 12.9898));
      const xs = tfjs.tensor4d(values, [8, 6, 6, 1]), ys = tfjs.mean(xs, [1, 2]);
      const { history } = await model.fit(xs, ys, { epochs: 5, verbose: 0, shuffle: false });
      model.dispose();
      tfjs.dispose([xs, ys]);
      return history.loss as number[];
    };
    await train();
    let losses: number[] = [];
    await assertFlat(async () => {
      tfjs.engine().startScope();
      losses = await train();
      tfjs.engine().endScope();
      tfjs.disposeVariables();
    });
    await tfjs.setBackend("cpu");
    tfjs.engine().startScope();
    const wanted = await train();
    tfjs.engine().endScope();
    tfjs.test_util.expectArraysClose(losses, wanted, 1e-4);
    assert(losses.at(-1)! < losses[0], `the loss went from ${losses[0]} to ${losses.at(-1)}`);
  },
);

testOnWeft("time() and profile() tell what ran", async () => {
  const x = tfjs.tensor1d([1, 2]);
  const { kernelMs, wallMs } = await tfjs.time(() => tfjs.tidy(() => void tfjs.exp(x)));
  assert(Number(kernelMs) >= 0 && wallMs >= 0);
  const { kernelNames } = await tfjs.profile(() => tfjs.tidy(() => tfjs.sum(tfjs.exp(x))));
  assertEquals(kernelNames.toSorted(), ["Exp", "Sum"]);
  x.dispose();
});

testOnWeft("a kernel's error is ours, and an unknown kernel is TensorFlow.js's", () => {
  const x = tfjs.tensor1d([1, 2]), indices = tfjs.tensor1d([0, 3], "int32");
  assertThrows(() => tfjs.engine().runKernel("Nothing", { x } as never), Error, "Nothing");
  assertThrows(() => tfjs.engine().runKernel("Slice", { x } as never, { begin: [1], size: [9] }));
  tfjs.dispose([x, indices]);
});
