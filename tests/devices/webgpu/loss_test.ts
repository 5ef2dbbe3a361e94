/** Failures of the GPU: a lost device, its tensors, and its replacement; errors that WebGPU reports asynchronously. */
import * as tf from "@weft/weft";
import { assert, assertEquals, assertRejects, assertThrows } from "@std/assert";
import { gpuDevice } from "../../../src/engine/runtime/devices/devices.ts";
import type { WebGpuDevice } from "../../../src/engine/devices/webgpu/webgpu_device.ts";
import { HAS_WEBGPU } from "../../devices.ts";

const { InternalError, ResourceExhaustedError, UnavailableError } = tf.errors;

/** Registers a test that runs on a GPU device of its own, so that it may break it. */
function gpuTest(name: string, fn: () => Promise<void>): void {
  Deno.test({
    name: `${name} [webgpu]`,
    ignore: !HAS_WEBGPU,
    sanitizeOps: false,
    sanitizeResources: false,
    async fn() {
      assert(await tf.setBackend("webgpu"));
      try {
        await fn();
      } finally {
        await tf.setBackend("cpu");
      }
    },
  });
}

function gpu(): WebGpuDevice {
  return gpuDevice() as WebGpuDevice;
}

/** Takes the device away, as a driver may, and waits until that is known. */
async function lose(): Promise<void> {
  const device = gpu();
  device.gpu.destroy();
  await device.lost;
}

/** Does what WebGPU reports as an error, and waits for the report. */
async function reported(provoke: () => unknown): Promise<void> {
  const told = new Promise((resolve) =>
    gpu().gpu.addEventListener("uncapturederror", resolve, { once: true })
  );
  provoke();
  await told;
}

async function values(x: tf.Tensor): Promise<number[]> {
  return Array.from(await x.data() as Float32Array);
}

gpuTest("ops go on on a new device after a loss, and lost tensors say so", async () => {
  const old = tf.add(tf.tensor1d([1, 2]), 1);
  assertEquals(await values(old), [2, 3]);
  const before = gpu();
  await lose();
  await assertRejects(() => old.data(), UnavailableError, "it was lost");
  await tf.ready();
  assert(gpu() !== before, "there is no new device");
  assertEquals(tf.getBackend(), "webgpu");
  using made = tf.add(tf.tensor1d([1, 2]), 1);
  assertEquals(await values(made), [2, 3]);
  const uses: [string, () => unknown][] = [
    ["reading", () => old.data()],
    ["an op", () => tf.neg(old)],
    ["an op with others", () => tf.add(old, made)],
    ["an op without a kernel yet", () => tf.cumsum(old)],
    ["a view", async () => await tf.reshape(old, [2, 1]).data()],
    ["a script", () => tf.pyFunction((x: tf.Tensor) => tf.mul(x, 2), [old], "float32")],
  ];
  for (const [what, use] of uses) {
    const error = await assertRejects(
      async () => void await use(),
      UnavailableError,
      "it was lost",
    );
    assert(/tf\.ready\(\)/.test((error as Error).message), what);
  }
  assertEquals(await values(made), [2, 3]);
  old.dispose();
});

gpuTest(
  "a call before the loss is known, or before there is a new device, fails with a type",
  async () => {
    const x = tf.add(tf.tensor1d([1, 2]), 1);
    const device = gpu();
    device.gpu.destroy();
    // The loss is not known yet: reading finds out.
    await assertRejects(() => x.data(), tf.errors.OpError);
    await device.lost;
    assertThrows(() => device.check(), UnavailableError, "it was lost");
    await tf.ready();
    using y = tf.add(tf.tensor1d([1, 2]), 1);
    assertEquals(await values(y), [2, 3]);
    x.dispose();
  },
);

gpuTest("variables of a lost device say so until they are assigned", async () => {
  const v = tf.variable(tf.tensor1d([1, 2]));
  v.assign(tf.tensor1d([3, 4]));
  assertEquals(await values(v), [3, 4]);
  await lose();
  await tf.ready();
  await assertRejects(() => v.data(), UnavailableError, "it was lost");
  assertThrows(() => v.assignAdd(tf.tensor1d([1, 1])), UnavailableError, "it was lost");
  v.assign(tf.tensor1d([5, 6]));
  v.assignAdd(tf.tensor1d([1, 1]));
  assertEquals(await values(v), [6, 7]);
  v.dispose();
});

