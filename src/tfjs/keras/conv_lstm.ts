/** Recurrent convolutions of Keras over one and three axes: the package has those over two. */
import * as tf from "../../../mod.ts";
import { UnimplementedError } from "../../engine/core/errors.ts";
import {
  type CallOf,
  type Extents,
  type Kind,
  last,
  numbers,
  type Settings,
  shapeOf,
  type Weight,
} from "./layer_kinds.ts";

/** Activations by the names of Keras. */
const ACTIVATIONS: Readonly<Record<string, (x: tf.Tensor) => tf.Tensor>> = {
  tanh: tf.tanh,
  sigmoid: tf.sigmoid,
  relu: tf.relu,
  linear: (x) => x,
  hard_sigmoid: (x) => tf.clipByValue(tf.add(tf.div(x, 6), 0.5), 0, 1),
  kerasHardSigmoid: (x) => tf.clipByValue(tf.add(tf.div(x, 6), 0.5), 0, 1),
  softsign: (x) => tf.div(x, tf.add(tf.abs(x), 1)),
};

function activationOf(config: Settings, key: string, otherwise: string) {
  const given = String(config[key] ?? otherwise), found = ACTIVATIONS[given];
  if (found !== undefined && Object.hasOwn(ACTIVATIONS, given)) return found;
  throw new UnimplementedError(
    `Cannot make layer ${config.name}: ${key} ${given} is not supported`,
  );
}

/** A setting of each axis. */
const each = (value: Settings[string], rank: number, otherwise: number): number[] => {
  const given = numbers(value ?? otherwise);
  return Array.from({ length: rank }, (_, i) => given[i] ?? given[0]);
};

function check(config: Settings): void {
  const refuse = (what: string): never => {
    throw new UnimplementedError(`Cannot make layer ${config.name}: ${what} is not supported`);
  };
  if (config.dataFormat === "channelsFirst" || config.dataFormat === "channels_first") {
    refuse("channels first");
  }
  if (config.stateful) refuse("a state that stays");
  if (config.returnState) refuse("a result with states");
  for (const key of ["dropout", "recurrentDropout"]) if (Number(config[key] ?? 0) > 0) refuse(key);
  activationOf(config, "recurrentActivation", "sigmoid");
  activationOf(config, "activation", "tanh");
}

/** A recurrent convolution over so many axes. */
function recurrent(rank: 1 | 3): Kind {
  const weights = (config: Settings, [shape]: readonly Extents[]): Weight[] => {
    const filters = Number(config.filters), size = each(config.kernelSize, rank, 1);
    return [
      { name: "kernel", shape: [...size, last(shape), 4 * filters] },
      { name: "recurrent_kernel", shape: [...size, filters, 4 * filters] },
      ...(config.useBias === false
        ? []
        : [{ name: "bias", shape: [4 * filters], start: 0 as const }]),
    ];
  };
  const convolved = (
    x: tf.Tensor,
    kernel: tf.Tensor,
    { strides, padding, dilation }: {
      readonly strides: number[];
      readonly padding: "valid" | "same";
      readonly dilation: number[];
    },
  ): tf.Tensor => {
    if (rank === 3) {
      return tf.conv3d(
        x as tf.Tensor5D,
        kernel as tf.Tensor5D,
        strides as [number, number, number],
        padding,
        "NDHWC",
        dilation as [number, number, number],
      );
    }
    return tf.conv1d(
      x as tf.Tensor3D,
      kernel as tf.Tensor3D,
      strides[0],
      padding,
      "NWC",
      dilation[0],
    );
  };
  const call = ({ inputs: [x], weights: [kernel, own, bias], config }: CallOf): tf.Tensor => {
    const steps = shapeOf(x)[1], filters = Number(config.filters);
    if (steps === null || steps === undefined) {
      throw new UnimplementedError(
        `Cannot run layer ${config.name}: it needs a known number of steps`,
      );
    }
    const padding = config.padding === "same" ? "same" : "valid", ones = each(1, rank, 1);
    const form = {
      strides: each(config.strides, rank, 1),
      dilation: each(config.dilationRate, rank, 1),
      padding,
    } as const;
    const gate = activationOf(config, "recurrentActivation", "sigmoid");
    const act = activationOf(config, "activation", "tanh");
    const inputs = tf.unstack(x, 1);
    if (config.goBackwards === true) inputs.reverse();
    let h: tf.Tensor | null = null, c: tf.Tensor | null = null;
    const all: tf.Tensor[] = [];
    for (const step of inputs) {
      let z = convolved(step, kernel, form);
      if (bias) z = tf.add(z, bias);
      if (h) {
        z = tf.add(z, convolved(h, own, { strides: ones, padding: "same", dilation: ones }));
      }
      const [i, f, g, o]: tf.Tensor[] = tf.split(z, [filters, filters, filters, filters], -1);
      const fresh: tf.Tensor = tf.mul(gate(i), act(g));
      c = c ? tf.add(tf.mul(gate(f), c), fresh) : fresh;
      h = tf.mul(gate(o), act(c));
      all.push(h);
    }
    return config.returnSequences === true ? tf.stack(all, 1) : h!;
  };
  return { check, weights, call, activates: true };
}

/** Layers by the names of Keras. */
export const CONV_LSTMS: Readonly<Record<string, Kind>> = {
  ConvLSTM1D: recurrent(1),
  ConvLSTM3D: recurrent(3),
};
