/** Layers of Keras over one and three axes, those that encode categories, and those that change images at random in training. */
import * as tf from "../../../mod.ts";
import { UnimplementedError } from "../../engine/core/errors.ts";
import type { Json } from "../layers/keras_json.ts";
import { RANDOM_IMAGES } from "./augment/random_images.ts";
import { encoded, modeOf } from "./encoding.ts";
import {
  type CallOf,
  type Extents,
  type Kind,
  last,
  numbers,
  pair,
  type Settings,
  shapeOf,
  type Weight,
} from "./layer_kinds.ts";
import { NOISE_LAYERS } from "./augment/noise_layers.ts";
import { dropped } from "./augment/seeded.ts";
import { cutToAspect, resized } from "./resizing.ts";

const isChannelsFirst = ({ dataFormat }: Settings): boolean =>
  dataFormat === "channelsFirst" || dataFormat === "channels_first";

function channelsLast(config: Settings): void {
  if (!isChannelsFirst(config)) return;
  throw new UnimplementedError(
    `Cannot make layer ${config.name}: channels first are not supported`,
  );
}

/** The axes of a layer's input between rows and channels. */
function spatialAxes(x: tf.Tensor, config: Settings): number[] {
  const first = isChannelsFirst(config) ? 2 : 1;
  return Array.from({ length: shapeOf(x).length - 2 }, (_, i) => i + first);
}

/** A pooling of all steps of all axes. */
function pooled(reduce: (x: tf.Tensor, axes: number[], keep: boolean) => tf.Tensor): Kind {
  return {
    call: ({ inputs: [x], config }) => reduce(x, spatialAxes(x, config), config.keepdims === true),
  };
}

/** Drops whole maps. */
const droppedMaps: Kind = {
  masks: true,
  call({ inputs: [x], config, training }) {
    const rate = Number(config.rate ?? 0);
    if (!training || rate === 0) return tf.clone(x);
    return tf.mul(x, dropped(tf.onesLike(tf.max(x, spatialAxes(x, config), true)), rate));
  },
};

/** Pairs of a setting for three axes. */
const pairs = (value: Json | undefined): [number, number][] =>
  (Array.isArray(value) ? value : [value, value, value]).map((each) => pair(each ?? 1));

/** A convolution of each channel along steps, as one of images of one row. */
function alongSteps(x: tf.Tensor, kernel: tf.Tensor, config: Settings): tf.Tensor {
  channelsLast(config);
  const [stride] = numbers(config.strides ?? 1), [dilation] = numbers(config.dilationRate ?? 1);
  const padding = String(config.padding ?? "valid");
  if (padding !== "valid" && padding !== "same") {
    throw new UnimplementedError(`Cannot run layer ${config.name}: padding ${padding}`);
  }
  const y = tf.depthwiseConv2d(
    tf.expandDims(x, 1) as tf.Tensor4D,
    tf.expandDims(kernel, 0) as tf.Tensor4D,
    stride,
    padding,
    "NHWC",
    dilation,
  );
  return tf.squeeze(y, [1]);
}

const stepKernel = (config: Settings, [shape]: readonly Extents[]): [number[], number] => {
  const [size] = numbers(config.kernelSize), depth = Number(config.depthMultiplier ?? 1);
  return [[size, last(shape), depth], last(shape) * depth];
};
const biasOf = (config: Settings, extent: number): Weight[] =>
  config.useBias === false ? [] : [{ name: "bias", shape: [extent], start: 0 }];

function discretized({ inputs: [x], config }: CallOf): tf.Tensor {
  if (!Array.isArray(config.binBoundaries)) {
    throw new UnimplementedError(
      `Cannot run layer ${config.name}: it has no bin_boundaries, adapt it before it is saved`,
    );
  }
  const bounds = config.binBoundaries.map(Number);
  const above = tf.greaterEqual(tf.expandDims(tf.cast(x, "float32"), -1), tf.tensor(bounds));
  return encoded(tf.sum(tf.cast(above, "int32"), -1), {
    mode: modeOf(config.outputMode),
    depth: bounds.length + 1,
    name: config.name,
  });
}

