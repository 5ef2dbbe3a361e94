/** loadOnnx() replaces calls of a model's functions by their nodes. */
import { assertEquals, assertRejects } from "@std/assert";
import * as tf from "@weft/weft";
import { loadOnnx } from "@weft/weft/onnx";
import { type TestDevice, testOnDevices } from "../devices.ts";
import { functionOf, model, node, type Part, referring, value } from "./make_model.ts";

/** A model whose only node calls a function of the domain `acme`. */
function calling(call: Part, functions: readonly Part[]): Uint8Array {
  return model({
    nodes: [call],
    inputs: [value("x", "float32", [3])],
    outputs: [value("y", "float32", [3])],
    functions,
  });
}

/** Leaky, then doubled: the slope is the call's, or 0.5. */
const LEAKY = functionOf("Leaky", ["a"], ["c"], [
  referring(node("LeakyRelu", ["a"], ["b"]), "alpha", "slope"),
  node("Add", ["b", "b"], ["c"]),
], { slope: 0.5 });

const CASES: readonly [string, Part, readonly number[]][] = [
  ["the call's attribute", node("Leaky", ["x"], ["y"], { slope: 0.25 }, "acme"), [-0.5, 0, 2]],
  ["the function's default", node("Leaky", ["x"], ["y"], {}, "acme"), [-1, 0, 2]],
];

for (const [what, call, wanted] of CASES) {
  testOnDevices(`a call takes ${what}`, async (_: TestDevice) => {
    const m = await loadOnnx(calling(call, [LEAKY]));
    assertEquals(await ((await m.run({ x: [-1, 0, 1] })).y as tf.Tensor).array(), wanted);
  });
}

testOnDevices("functions call one another, twice in one graph", async () => {
  const twice = functionOf("Twice", ["a"], ["b"], [
    node("Leaky", ["a"], ["once"], {}, "acme"),
    node("Leaky", ["once"], ["b"], {}, "acme"),
  ]);
  const m = await loadOnnx(calling(node("Twice", ["x"], ["y"], {}, "acme"), [LEAKY, twice]));
  assertEquals(await ((await m.run({ x: [-1, 0, 1] })).y as tf.Tensor).array(), [-1, 0, 4]);
});

Deno.test("a function that calls itself, or too many others, is refused", async () => {
  const circle = functionOf("F", ["a"], ["b"], [node("F", ["a"], ["b"], {}, "acme")]);
  const call = (name: string) => node(name, ["x"], ["y"], {}, "acme");
  await assertRejects(
    () => loadOnnx(calling(call("F"), [circle])),
    tf.errors.DataLossError,
    "it calls itself",
  );
  // Each calls the next twice: 2^40 nodes.
  const doubling = Array.from({ length: 40 }, (_, i) =>
    functionOf(`F${i}`, ["a"], ["c"], [
      node(i === 39 ? "Relu" : `F${i + 1}`, ["a"], ["b"], {}, i === 39 ? "" : "acme"),
      node(i === 39 ? "Relu" : `F${i + 1}`, ["b"], ["c"], {}, i === 39 ? "" : "acme"),
    ]));
  await assertRejects(
    () => loadOnnx(calling(call("F0"), doubling)),
    tf.errors.ResourceExhaustedError,
    "more than 200000 nodes",
  );
});
