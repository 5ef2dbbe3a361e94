/** Bodies that take an array for a tensor or for a text are told what it is, wherever they run. */
import * as tf from "@weft/weft";
import { assertRejects, assertStringIncludes, assertThrows } from "@std/assert";
import { testOnDevices } from "../devices.ts";

const { InvalidArgumentError } = tf.errors;
const HINT =
  "get NdArrays, with numbers in data, item() and toArray() and text in text() and strings();";

// deno-lint-ignore no-explicit-any -- programs without types make these.
type Untyped = any;
/** Bodies, and the hint after the engine's words; none for an unknown method. */
const BODIES: Readonly<Record<string, readonly [body: (x: Untyped) => unknown, hint: string]>> = {
  arraySync: [(x) => x.arraySync(), HINT],
  dataSync: [(x) => x.dataSync(), HINT],
  "dispose, of a local": [(x) => {
    const y = x;
    y.dispose();
    return y;
  }, HINT],
  split: [(x) => x.split(" "), HINT],
  toLowerCase: [(x) => x.toLowerCase(), HINT],
  push: [(x) => x.push(1), "is not a function"],
};

testOnDevices("bodies of arrays that call methods of tensors are told what they get", async () => {
  for (const [name, [body, hint]] of Object.entries(BODIES)) {
    const call = (x: tf.Tensor): tf.Tensor => tf.numpyFunction(body, [x], "float32");
    using x = tf.tensor([1, 2]);
    const errors = [
      assertThrows(() => call(x), InvalidArgumentError, hint, name),
      await assertRejects(() => tf.function(call).async(x), InvalidArgumentError, hint, name),
      await assertRejects(
        () => tf.numpyFunctionAsync(body, [x], "float32", { worker: true }),
        InvalidArgumentError,
        hint,
        name,
      ),
    ];
    for (const { message } of errors) assertStringIncludes(message, "TypeError: ");
  }
});

testOnDevices("bodies of tensors are told nothing of arrays", () => {
  using x = tf.tensor([1, 2]);
  const { message } = assertThrows(
    () => tf.pyFunction((x: Untyped) => x.toLowerCase(), [x], "float32"),
    InvalidArgumentError,
  );
  if (message.includes("NdArray")) throw new Error(message);
});