/** Cuts the middle out of images; smaller ones are cut to its aspect ratio and resized. */
function centered({ inputs: [x], config }: CallOf): tf.Tensor {
  channelsLast(config);
  const shape = shapeOf(x), size: [number, number] = [Number(config.height), Number(config.width)];
  const begin = size.map((n, i) => Math.floor((Number(shape.at(i - 3)) - n) / 2));
  if (begin.some((n) => !(n >= 0))) {
    const y = cutToAspect(tf.cast(x, "float32"), size, config.name);
    return resized(y, size, { interpolation: "bilinear" });
  }
  const before = shape.slice(0, -3);
  return tf.slice(
    tf.cast(x, "float32"),
    [...before.map(() => 0), ...begin, 0],
    [...before.map(() => -1), ...size, -1],
  );
}

/** Layers by the names of Keras. */
export const MORE_LAYERS: Readonly<Record<string, Kind>> = {
  ...RANDOM_IMAGES,
  ...NOISE_LAYERS,
  ELU: {
    masks: true,
    call: ({ inputs: [x], config }) =>
      tf.where(tf.greater(x, 0), x, tf.mul(tf.expm1(tf.minimum(x, 0)), Number(config.alpha ?? 1))),
  },
  ...Object.fromEntries(
    ["1D", "2D", "3D"].flatMap((axes) => [
      [`GlobalAveragePooling${axes}`, pooled(tf.mean)],
      [`GlobalMaxPooling${axes}`, pooled(tf.max)],
    ]),
  ),
  SpatialDropout2D: droppedMaps,
  SpatialDropout3D: droppedMaps,
  ZeroPadding3D: {
    call({ inputs: [x], config }) {
      channelsLast(config);
      return tf.pad(x, [[0, 0], ...pairs(config.padding), [0, 0]]);
    },
  },
  Cropping3D: {
    call({ inputs: [x], config }) {
      channelsLast(config);
      const all = pairs(config.cropping), shape = shapeOf(x);
      const kept = all.map(([before, after], i) => Number(shape[i + 1]) - before - after);
      return tf.slice(x, [0, ...all.map(([before]) => before), 0], [-1, ...kept, -1]);
    },
  },
  UpSampling3D: {
    call({ inputs: [x], config }) {
      channelsLast(config);
      const sizes = numbers(config.size ?? 2), extents = shapeOf(x).slice(1).map(Number);
      return sizes.concat(sizes, sizes).slice(0, 3).reduce((y, size, i) => {
        const reps = new Array<number>(6).fill(1);
        reps[i + 2] = size;
        extents[i] *= size;
        return tf.reshape(tf.tile(tf.expandDims(y, i + 2), reps), [-1, ...extents]);
      }, x);
    },
  },
  DepthwiseConv1D: {
    weights(config, shapes) {
      const [kernel, width] = stepKernel(config, shapes);
      return [{ name: "kernel", shape: kernel }, ...biasOf(config, width)];
    },
    call({ inputs: [x], weights: [kernel, bias], config }) {
      const y = alongSteps(x, kernel, config);
      return bias ? tf.add(y, bias) : y;
    },
  },
  SeparableConv1D: {
    weights(config, shapes) {
      const [kernel, width] = stepKernel(config, shapes), filters = Number(config.filters);
      return [
        { name: "depthwise_kernel", shape: kernel },
        { name: "pointwise_kernel", shape: [1, width, filters] },
        ...biasOf(config, filters),
      ];
    },
    call({ inputs: [x], weights: [kernel, points, bias], config }) {
      const y = tf.conv1d(
        alongSteps(x, kernel, config) as tf.Tensor3D,
        points as tf.Tensor3D,
        1,
        "valid",
      );
      return bias ? tf.add(y, bias) : y;
    },
  },
  CenterCrop: { call: centered },
  ActivityRegularization: {
    masks: true,
    call: ({ inputs: [x] }) => tf.clone(x),
    penalty(y, config) {
      const l1 = Number(config.l1 ?? 0), l2 = Number(config.l2 ?? 0);
      if (l1 === 0 && l2 === 0) return null;
      const whole = tf.add(tf.mul(tf.sum(tf.abs(y)), l1), tf.mul(tf.sum(tf.square(y)), l2));
      return tf.div(whole, tf.cast(tf.gather(tf.shape(y), 0), "float32"));
    },
  },
  // Boxes alone change, which lie beside images in datasets.
  MaxNumBoundingBoxes: { call: ({ inputs: [x] }) => tf.clone(x), masks: true },
  CategoryEncoding: {
    call: ({ inputs: [x, counts], config }) =>
      encoded(x, {
        mode: modeOf(config.outputMode, "multi_hot"),
        depth: Number(config.numTokens),
        name: config.name,
        counts,
      }),
  },
  Discretization: { call: discretized },
};
