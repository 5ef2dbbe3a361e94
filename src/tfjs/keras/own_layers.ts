/** Layers of Keras that `tfjs-layers` lacks: their weights, and a function of tensors. */
import * as tf from "../../../mod.ts";
import { UnimplementedError } from "../../engine/core/errors.ts";
import type { Json } from "../layers/keras_config.ts";
import { ADAPTIVE_POOLINGS } from "./adaptive_pooling.ts";
import { ATTENTIONS } from "./attention_layers.ts";
import { CONV_LSTMS } from "./conv_lstm.ts";
import { CONVOLUTIONS } from "./convolutions.ts";
import { CROSSINGS } from "./crossing.ts";
import {
  along,
  extent,
  type Extents,
  type Kind,
  last,
  numbers,
  pair,
  places,
  type Settings,
  shapeOf,
  template,
  type Weight,
} from "./layer_kinds.ts";
import { EQUALIZATIONS } from "./histogram_equalization.ts";
import { MORE_LAYERS } from "./more_layers.ts";
import { runOperation } from "./operations.ts";
import { resized, RESIZING } from "./resizing.ts";
import { SPECTROGRAMS } from "./spectrograms.ts";
import { TEXT_LAYERS } from "./text_layers.ts";

/** The parts of an equation of `EinsumDense`, "ab,bc->ac": its result's labels and its kernel's. */
function einsumWeights(config: Settings, [shape]: readonly Extents[]): Weight[] {
  const [, left, kernel, right] = /^(.*),(.*)->(.*)$/.exec(String(config.equation)) ?? [];
  if (right === undefined) {
    throw new UnimplementedError(`Cannot make layer ${config.name}: equation ${config.equation}`);
  }
  const given = left.replace("...", ""), out = right.replace("...", "");
  const wanted = [config.outputShape ?? null].flat() as (number | null)[];
  const sizes = new Map<string, number>();
  [...out].slice(-wanted.length).forEach((label, i) => {
    if (typeof wanted[i] === "number") sizes.set(label, wanted[i]);
  });
  [...given].toReversed().forEach((label, i) => {
    const known = shape.at(-1 - i);
    if (typeof known === "number") sizes.set(label, known);
  });
  const size = (label: string): number => sizes.get(label) ?? 1;
  const biasAxes = String(config.biasAxes ?? "");
  const bias = [...out].slice([...out].findIndex((label) => biasAxes.includes(label)));
  return [
    { name: "kernel", shape: [...kernel].map(size) },
    ...(biasAxes === "" ? [] : [{
      name: "bias",
      shape: bias.map((l) => biasAxes.includes(l) ? size(l) : 1),
      start: 0 as const,
    }]),
  ];
}

