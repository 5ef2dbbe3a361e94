/** Mistakes that users of TensorFlow.js make: the class of the error, and the words that lead on. */
import * as tf from "@weft/weft";
import { assertEquals, assertStringIncludes } from "@std/assert";

// deno-lint-ignore no-explicit-any -- programs without types are where most of these come from.
type Untyped = any;
const untyped: Untyped = tf;

/** A mistake, the class of the error, and words of its message. */
const MISTAKES: Readonly<Record<string, readonly [() => unknown, string, ...string[]]>> = {
  "a tensor of TensorFlow.js": [
    () => untyped.add({ dataId: {}, shape: [1], dtype: "float32" }, 1),
    "TypeError",
    "fromTfjs() of @weft/weft/tfjs",
    "argument 'a' of 'add'",
  ],
  "a gradient of integers": [
    () => tf.grad((x: tf.Tensor) => tf.square(x))(tf.tensor([1, 2], undefined, "int32")),
    "ValueError",
    "input 0 of grad",
    "it is int32, wanted floating-point or complex numbers",
  ],
  "letters of an option exchanged": [
    () => untyped.numpyFunction((a: Untyped) => a, [1], "float32", { vpj: () => [] }),
    "TypeError",
    'did you mean "vjp"? It takes',
  ],
  "an option that is like no other": [
    () => untyped.numpyFunction((a: Untyped) => a, [1], "float32", { qqqqqq: 1 }),
    "TypeError",
    'Unknown option "qqqqqq" of numpyFunction: it takes',
  ],
  "a generator without a signature": [
    () => untyped.data.fromGenerator(function* () {}),
    "TypeError",
    "'outputSignature' of fromGenerator",
  ],
  "a file that must be awaited": [
    () => tf.io.readFile("/nonexistent/x.png"),
    "FailedPreconditionError",
    "await tf.function(() => tf.io.readFile(path)).async()",
  ],
  "a folder for a file": [
    () => tf.data.textLines(Deno.cwd()).toArray(),
    "FailedPreconditionError",
    "it is a folder",
  ],
};

Deno.test("mistakes that users of TensorFlow.js make are told in words that lead on", async (t) => {
  await tf.setBackend("cpu");
  for (const [name, [make, kind, ...words]] of Object.entries(MISTAKES)) {
    await t.step(name, async () => {
      const error = await (async () => void await make())().then(() => null, (e: Error) => e);
      assertEquals(error?.name, kind, error?.message);
      for (const word of words) assertStringIncludes(error!.message, word);
    });
  }
});
