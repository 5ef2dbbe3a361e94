/** Exchange of GPU memory with the user's code: tensors of buffers, buffers of tensors, and their owners. */
import * as tf from "@weft/weft";
import { assertEquals, assertThrows } from "@std/assert";
import { HAS_WEBGPU } from "../../devices.ts";

const STORAGE = 0x80, COPY_SRC = 0x4, COPY_DST = 0x8;

function testOnGpu(name: string, fn: () => void | Promise<void>): void {
  Deno.test({
    name: `${name} [webgpu]`,
    ignore: !HAS_WEBGPU,
    async fn() {
      if (!await tf.setBackend("webgpu")) throw new Error("Cannot use WebGPU");
      await fn();
    },
  });
}

function bufferOf(values: readonly number[], usage = STORAGE | COPY_SRC | COPY_DST): GPUBuffer {
  const data = Float32Array.from(values);
  const buffer = tf.webgpuDevice().createBuffer({
    size: data.byteLength,
    usage,
    mappedAtCreation: true,
  });
  new Float32Array(buffer.getMappedRange()).set(data);
  buffer.unmap();
  return buffer;
}

/** Doubles every element in a pipeline of its own, as a user's code would. */
function doubled(input: GPUBuffer, count: number): GPUBuffer {
  const device = tf.webgpuDevice();
  const module = device.createShaderModule({
    code: `@group(0) @binding(0) var<storage, read> x: array<f32>;
@group(0) @binding(1) var<storage, read_write> y: array<f32>;
@compute @workgroup_size(1) fn main(@builtin(global_invocation_id) id: vec3u) { y[id.x] = 2 * x[id.x]; }`,
  });
  const pipeline = device.createComputePipeline({ layout: "auto", compute: { module } });
  const output = device.createBuffer({ size: 16, usage: STORAGE | COPY_SRC });
  const encoder = device.createCommandEncoder();
  const pass = encoder.beginComputePass();
  pass.setPipeline(pipeline);
  pass.setBindGroup(
    0,
    device.createBindGroup({
      layout: pipeline.getBindGroupLayout(0),
      entries: [input, output].map((buffer, binding) => ({ binding, resource: { buffer } })),
    }),
  );
  pass.dispatchWorkgroups(count);
  pass.end();
  device.queue.submit([encoder.finish()]);
  return output;
}

testOnGpu(
  "dataToGPU() and tensor() pass memory to a user's shader and back, and read nothing",
  async () => {
    const { numTensors } = tf.memory();
    const { result, readbacks } = await tf.profile(() => {
      using x = tf.tidy(() => tf.add(tf.tensor([1, 2, 3]), 1));
      const { buffer, tensorRef } = x.dataToGPU();
      const output = doubled(buffer, 3);
      tensorRef.dispose();
      return tf.tensor({ buffer: output, zeroCopy: true }, [3], "float32");
    });
    assertEquals(readbacks, 0);
    assertEquals(result.dataSync(), Float32Array.of(4, 6, 8));
    result.dispose();
    assertEquals(tf.memory().numTensors, numTensors);
  },
);

testOnGpu("tensor() of a GPU buffer copies unless told otherwise", () => {
  const buffer = bufferOf([1, 2, 3, 4]);
  using copy = tf.tensor({ buffer }, [2, 2]);
  using same = tf.tensor({ buffer, zeroCopy: true }, [4], "float32");
  tf.webgpuDevice().queue.writeBuffer(buffer, 0, Float32Array.of(9));
  assertEquals(copy.arraySync(), [[1, 2], [3, 4]]);
  assertEquals(same.arraySync(), [9, 2, 3, 4]);
  assertEquals(tf.add(same, copy.flatten()).arraySync(), [10, 4, 6, 8]);
});

testOnGpu("a buffer stays its maker's after the tensor on it is disposed", () => {
  const buffer = bufferOf([1, 2, 3, 4]);
  tf.tensor({ buffer, zeroCopy: true }, [4]).dispose();
  using again = tf.tensor({ buffer }, [4]);
  assertEquals(again.arraySync(), [1, 2, 3, 4]);
  buffer.destroy();
});

testOnGpu("tensorRef holds the memory past the tensor, and past an update of a variable", () => {
  const x = tf.square(tf.tensor([3, 4]));
  const { buffer, tensorRef } = x.dataToGPU();
  x.dispose();
  using other = tf.square(tf.tensor([5, 6]));
  using held = tf.tensor({ buffer }, [2]);
  assertEquals([held.arraySync(), other.arraySync()], [[9, 16], [25, 36]]);
  assertEquals(tensorRef.arraySync(), [9, 16]);
  tensorRef.dispose();

  const v = tf.variable(tf.tensor([1, 2]));
  const before = v.dataToGPU();
  v.assignAdd(tf.tensor([1, 1]));
  using old = tf.tensor({ buffer: before.buffer }, [2]);
  assertEquals([old.arraySync(), v.arraySync()], [[1, 2], [2, 3]]);
  before.tensorRef.dispose();
  v.dispose();
});

testOnGpu("functions capture tensors of GPU buffers, and make none", () => {
  const buffer = bufferOf([1, 2, 3, 4]);
  using x = tf.tensor({ buffer, zeroCopy: true }, [4]);
  const twice = tf.function((y: tf.Tensor) => tf.mul(tf.add(x, y), 2));
  assertEquals((twice(tf.scalar(1)) as tf.Tensor).arraySync(), [4, 6, 8, 10]);
  const inside = tf.function(() => tf.tensor({ buffer }, [4]));
  assertThrows(() => inside(), tf.errors.FailedPreconditionError, "inside a graph");
});

testOnGpu("tensor() of a GPU buffer refuses what does not fit", () => {
  const { numTensors } = tf.memory();
  const buffer = bufferOf([1, 2, 3, 4]);
  const small = bufferOf([1, 2, 3]);
  const blind = bufferOf([1, 2, 3, 4], COPY_DST);
  const cases: [() => tf.Tensor, string][] = [
    [() => tf.tensor({ buffer }), "it needs a shape"],
    [() => tf.tensor({ buffer }, [5]), "it takes 20 bytes, received 16"],
    [() => tf.tensor({ buffer }, [-1]), "non-negative integers"],
    [() => tf.tensor({ buffer }, [2], "float64"), "does not hold this dtype"],
    [() => tf.tensor({ buffer: blind }, [4]), "must include COPY_SRC"],
    [() => tf.tensor({ buffer: blind, zeroCopy: true }, [4]), "must include STORAGE"],
    [() => tf.tensor({ buffer: small, zeroCopy: true }, [3]), "multiple of 16 bytes, received 12"],
  ];
  for (const [make, message] of cases) assertThrows(make, tf.ValueError, message);
  assertEquals(tf.memory().numTensors, numTensors);
});

Deno.test("dataToGPU() refuses tensors that have no GPU memory", async () => {
  await tf.setBackend("cpu");
  using x = tf.tensor([1]);
  assertThrows(
    () => x.dataToGPU(),
    tf.errors.FailedPreconditionError,
    "compute it on the GPU first",
  );
  x.dispose();
  assertThrows(() => x.dataToGPU(), tf.RuntimeError, "disposed");
  const symbolic = new tf.Graph().asDefault(() => tf.placeholder("float32"));
  assertThrows(() => symbolic.dataToGPU(), tf.OperatorNotAllowedInGraphError, "symbolic");
});
