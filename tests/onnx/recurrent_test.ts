/** Recurrent networks of ONNX as graphs: loops and unrolled steps agree with eager code, and have gradients. */
import { assert, assertEquals } from "@std/assert";
import * as tf from "@weft/weft";
import { loadOnnx, type OnnxModel } from "@weft/weft/onnx";
import { testOnDevices } from "../devices.ts";
import { type AttributeValue, floats, model, node, tensor, value } from "./make_model.ts";

const INPUTS = 3, SIZE = 2;

/** Returns numbers between −1 and 1. */
function numbers(count: number, seed: number): Float32Array {
  return floats(...Array.from({ length: count }, (_, i) => Math.sin(seed + 1.7 * i)));
}

/** Makes a model of one bidirectional network of x[steps, batch, 3], with lengths. */
async function network(
  op: string,
  gates: number,
  attributes: Record<string, AttributeValue>,
): Promise<OnnxModel> {
  const rows = gates * SIZE;
  return await loadOnnx(model({
    nodes: [
      node(op, ["x", "w", "r", "b", "lengths"], ["y", "last"], {
        hidden_size: BigInt(SIZE),
        direction: "bidirectional",
        ...attributes,
      }),
    ],
    inputs: [value("x", "float32", ["t", "n", INPUTS]), value("lengths", "int32", ["n"])],
    outputs: [
      value("y", "float32", ["t", 2, "n", SIZE]),
      value("last", "float32", [2, "n", SIZE]),
    ],
    initialisers: [
      tensor("w", [2, rows, INPUTS], numbers(2 * rows * INPUTS, 1)),
      tensor("r", [2, rows, SIZE], numbers(2 * rows * SIZE, 2)),
      tensor("b", [2, 2 * rows], numbers(4 * rows, 3)),
    ],
  }));
}

function isNear(a: tf.Tensor, b: tf.Tensor): void {
  assertEquals(a.shape, b.shape);
  const most = tf.max(tf.abs(tf.sub(a, b))).dataSync()[0];
  assert(most < 1e-5, `They differ by ${most}`);
}

const KINDS = [
  ["LSTM", 4, {}],
  ["GRU", 3, {}],
  ["GRU", 3, { linear_before_reset: 1n }],
  ["RNN", 1, {}],
] as const;

testOnDevices(
  "LSTM, GRU and RNN of any length agree with eager code",
  async (device) => {
    // A GPU's shaders take their time to compile.
    for (const [op, gates, attributes] of device === "cpu" ? KINDS : KINDS.slice(2, 3)) {
      const m = await network(op, gates, attributes);
      const f = (x: tf.Tensor, lengths: tf.Tensor): tf.Tensor => {
        const { y, last } = m.call({ x, lengths }) as Record<string, tf.Tensor>;
        return tf.add(tf.sum(tf.square(y)), tf.sum(last));
      };
      const gradient = (x: tf.Tensor, lengths: tf.Tensor): tf.Tensor =>
        tf.grad((v: tf.Tensor) => f(v, lengths))(x);
      const signature = [
        new tf.TensorSpec([null, null, INPUTS], "float32"),
        new tf.TensorSpec([null], "int32"),
      ];
      const compiled = tf.function(f, { inputSignature: signature });
      const turned = tf.function(gradient, { inputSignature: signature });
      const x = tf.tensor(numbers(3 * 2 * INPUTS, 5), [3, 2, INPUTS]);
      const lengths = tf.tensor1d([3, 1], "int32");
      const eager = m.runEagerly({ x, lengths }) as Record<string, tf.Tensor>;
      const wanted = tf.add(tf.sum(tf.square(eager.y)), tf.sum(eager.last));
      isNear(compiled(x, lengths), wanted);
      // The kinds differ in their cells alone.
      if (op === "LSTM" || device !== "cpu") isNear(turned(x, lengths), gradient(x, lengths));
      m.dispose();
    }
  },
);