const perGroup = (config: Settings): [number, number] => [
  Number(config.groups ?? 32),
  Number(config.epsilon ?? 1e-3),
];
const channelsLast = ({ axis }: Settings, shape: Extents): void => {
  if (places(numbers(axis ?? -1), shape.length).join() === String(shape.length - 1)) return;
  throw new UnimplementedError(
    `Cannot make a normalization along axis ${axis}: only the last is supported`,
  );
};
const scaled = (config: Settings, [shape]: readonly Extents[]): Weight[] => {
  channelsLast(config, shape);
  return [
    ...(config.scale === false ? [] : [{ name: "gamma", shape: [last(shape)], start: 1 as const }]),
    ...(config.center === false ? [] : [{ name: "beta", shape: [last(shape)], start: 0 as const }]),
  ];
};
/** The layers by the names of Keras. */
export const KINDS: Readonly<Record<string, Kind>> = {
  ...ATTENTIONS,
  ...MORE_LAYERS,
  ...TEXT_LAYERS,
  ...ADAPTIVE_POOLINGS,
  ...CONVOLUTIONS,
  ...CONV_LSTMS,
  ...CROSSINGS,
  ...EQUALIZATIONS,
  ...SPECTROGRAMS,
  Operation: {
    call: ({ inputs, config }) => runOperation(String(config.operation), template(config), inputs),
  },
  Subtract: { call: ({ inputs: [a, b] }) => tf.sub(a, b), masks: true },
  Identity: { call: ({ inputs: [x] }) => tf.clone(x), masks: true },
  ReLU: {
    masks: true,
    call({ inputs: [x], config }) {
      const from = Number(config.threshold ?? 0), slope = Number(config.negativeSlope ?? 0);
      const above = config.maxValue === null || config.maxValue === undefined
        ? x
        : tf.minimum(x, Number(config.maxValue));
      return tf.where(tf.greaterEqual(x, from), above, tf.mul(tf.sub(x, from), slope));
    },
  },
  MaskedAveragePooling1D: {
    call({ inputs: [x, mask], config }) {
      const isLast = config.dataFormat !== "channelsFirst" &&
        config.dataFormat !== "channels_first";
      const axis = isLast ? 1 : 2, keep = config.keepdims === true;
      const counts = tf.expandDims(tf.cast(mask, "float32"), isLast ? 2 : 1);
      return tf.div(tf.sum(tf.mul(x, counts), axis, keep), tf.sum(counts, axis, keep));
    },
  },
  Normalization: {
    weights(config, [shape]) {
      if (config.mean !== null && config.mean !== undefined) return [];
      const axes = config.axis === null ? [] : places(numbers(config.axis ?? -1), shape.length);
      const extents = axes.map((axis) => Number(shape[axis]));
      return [
        { name: "mean", shape: extents, start: 0, trainable: false },
        { name: "variance", shape: extents, start: 1, trainable: false },
        { name: "count", shape: [], start: 0, trainable: false },
      ];
    },
    call({ inputs: [x], weights, config }) {
      const given = (value: Json | undefined): tf.Tensor =>
        tf.tensor(numbers(value).flat(Infinity) as number[]);
      const isGiven = weights.length === 0, rank = shapeOf(x).length;
      const axes = config.axis === null ? [] : places(numbers(config.axis ?? -1), rank);
      const [mean, variance] =
        (isGiven ? [given(config.mean), given(config.variance)] : weights.slice(0, 2))
          .map((t) => isGiven ? t : tf.reshape(t, along(axes, t, rank)));
      const deviation = tf.maximum(tf.sqrt(variance), 1e-7), y = tf.cast(x, "float32");
      return config.invert
        ? tf.add(mean, tf.mul(y, deviation))
        : tf.div(tf.sub(y, mean), deviation);
    },
  },
  RMSNormalization: {
    masks: true,
    weights(config, [shape]) {
      channelsLast(config, shape);
      return [{ name: "scale", shape: [last(shape)], start: 1 }];
    },
    call({ inputs: [x], weights: [scale], config }) {
      const power = tf.mean(tf.square(x), -1, true);
      return tf.mul(tf.mul(x, tf.rsqrt(tf.add(power, Number(config.epsilon ?? 1e-6)))), scale);
    },
  },
  UnitNormalization: {
    masks: true,
    call({ inputs: [x], config }) {
      const norm = tf.sum(tf.square(x), numbers(config.axis ?? -1), true);
      return tf.mul(x, tf.rsqrt(tf.maximum(norm, 1e-12)));
    },
  },
  GroupNormalization: {
    masks: true,
    weights: scaled,
    call({ inputs: [x], weights, config }) {
      const [groups, epsilon] = perGroup(config), channels = last(shapeOf(x));
      const count = groups === -1 ? channels : groups;
      const steps = shapeOf(x).slice(1, -1).map(extent);
      const split = tf.reshape(x, [-1, ...steps, count, channels / count]);
      const axes = [...steps.keys()].map((i) => i + 1).concat(steps.length + 2);
      const { mean, variance } = tf.moments(split, axes, true);
      const normal = tf.mul(tf.sub(split, mean), tf.rsqrt(tf.add(variance, epsilon)));
      let y = tf.reshape(normal, [-1, ...steps, channels]), at = 0;
      if (config.scale !== false) y = tf.mul(y, weights[at++]);
      if (config.center !== false) y = tf.add(y, weights[at]);
      return y;
    },
  },
  EinsumDense: {
    weights: einsumWeights,
    call({ inputs: [x], weights: [kernel, bias], config }) {
      const y = tf.einsum(String(config.equation), x, kernel);
      return bias ? tf.add(y, bias) : y;
    },
  },
  UpSampling2D: {
    call({ inputs: [x], config }) {
      const [, height, width] = shapeOf(x), [rows, columns] = pair(config.size ?? 2);
      if (height == null || width == null || config.dataFormat === "channelsFirst") {
        throw new UnimplementedError(
          `Cannot make layer ${config.name}: it needs images of known size, channels last`,
        );
      }
      return resized(x, [height * rows, width * columns], config);
    },
  },
  Resizing: RESIZING,
  UpSampling1D: {
    call({ inputs: [x], config }) {
      const size = Number(config.size ?? 2);
      const wide = tf.tile(tf.expandDims(x, 2), [1, 1, size, 1]);
      const steps = shapeOf(x)[1] ?? null;
      return tf.reshape(wide, [-1, steps === null ? -1 : steps * size, last(shapeOf(x))]);
    },
  },
  ZeroPadding1D: {
    call: ({ inputs: [x], config }) => tf.pad(x, [[0, 0], pair(config.padding ?? 1), [0, 0]]),
  },
  Cropping1D: {
    call({ inputs: [x], config }) {
      const [from, after] = pair(config.cropping ?? 1);
      return tf.stridedSlice(x, [0, from, 0], [0, -after, 0], [1, 1, 1], 5, after === 0 ? 7 : 5);
    },
  },
};