gpuTest(
  "functions are prepared anew on the next device, constants and inner functions too",
  async () => {
    let traces = 0;
    const inner = tf.function((x: tf.Tensor) => tf.matMul(x, tf.constant([[1, 2], [3, 4]])));
    const f = tf.function((x: tf.Tensor) => {
      traces++;
      const big = tf.greater(tf.sum(x), 0);
      const y = tf.cond(big, () => inner(x) as tf.Tensor, () => tf.neg(x)) as tf.Tensor;
      return tf.gradients(tf.sum(tf.square(y)), [x])[0]!;
    });
    const run = async () => {
      using x = tf.tensor2d([[1, 0]]);
      using y = await f.async(x) as tf.Tensor;
      return values(y);
    };
    const wanted = [10, 22];
    assertEquals(await run(), wanted);
    for (let loss = 0; loss < 2; loss++) {
      await lose();
      using x = tf.device("/CPU:0", () => tf.tensor2d([[1, 0]]));
      await assertRejects(async () => void await f.async(x), UnavailableError);
      await tf.ready();
      const { numTensors } = tf.memory();
      assertEquals(await run(), wanted);
      assertEquals(await run(), wanted);
      assertEquals(traces, 1);
      assertEquals(tf.memory().numTensors, numTensors, "constants of the lost device are kept");
    }
  },
);

gpuTest(
  "a function that captured a lost tensor says so, and works with one made anew",
  async () => {
    using w = tf.variable(tf.tensor1d([2, 3]));
    const f = tf.function((x: tf.Tensor) => tf.mul(x, w));
    using x = tf.tensor1d([1, 2], "float32");
    using y = f(x) as tf.Tensor;
    assertEquals(await values(y), [2, 6]);
    await lose();
    await tf.ready();
    using x2 = tf.tensor1d([1, 2], "float32");
    await assertRejects(async () => {
      using z = await f.async(x2) as tf.Tensor;
      await z.data();
    }, UnavailableError);
    w.assign(tf.tensor1d([2, 3]));
    using y2 = await f.async(x2) as tf.Tensor;
    assertEquals(await values(y2), [2, 6]);
  },
);

gpuTest("sessions are prepared anew on the next device, with scripts and constants", async () => {
  const graph = new tf.Graph();
  const [x, y] = graph.asDefault(() => {
    const x = tf.placeholder("float32", [2], "x");
    const scaled = tf.mul(x, tf.constant([10, 100]));
    const script = tf.numpyFunction((a: tf.NdArray) => a, [scaled], tf.TensorSpec([2]));
    return [x, tf.add(script, tf.constant([1, 2]))];
  });
  await using session = new tf.Session({ graph });
  const run = async () =>
    (await session.run(y, { feeds: new Map([[x, [1, 2]]]) }) as tf.NdArray).toArray();
  assertEquals(await run(), [11, 202]);
  await lose();
  await assertRejects(run, UnavailableError, "it was lost");
  await tf.ready();
  const { numTensors } = tf.memory();
  assertEquals(await run(), [11, 202]);
  assertEquals(await run(), [11, 202]);
  assertEquals(tf.memory().numTensors, numTensors, "constants of the lost device are kept");
});

gpuTest("a run that is in flight when the device is lost ends with its loss", async () => {
  const gate = Promise.withResolvers<void>();
  const started = Promise.withResolvers<void>();
  const graph = new tf.Graph();
  const y = graph.asDefault(() => {
    const waits = tf.numpyFunction(
      async () => {
        started.resolve();
        await gate.promise;
        return new Float32Array([1, 2]);
      },
      [],
      tf.TensorSpec([2]),
    );
    return tf.mul(waits, 2);
  });
  await using session = new tf.Session({ graph });
  const run = session.run(y);
  await started.promise;
  await lose();
  gate.resolve();
  await assertRejects(() => run, UnavailableError, "it was lost");
  await tf.ready();
  assertEquals((await session.run(y) as tf.NdArray).toArray(), [2, 4]);
});

/** WebGPU's reports, and the class of the error that the next call throws. */
const REPORTS: readonly [string, () => unknown, new () => unknown, string][] = [
  [
    "a validation error",
    () => {
      const buffer = gpu().gpu.createBuffer({ size: 16, usage: GPUBufferUsage.COPY_DST });
      gpu().gpu.queue.writeBuffer(buffer, 8, new Uint8Array(16));
    },
    InternalError as never,
    "WebGPU reported",
  ],
  [
    "running out of memory",
    () => {
      const error = new GPUOutOfMemoryError("no room");
      gpu().gpu.dispatchEvent(new GPUUncapturedErrorEvent("uncapturederror", { error }));
    },
    ResourceExhaustedError as never,
    "Cannot allocate GPU memory: out of memory, no room",
  ],
];

