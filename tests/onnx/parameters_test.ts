/** Scales, zero points and biases of a file: constants of graphs without ops, also where their numbers are fed. */
import { assertEquals } from "@std/assert";
import * as tf from "@weft/weft";
import { loadOnnx } from "@weft/weft/onnx";
import { testOnDevices } from "../devices.ts";
import { floats, model, node, tensor, value } from "./make_model.ts";

/** Parts of a model whose scales, zero points and bias are of the file, or inputs. */
function convolution(isHeld: boolean, one: readonly number[], each: boolean) {
  const w = Uint8Array.from({ length: 4 * 2 * 9 }, (_, i) => i * 37);
  const numbers = [
    ["xs", "float32", one, floats(0.5)],
    ["xz", "uint8", one, Uint8Array.of(7)],
    ["ws", "float32", each ? [4] : one, each ? floats(0.5, 0.25, 0.125, 1.1) : floats(0.3)],
    ["wz", "uint8", each ? [4] : one, each ? Uint8Array.of(3, 5, 0, 255) : Uint8Array.of(9)],
    ["ys", "float32", one, floats(90)],
    ["yz", "uint8", one, Uint8Array.of(11)],
    ["b", "int32", [4], Int32Array.of(-4000, 0, 2, 12345)],
  ] as const;
  const fed = numbers.filter(([name]) => !isHeld && name !== "b");
  return {
    fed,
    file: model({
      nodes: [node("QLinearConv", ["x", "xs", "xz", "w", "ws", "wz", "ys", "yz", "b"], ["y"])],
      inputs: [
        value("x", "uint8", [1, 2, 6, 6]),
        ...fed.map(([name, dtype, shape]) => value(name, dtype, shape)),
      ],
      outputs: [value("y", "uint8", [1, 4, 4, 4])],
      initialisers: [
        tensor("w", [4, 2, 3, 3], w),
        ...numbers.filter((n) => !fed.includes(n)).map(([name, , shape, data]) =>
          tensor(name, shape, data)
        ),
      ],
    }),
  };
}

testOnDevices("a file's scales and zero points give what fed ones give", async () => {
  const x = tf.tensor(Uint8Array.from({ length: 72 }, (_, i) => i * 53), [1, 2, 6, 6], "uint8");
  for (const one of [[], [1]]) {
    for (const each of [true, false]) {
      const held = await loadOnnx(convolution(true, one, each).file);
      const { fed, file } = convolution(false, one, each), other = await loadOnnx(file);
      const inputs = Object.fromEntries(
        fed.map(([name, dtype, shape, data]) => [name, tf.tensor(data, [...shape], dtype)]),
      );
      const wanted = (await other.run({ x, ...inputs })).y as tf.Tensor;
      assertEquals(
        await ((await held.run({ x })).y as tf.Tensor).array(),
        await wanted.array(),
      );
      assertEquals(await (held.runEagerly({ x }).y as tf.Tensor).array(), await wanted.array());
      held.dispose();
      other.dispose();
    }
  }
});

Deno.test("scales and zero points of a file are constants of its graph, which no ops change", async () => {
  const m = await loadOnnx(convolution(true, [1], true).file);
  const made = m.graph.operations.filter((o) => o.inputs.length > 0 && o.type !== "Conv2D");
  const isConstant = (t: { readonly op: { readonly type: string } }) => t.op.type === "Const";
  const names = made.filter((o) => o.inputs.every((t) => isConstant(t as never))).map((o) =>
    o.type
  );
  assertEquals(names, []);
  m.dispose();
});

testOnDevices("a zero point of int32 is subtracted as int32", async () => {
  const m = await loadOnnx(model({
    nodes: [node("DequantizeLinear", ["q", "s", "z"], ["y"])],
    inputs: [value("q", "int32", [2])],
    outputs: [value("y", "float32", [2])],
    initialisers: [tensor("s", [], floats(1)), tensor("z", [], Int32Array.of(2 ** 24 + 1))],
  }));
  const { y } = await m.run({ q: tf.tensor([2 ** 24 + 2, 2 ** 24 + 5], [2], "int32") });
  assertEquals(await (y as tf.Tensor).array(), [1, 4]);
});
