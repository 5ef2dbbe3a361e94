// A whole network as applications run it: MobileNet v2 on one image of 224², batch normalization folded into the filters.

import type { Tensor, Tensor1D, Tensor4D } from "@tensorflow/tfjs-core";
import { type Conv, samePadding } from "../conv_shape.ts";
import { permute } from "../layout.ts";
import { opRow, type Values } from "../op_row.ts";
import type { JaxArray } from "../peers/jax.ts";
import { normals, sizeOf } from "../random.ts";
import { conv64, matmul64 } from "../reference.ts";
import type { Row, Sample } from "../row.ts";

/** A convolution with a bias. */
interface Layer extends Conv {
  /** Ends with relu6. */
  readonly relu: boolean;
  /** A block begins here. */
  readonly begins: boolean;
  /** True where the block's input is added. */
  readonly adds: boolean;
}

const SIZE = 224, FEATURES = 1280, CLASSES = 1000;

/** Blocks: how much wider they are within, channels that come out, how many there are, stride of the first. */
const BLOCKS = [
  [1, 16, 1, 1],
  [6, 24, 2, 2],
  [6, 32, 3, 2],
  [6, 64, 4, 2],
  [6, 96, 3, 1],
  [6, 160, 3, 2],
  [6, 320, 1, 1],
] as const;

const LAYERS: readonly Layer[] = layers();

function layers(): Layer[] {
  const list: Layer[] = [];
  let size = SIZE, channels = 3;
  const add = (layer: Partial<Layer> & { to: number }): void => {
    const whole: Layer = {
      size,
      from: channels,
      kernel: 1,
      stride: 1,
      depthwise: false,
      relu: true,
      begins: false,
      adds: false,
      ...layer,
    };
    list.push(whole);
    size = Math.ceil(size / whole.stride);
    channels = whole.to;
  };
  add({ to: 32, kernel: 3, stride: 2 });
  for (const [times, to, count, first] of BLOCKS) {
    for (let i = 0; i < count; i++) {
      const stride = i === 0 ? first : 1, from = channels;
      if (times > 1) add({ to: times * from, begins: true });
      add({ to: channels, kernel: 3, stride, depthwise: true, begins: times === 1 });
      add({ to, relu: false, adds: stride === 1 && from === to });
    }
  }
  add({ to: FEATURES });
  return list;
}

function filterShape({ kernel, from, to, depthwise }: Layer): [number, number, number, number] {
  return [kernel, kernel, from, depthwise ? 1 : to];
}

/** Shapes of the inputs: the image, each layer's filter and bias, the last matrix. */
const SHAPES: readonly (readonly number[])[] = [
  [1, SIZE, SIZE, 3],
  ...LAYERS.flatMap((layer) => [filterShape(layer), [layer.to]]),
  [FEATURES, CLASSES],
];

/** Filters that keep values about as large as they come in. */
function makeInputs(): Values {
  return SHAPES.map((shape, i) => {
    const layer = i % 2 === 1 ? LAYERS[i >> 1] : undefined;
    const terms = layer ? layer.kernel ** 2 * (layer.depthwise ? 1 : layer.from) : FEATURES;
    const deviation = i === 0 ? 1 : shape.length === 1 ? 0.1 : Math.sqrt(2 / terms);
    return normals(sizeOf(shape), i + 1, deviation);
  });
}

/** Goes through the layers; `apply` gets the number of the layer's filter among the inputs, its bias comes after it. */
function through<T>(
  image: T,
  apply: (x: T, layer: Layer, filter: number) => T,
  add: (x: T, shortcut: T) => T,
): T {
  let x = image, shortcut = image;
  for (const [i, layer] of LAYERS.entries()) {
    if (layer.begins) shortcut = x;
    x = apply(x, layer, 1 + 2 * i);
    if (layer.adds) x = add(x, shortcut);
  }
  return x;
}

