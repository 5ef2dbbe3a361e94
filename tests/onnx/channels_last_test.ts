/** Ops of onnxruntime on images with channels last, which its CPU has not: they are what ONNX's own ops make of turned images. */
import { assertEquals } from "@std/assert";
import * as tf from "@weft/weft";
import { loadOnnx, type OnnxModel } from "@weft/weft/onnx";
import { testOnDevices } from "../devices.ts";
import {
  type AttributeValue,
  floats,
  model,
  node,
  type Part,
  tensor,
  value,
} from "./make_model.ts";

type Attributes = Readonly<Record<string, AttributeValue>>;

const MICROSOFT = "com.microsoft", OPEN = ["n", "h", "w", 4] as const;
const numbers = (n: number): Float32Array =>
  Float32Array.from({ length: n }, (_, i) => i * 7 % 11 / 8 - 0.5);
const turned = (x: string, y: string): Part =>
  node("Transpose", [x], [y], { perm: [0n, 3n, 1n, 2n] });
const back = (x: string, y: string): Part =>
  node("Transpose", [x], [y], { perm: [0n, 2n, 3n, 1n] });

const IMAGE = [value("x", "float32", OPEN)], RESULT = [value("y", "float32", ["n", "a", "b", "c"])];
const FILTER = tensor("w", [6, 2, 3, 2], numbers(72)), BIAS = tensor("b", [6], numbers(6));
const WINDOW: Attributes = { kernel_shape: [3n, 2n], strides: [2n, 1n], pads: [1n, 0n, 1n, 1n] };
const GROUPED: Attributes = { ...WINDOW, group: 2n };
const SCALES = [tensor("s", [4], floats(1, 2, 3, 4)), tensor("t", [4], floats(0.5, 0, -1, 2))];

/** Nodes of onnxruntime's, and those of ONNX's that mean the same, by name. */
const CASES: Readonly<
  Record<string, { theirs: Part[]; ours: Part[]; constants: Part[]; skip?: boolean }>
> = {
  NhwcConv: {
    theirs: [node("NhwcConv", ["x", "w", "b"], ["y"], GROUPED, MICROSOFT)],
    ours: [turned("x", "i"), node("Conv", ["i", "w", "b"], ["o"], GROUPED), back("o", "y")],
    constants: [FILTER, BIAS],
  },
  NhwcFusedConv: {
    theirs: [
      node("NhwcFusedConv", ["x", "w", "b"], ["y"], { ...GROUPED, activation: "Relu" }, MICROSOFT),
    ],
    ours: [
      turned("x", "i"),
      node("Conv", ["i", "w", "b"], ["o"], GROUPED),
      node("Relu", ["o"], ["r"]),
      back("r", "y"),
    ],
    constants: [FILTER, BIAS],
  },
  NhwcMaxPool: {
    theirs: [node("NhwcMaxPool", ["x"], ["y"], WINDOW, MICROSOFT)],
    ours: [turned("x", "i"), node("MaxPool", ["i"], ["o"], WINDOW), back("o", "y")],
    constants: [],
  },
  GroupNorm: {
    theirs: [
      node(
        "GroupNorm",
        ["x", "s", "t"],
        ["y"],
        { groups: 2n, epsilon: 0.01, activation: 1n },
        MICROSOFT,
      ),
    ],
    ours: [
      turned("x", "i"),
      node("GroupNormalization", ["i", "s", "t"], ["o"], { num_groups: 2n, epsilon: 0.01 }),
      node("Sigmoid", ["o"], ["g"]),
      node("Mul", ["o", "g"], ["m"]),
      back("m", "y"),
    ],
    constants: SCALES,
  },
  SkipGroupNorm: {
    theirs: [
      node("SkipGroupNorm", ["x", "s", "t", "k", "s"], ["y", "sum"], { groups: 2n }, MICROSOFT),
    ],
    ours: [
      node("Unsqueeze", ["k", "axes"], ["row"]),
      node("Add", ["x", "row"], ["u"]),
      node("Add", ["u", "s"], ["sum"]),
      turned("sum", "i"),
      node("GroupNormalization", ["i", "s", "t"], ["o"], { num_groups: 2n }),
      back("o", "y"),
    ],
    constants: [
      ...SCALES,
      tensor("k", [1, 4], floats(1, 2, 0, 1)),
      tensor("axes", [2], new BigInt64Array([1n, 2n])),
    ],
  },
  BiasAdd: {
    theirs: [node("BiasAdd", ["x", "s", "x"], ["y"], {}, MICROSOFT)],
    ours: [node("Add", ["x", "s"], ["u"]), node("Add", ["u", "x"], ["y"])],
    constants: SCALES,
  },
  BiasSplitGelu: {
    theirs: [node("BiasSplitGelu", ["x", "s"], ["y"], {}, MICROSOFT)],
    ours: [
      node("Add", ["x", "s"], ["u"]),
      node("Split", ["u"], ["left", "right"], { axis: -1n, num_outputs: 2n }),
      node("Gelu", ["right"], ["g"]),
      node("Mul", ["left", "g"], ["y"]),
    ],
    constants: SCALES,
  },
};

function loaded(nodes: readonly Part[], initialisers: readonly Part[]): Promise<OnnxModel> {
  const graph = { nodes, inputs: IMAGE, outputs: RESULT, initialisers };
  return loadOnnx(model({ ...graph, opset: 21, domains: [MICROSOFT] }));
}

for (const [name, { theirs, ours, constants }] of Object.entries(CASES)) {
  testOnDevices(
    `${name} is what ONNX's ops make of turned images, with gradients and open extents`,
    async () => {
      const [a, b] = await Promise.all([loaded(theirs, constants), loaded(ours, constants)]);
      const x = tf.tensor(numbers(2 * 5 * 4 * 4), [2, 5, 4, 4]);
      const told: number[][] = [];
      for (const m of [a, b]) {
        const call = (v: tf.Tensor): tf.Tensor => m.call({ x: v }).y as tf.Tensor;
        const compiled = tf.function(call, {
          inputSignature: [
            new tf.TensorSpec(name === "NhwcMaxPool" ? [2, 5, 4, 4] : [null, null, null, 4]),
          ],
        });
        const weigh = (f: (v: tf.Tensor) => tf.Tensor) =>
          tf.grad((v: tf.Tensor) => tf.sum(tf.square(f(v))));
        for (
          const result of [
            (await m.run({ x })).y,
            call(x),
            compiled(x),
            weigh(call)(x),
            weigh(compiled)(x),
          ]
        ) {
          told.push([...await (result as tf.Tensor).data() as Float32Array]);
        }
      }
      const near = (list: readonly number[]): number[] =>
        list.map((v) => Math.round(v * 1e3) / 1e3 + 0);
      for (let i = 0; i < 5; i++) assertEquals(near(told[i]), near(told[5 + i]), `of ${i}`);
      for (const m of [a, b]) m.dispose();
    },
  );
}