for (const [what, provoke, Class, text] of REPORTS) {
  gpuTest(
    `${what} fails the next call, eagerly, in functions and in sessions, and no other`,
    async () => {
      using x = tf.tensor1d([1, 2]);
      const f = tf.function((x: tf.Tensor) => tf.mul(x, 2));
      const graph = new tf.Graph();
      const y = graph.asDefault(() => tf.mul(tf.placeholder("float32", [2], "x"), 2));
      await using session = new tf.Session({ graph });
      const calls: (() => Promise<unknown>)[] = [
        async () => {
          using y = tf.mul(x, 2);
          return await values(y);
        },
        async () => {
          using y = await f.async(x) as tf.Tensor;
          return await values(y);
        },
        async () => (await session.run(y, { feeds: { "x:0": [1, 2] } }) as tf.NdArray).toArray(),
      ];
      for (const call of calls) {
        assertEquals(await call(), [2, 4]);
        await reported(provoke);
        await assertRejects(call, Class as never, text);
        assertEquals(await call(), [2, 4]);
      }
    },
  );
}

gpuTest("a buffer that no adapter has is refused at once, and nothing is lost", async () => {
  const bytes = gpu().gpu.limits.maxBufferSize;
  const before = tf.memory();
  const fill = () => tf.fill([Math.ceil(bytes / 4) + 1], 0);
  assertThrows(fill, ResourceExhaustedError, "maxBufferSize");
  const after = tf.memory();
  assertEquals([after.numTensors, after.gpuBuffers], [before.numTensors, before.gpuBuffers]);
  using y = tf.add(tf.tensor1d([1, 2]), 1);
  assertEquals(await values(y), [2, 3]);
});

/** Lets the device have no memory for the next buffer that is made. */
function runOut({ gpu }: WebGpuDevice): void {
  const { createBuffer, popErrorScope } = gpu;
  gpu.createBuffer = (descriptor) => {
    gpu.createBuffer = createBuffer;
    gpu.popErrorScope = async () => {
      gpu.popErrorScope = popErrorScope;
      await gpu.popErrorScope();
      return new GPUOutOfMemoryError("no room");
    };
    // What WebGPU gives then: a buffer that is invalid, and of which nothing is said here.
    gpu.pushErrorScope("validation");
    const size = 8 * Math.ceil(gpu.limits.maxBufferSize / 8) + 8;
    const buffer = gpu.createBuffer({ ...descriptor, size });
    popErrorScope.call(gpu).catch(() => {});
    return buffer;
  };
}

gpuTest(
  "a buffer without memory fails the next call and every use of it, and no other",
  async () => {
    const shape = [31, 1009];
    const total = async (x: tf.Tensor): Promise<number> => {
      using sum = tf.sum(x);
      return (await values(sum))[0];
    };
    using x = tf.ones(shape);
    assertEquals(await total(x), 31279);
    const before = tf.memory().numTensors;
    const kept: tf.Tensor[] = [];
    runOut(gpu());
    // As many as it takes to have none in the pool.
    while (gpu().gpu.createBuffer !== GPUDevice.prototype.createBuffer) kept.push(tf.add(x, 1));
    await gpu().gpu.queue.onSubmittedWorkDone();
    await assertRejects(() => total(x), ResourceExhaustedError, "out of memory, no room");
    const failed = kept.pop()!;
    await assertRejects(() => failed.data(), ResourceExhaustedError, "no GPU memory for it");
    assertThrows(() => tf.neg(failed), ResourceExhaustedError, "no GPU memory for it");
    assertEquals(await total(x), 31279);
    tf.dispose([failed, ...kept]);
    for (let k = 0; k < 3; k++) {
      using y = tf.add(x, 2);
      assertEquals(await total(y), 3 * 31279);
    }
    assertEquals(tf.memory().numTensors, before);
  },
);

gpuTest("a loss that was not told yet is the error of what reads at once", async () => {
  const body = (a: tf.NdArray): tf.NdArray => a;
  const script = (x: tf.Tensor) => tf.numpyFunction(body, [x], tf.TensorSpec([2])) as tf.Tensor;
  const f = tf.function((x: tf.Tensor) => tf.add(script(tf.add(x, 1)), 1));
  const uses: Readonly<Record<string, (x: tf.Tensor) => unknown>> = {
    "item()": (x) => tf.sum(x).item(),
    "dataSync()": (x) => x.dataSync(),
    "data()": (x) => x.data(),
    "a script": script,
    "a script of tensors": (x) => tf.pyFunction((x: tf.Tensor) => x.dataSync(), [x], "float32"),
    "a function with a script": f,
    "a function that is awaited": (x) => f.async(x),
  };
  for (const [what, use] of Object.entries(uses)) {
    await tf.ready();
    f(tf.tensor([1, 2])).dataSync();
    const x = tf.add(tf.tensor([1, 2]), 1), { lost } = gpu();
    gpu().gpu.destroy();
    await assertRejects(async () => void await use(x), UnavailableError, "it was lost", what);
    await lost;
  }
});
