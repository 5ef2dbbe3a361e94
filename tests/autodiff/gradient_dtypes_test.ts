/** Gradients have the dtype of their value, also where the rule of an op computes in another one. */
import * as tf from "@weft/weft";
import { assertEquals, assertRejects } from "@std/assert";
import { apply1 } from "../../src/engine/core/apply.ts";
import { defineOp, type OpDef } from "../../src/engine/core/op.ts";
import { testOnDevices } from "../devices.ts";

/** An identity whose rule gives a gradient of another dtype, as rows where it is to. */
function ruleIn(dtype: tf.DType, inRows = false): OpDef {
  return defineOp({
    name: `RuleIn_${dtype}${inRows ? "_rows" : ""}`,
    inputs: ["x: T"],
    outputs: ["y: T"],
    attrs: ["T: type"],
    infer: ([x]) => [x.shape],
    expand: ([x]) => [tf.identity(x as tf.Tensor)],
    grad: {
      saves: [],
      vjp: (_, [dy]) => {
        const g = tf.cast(dy, dtype);
        return [inRows ? new tf.IndexedSlices(g, [0, 1], [2]) : g];
      },
    },
  });
}

const WIDE = ruleIn("float32"), ROWS = ruleIn("float32", true), COMPLEX = ruleIn("complex64");

/** Functions of float16 whose rules compute in float32, and their gradients at 1.5 and 2.5. */
const CASES: Readonly<Record<string, [(x: tf.Tensor) => tf.Tensor, number[]]>> = {
  digamma: [tf.math.digamma, [0.9346, 0.4905]],
  "an op of one's own": [(x) => apply1(WIDE, [x]), [1, 1]],
  "rows of an op of one's own": [(x) => apply1(ROWS, [x]), [1, 1]],
  "a product of both": [(x) => tf.mul(tf.math.digamma(x), apply1(WIDE, [x])), [1.4385, 1.9297]],
};

/** The dtype and values of a gradient; rows are read as the dense tensor. */
async function read(g: tf.Tensor): Promise<[string, number[]]> {
  return [g.dtype, await tf.cast(g, "float32").array() as number[]];
}

testOnDevices("gradients have the dtype of their value", async () => {
  for (const [name, [f, wanted]] of Object.entries(CASES)) {
    using _scope = tf.scope();
    const x = tf.tensor([1.5, 2.5], [2], "float16");
    // What comes before reads the gradient, and must find its own dtype.
    const before = (x: tf.Tensor) =>
      f(tf.mul(
        tf.reshape(tf.matMul(tf.reshape(x, [1, 2]), tf.eye(2, 2, null, "float16")), [2]),
        x.dtype === "float16" ? tf.ones([2], "float16") : 1,
      ));
    const slope = (x: tf.Tensor) => tf.grad(before)(x);
    const ways: Record<string, () => tf.Tensor | Promise<tf.Tensor>> = {
      eagerly: () => slope(x),
      compiled: () => tf.function(slope).async(x) as Promise<tf.Tensor>,
      "with unknown extents": () =>
        tf.function(slope, { inputSignature: [new tf.TensorSpec([null], "float16")] })
          .async(x) as Promise<tf.Tensor>,
      "of a tape": () => {
        using tape = new tf.GradientTape();
        tape.watch(x);
        return tape.gradient(f(x), x) as tf.Tensor;
      },
    };
    for (const [way, run] of Object.entries(ways)) {
      const [dtype, values] = await read(await run());
      assertEquals(dtype, "float16", `${name} ${way}`);
      values.forEach((v, i) =>
        assertEquals(Math.abs(v - wanted[i]) < 4e-3, true, `${name} ${way}: ${values}`)
      );
    }
  }
});

testOnDevices("a gradient of another kind of dtype is refused by the op's name", async () => {
  using _scope = tf.scope();
  const slope = tf.grad((x) => apply1(COMPLEX, [x])), x = tf.tensor([1, 2]);
  const text =
    "Cannot differentiate RuleIn_complex64: its gradient of input 0 is complex64, wanted float32";
  for (const f of [slope, tf.function(slope).async]) {
    await assertRejects(async () => void await (f(x) as tf.Tensor), TypeError, text);
  }
});