/** The first of the logits. */
function expected(inputs: Values): Sample[] {
  const features = through<ArrayLike<number>>(
    inputs[0]!,
    (x, layer, i) =>
      conv64(x, inputs[i]!, layer).map((value, at) => {
        const y = value + inputs[i + 1]![at % layer.to]!;
        return layer.relu ? Math.min(6, Math.max(0, y)) : y;
      }),
    (x, shortcut) => Float64Array.from(x, (value, i) => value + shortcut[i]!),
  );
  const means = new Float64Array(FEATURES), places = features.length / FEATURES;
  for (let i = 0; i < features.length; i++) {
    means[i % FEATURES] = means[i % FEATURES]! + features[i]! / places;
  }
  const logits = matmul64(means, inputs.at(-1)!, [1, FEATURES, CLASSES]);
  return Array.from(logits, (value, index) => ({ index, value }));
}

/** Rows of this file. */
export const MOBILENET_ROWS: readonly Row[] = [opRow({
  id: "mobilenet",
  what: "MobileNet v2, one image of 224²",
  flop: 2 * FEATURES * CLASSES + LAYERS.reduce((sum, layer) => {
    const out = Math.ceil(layer.size / layer.stride) ** 2;
    return sum + 2 * out * sizeOf(filterShape(layer));
  }, 0),
  inputs: SHAPES,
  makeInputs,
  tf(tf, ...inputs) {
    const convolve = (x: Tensor, { stride, depthwise, relu }: Layer, i: number): Tensor => {
      const problem = {
        x: x as Tensor4D,
        filter: inputs[i] as Tensor4D,
        bias: inputs[i + 1] as Tensor1D,
        strides: stride,
        pad: "same",
        activation: relu ? "relu6" : "linear",
      } as const;
      return depthwise ? tf.fused.depthwiseConv2d(problem) : tf.fused.conv2d(problem);
    };
    const features = through<Tensor>(inputs[0]!, convolve, (x, y) => tf.add(x, y));
    return tf.matMul(tf.mean(features, [1, 2]), inputs.at(-1)!);
  },
  jax({ lax, numpy }, ...inputs) {
    const convolve = (x: JaxArray, layer: Layer, i: number): JaxArray => {
      const { from, stride, depthwise, relu } = layer;
      const { before, after } = samePadding(layer);
      const y = lax.convGeneralDilated(
        x,
        inputs[i]!,
        [stride, stride],
        [[before, after], [before, after]],
        depthwise ? { featureGroupCount: from } : {},
      ).add(inputs[i + 1]!.reshape([layer.to, 1, 1]));
      return relu ? numpy.clip(y, 0, 6) : y;
    };
    let shortcut: JaxArray | undefined;
    const features = through<JaxArray>(inputs[0]!, (x, layer, i) => {
      if (layer.begins) shortcut = x.ref;
      return convolve(x, layer, i);
    }, (x) => x.add(shortcut!.ref));
    return numpy.matmul(numpy.mean(features, [2, 3]), inputs.at(-1)!);
  },
  onnx(graph, ...inputs) {
    const features = through(inputs[0]!, (x, layer, i) => {
      const { from, stride, depthwise, relu } = layer;
      const { before, after } = samePadding(layer);
      const y = graph.op("Conv", [x, inputs[i]!, inputs[i + 1]!], {
        strides: [stride, stride],
        pads: [before, before, after, after],
        group: depthwise ? from : 1,
      });
      return relu ? graph.op("Clip", [y, graph.scalar(0), graph.scalar(6)]) : y;
    }, (x, y) => graph.op("Add", [x, y]));
    const means = graph.op("GlobalAveragePool", [features]);
    return graph.op("MatMul", [
      graph.op("Reshape", [means, graph.integers(1, FEATURES)]),
      inputs.at(-1)!,
    ]);
  },
  weights: SHAPES.map((_, i) => i).slice(1),
  channelsFirst: {
    inputs: (values) =>
      values.map((value, i) => {
        const shape = SHAPES[i]!;
        if (i === 0) {
          return {
            values: permute(value, [1, SIZE, SIZE, 3], [0, 3, 1, 2]),
            shape: [1, 3, SIZE, SIZE],
          };
        }
        if (shape.length !== 4) return { values: value, shape };
        const layer = LAYERS[i >> 1]!, [height, width, from, to] = filterShape(layer);
        return layer.depthwise
          ? {
            values: permute(value, [height, width, from, to], [2, 3, 0, 1]),
            shape: [from, to, height, width],
          }
          : {
            values: permute(value, [height, width, from, to], [3, 2, 0, 1]),
            shape: [to, from, height, width],
          };
      }),
    result: (result) => result,
  },
  expected,
  tolerance: 1e-3,
})];
