/** The library's default device beside sessions: only one that runs on the GPU makes it the default. */
import * as tf from "@weft/weft";
import * as ort from "@weft/weft/ort";
import { assertEquals } from "@std/assert";
import { testOnDevices, testOnGpu } from "../devices.ts";
import { model, node, value } from "../onnx/make_model.ts";

const MODEL = model({
  nodes: [node("Neg", ["x"], ["y"])],
  inputs: [value("x", "float32", [2])],
  outputs: [value("y", "float32", [2])],
});

testOnDevices(
  "a session leaves the default device as it is unless it runs on the GPU",
  async (device) => {
    for (
      const providers of [undefined, [], ["wasm"], ["cpu", "webgpu"], ["wasm", "webgl"]]
    ) {
      const session = await ort.InferenceSession.create(
        MODEL,
        providers && { executionProviders: providers },
      );
      const { y } = await session.run({ x: new ort.Tensor("float32", [1, -2], [2]) });
      assertEquals([...await y.getData() as Float32Array], [-1, 2]);
      assertEquals(tf.getBackend(), device, `${providers}`);
      await session.release();
    }
  },
);

testOnGpu("a session of the GPU makes it the default device", async () => {
  await tf.setBackend("cpu");
  const session = await ort.InferenceSession.create(MODEL, {
    executionProviders: ["webgpu", "wasm"],
  });
  assertEquals(tf.getBackend(), "webgpu");
  await session.release();
});
