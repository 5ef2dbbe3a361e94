/** Programs as users of other libraries write them first: each works, or is told in words that lead on. */

import * as tf from "@weft/weft";
import { saveModel } from "@weft/weft/tf";
import { assert, assertEquals } from "@std/assert";

// deno-lint-ignore no-explicit-any
const untyped = tf as any, at = (make: () => unknown) => make;
const x = (): tf.Tensor => tf.ones([2, 2]), image = (): tf.Tensor => tf.ones([1, 4, 4, 1]);

/** A program, the class of its error, parts of the message. */
const HABITS: Readonly<Record<string, readonly [() => unknown, string, ...string[]]>> = {
  // TensorFlow.js
  "a backend of TensorFlow.js": [
    at(() => untyped.setBackend("webgl")),
    "ValueError",
    'there are "webgpu" and "cpu", in the place of webgl and wasm',
  ],
  "a backend that there never was": [
    at(() => untyped.setBackend("cuda")),
    "ValueError",
    'there are "webgpu" and "cpu"',
  ],
  "values read in a function": [
    at(() => tf.function((x: tf.Tensor) => x.dataSync()[0])(x())),
    "OperatorNotAllowedInGraphError",
    "return it, or read it by tf.tap() or in a script op",
  ],
  "a pool without padding": [
    at(() => untyped.maxPool(image(), 2, 2)),
    "TypeError",
    'pad must be "same", "valid", a number or a list, received undefined',
  ],
  "a pool without strides": [
    at(() => untyped.avgPool(image(), 2)),
    "TypeError",
    "Argument 'strides' passed to 'avgPool' must be a number or a list of 2",
  ],
  "a pool without a window": [
    at(() => untyped.avgPool3d(tf.ones([1, 2, 2, 2, 1]))),
    "TypeError",
    "Argument 'filterSize' passed to 'avgPool3d'",
  ],
  "a pool with odd pads": [
    at(() => untyped.maxPool(image(), 2, 2, [[0, 0], null, [0, 0], [0, 0]])),
    "ValueError",
    "pad must hold [before, after] for each of 4 axes",
  ],
  // Keras and TensorFlow
  "options for an axis": [
    at(() => untyped.sum(x(), { axis: 1 })),
    "ValueError",
    "Invalid axis of type object: wanted a number of [-2, 2), in its position and not by name",
  ],
  "options for a mean": [
    at(() => untyped.randomNormal([2], { mean: 1, seed: 3 })),
    "TypeError",
    "Argument 'mean' passed to 'randomNormal' must be a number",
  ],
  "a text for a deviation": [
    at(() => untyped.truncatedNormal([2], 0, "1")),
    "TypeError",
    "Argument 'stdDev' passed to 'truncatedNormal' must be a number",
  ],
  "a dtype in an object": [
    at(() => untyped.constant([1], { dtype: "int32" })),
    "TypeError",
    '{"dtype":"int32"} to a TensorFlow DType: wanted "bool", "uint8",',
  ],
  "a class for a variable": [
    at(() => new untyped.Variable([1, 2])),
    "TypeError",
    "Cannot construct a Variable: call tf.variable(initialValue)",
  ],
  "an optimizer without a rule": [
    at(() => new (class Mine extends untyped.train.sgd(1).constructor {})()),
    "ValueError",
    "learningRate must be defined",
  ],
  "an accumulator of nothing": [
    at(() => new untyped.ForwardAccumulator()),
    "TypeError",
    "Argument 'primals' passed to 'ForwardAccumulator'",
  ],
  "a spec with options": [
    at(() => untyped.TensorSpec({ shape: [2], dtype: "float32" })),
    "TypeError",
    "Argument 'shape' passed to 'TensorSpec' must be a list of integers of at least 0 and null",
  ],
  "a spec without a shape": [
    at(() => new untyped.TensorSpec()),
    "TypeError",
    "Argument 'shape' passed to 'TensorSpec'",
    "but got undefined",
  ],
  "a spec with -1 for an unknown extent": [
    at(() => tf.TensorSpec([-1, 2])),
    "TypeError",
    "must be a list of integers of at least 0 and null for unknown extents, or null, but got an array of 2",
  ],
  "a signature of one spec": [
    at(() => untyped.function((x: tf.Tensor) => x, { inputSignature: tf.TensorSpec([2]) })),
    "TypeError",
    "Argument 'inputSignature' passed to 'function' must be a list of specs, one for each argument",
  ],
  "a signature of dtypes": [
    at(() => untyped.function((x: tf.Tensor) => x, { inputSignature: ["float32"] })),
    "TypeError",
    'must be a list of specs as tf.TensorSpec makes them, but got "float32"',
  ],
  "a model that saves a plain function": [
    at(() => saveModel("/tmp/none", { signatures: { f: ((x: tf.Tensor) => x) as never } })),
    "TypeError",
    'Cannot save signature "f": wanted a tf.function with an inputSignature, received function f',
  ],
  "a batch of a text": [
    at(() => untyped.data.range(3).batch("2")),
    "ValueError",
    'Cannot take batchSize = "2": wanted an integer of at least 1',
  ],
  // NumPy and PyTorch
  "operands of an einsum in a list": [
    at(() => untyped.einsum("ij,jk->ik", [x(), x()])),
    "TypeError",
    "Cannot convert a list of tensors to a tensor: tf.stack() makes one of it",
  ],
  "a list of tensors for a tensor": [
    at(() => untyped.add([x(), x()], 1)),
    "TypeError",
    "tf.stack() makes one of it (argument 'a' of 'add')",
  ],
  "a loop over rows": [
    at(() => [...x() as unknown as Iterable<unknown>]),
    "OperatorNotAllowedInGraphError",
    "Iterating over a tf.Tensor is not allowed: Tensor(float32[2,2])",
    "tf.unstack() gives its rows",
  ],
  "a tensor beside a text": [
    at(() => "loss " + (tf.scalar(1) as typeof untyped)),
    "OperatorNotAllowedInGraphError",
    "with + or == is not allowed",
    "in texts a template, `${x}`",
  ],
  "a tensor times a number": [
    at(() => (tf.tensor([1, 2]) as typeof untyped) * 2),
    "OperatorNotAllowedInGraphError",
    "as a JavaScript number is not allowed: use tf ops",
  ],
  // Files
  "a folder for a model.json": [
    at(() => tf.loadGraphModel(new URL(".", import.meta.url).pathname)),
    "FailedPreconditionError",
    "wanted a model.json, and loadSavedModel() of @weft/weft/tf reads folders",
  ],
  "an empty field of CSV": [
    at(() => tf.data.csv(new Blob(["a,b\n,1\n"]), { columns: { a: "int32" } }).toArray()),
    "InvalidArgumentError",
    'field "a" is required but missing: its column may have a default',
  ],
  "a tensor in a list, saved": [
    at(() => untyped.io.serializeVariables([x()])),
    "TypeError",
    "Cannot save variables",
    "received a tensor without a key to name it",
  ],
  "a tensor that is to be restored": [
    at(async () => {
      const bytes = await tf.io.serializeVariables({ w: tf.variable([1]) });
      await untyped.io.restoreVariables({ w: tf.tensor([1]) }, bytes);
    }),
    "TypeError",
    "Cannot restore variables",
    "received a tensor, which never changes",
  ],
  "nothing that is to be restored": [
    at(async () => {
      const bytes = await tf.io.serializeVariables({ w: tf.variable([1]) });
      await untyped.io.restoreVariables(undefined, bytes);
    }),
    "TypeError",
    "Cannot restore variables",
    "received undefined",
  ],
};

Deno.test("habits of other libraries are told in words that lead on", async (t) => {
  await tf.setBackend("cpu");
  for (const [name, [make, kind, ...words]] of Object.entries(HABITS)) {
    await t.step(name, async () => {
      let error: Error | null = null;
      try {
        await make();
      } catch (e) {
        error = e as Error;
      }
      assert(error !== null, "nothing was thrown");
      assertEquals(error.name, kind, error.message);
      for (const word of words) assert(error.message.includes(word), error.message);
    });
  }
});

Deno.test("tensors are saved beside variables, by their keys", async () => {
  const w = tf.variable([1, 2]);
  const bytes = await tf.io.serializeVariables({ w, mean: tf.tensor([3]) });
  const { mean } = tf.io.readSafetensors(bytes).tensors;
  assertEquals(mean!.toArray(), [3]);
  w.assign([0, 0]);
  await tf.io.restoreVariables({ w }, bytes, { strict: false });
  assertEquals(w.arraySync(), [1, 2]);
});
