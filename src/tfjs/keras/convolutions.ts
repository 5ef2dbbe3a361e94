/** Convolutions of Keras that `tfjs-layers` lacks: causal ones, those of groups of channels, and those that go back along steps. */
import * as tf from "../../../mod.ts";
import { UnimplementedError, ValueError } from "../../engine/core/errors.ts";
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

/** Settings of a convolution along `rank` axes. */
interface Convolution {
  readonly sizes: number[];
  readonly strides: number[];
  readonly dilations: number[];
  readonly filters: number;
  readonly groups: number;
  /** `"valid"`, `"same"` or `"causal"`. */
  readonly padding: string;
}

function convolutionOf(config: Settings, rank: number): Convolution {
  const all = (key: string): number[] => {
    const given = numbers(config[key] ?? 1);
    return given.length === 1 ? new Array<number>(rank).fill(given[0]) : given;
  };
  if (config.dataFormat === "channelsFirst" || config.dataFormat === "channels_first") {
    throw new UnimplementedError(
      `Cannot make layer ${config.name}: channels first are not supported`,
    );
  }
  const [sizes, strides, dilations] = ["kernelSize", "strides", "dilationRate"].map(all);
  const [filters, groups] = [Number(config.filters), Number(config.groups ?? 1)];
  if (!(Number.isInteger(groups) && groups > 0) || filters % groups !== 0) {
    throw new ValueError(
      `Cannot make layer ${config.name}: ${filters} filters are not of ${groups} groups`,
    );
  }
  return {
    sizes,
    strides,
    dilations,
    filters,
    groups,
    padding: String(config.padding ?? "valid").toLowerCase(),
  };
}

const withBias = (kernel: Weight, { useBias }: Settings, filters: number): Weight[] =>
  useBias === false ? [kernel] : [kernel, { name: "bias", shape: [filters], start: 0 }];

/** Convolves channels with a kernel of all of them. */
function convolve(
  x: tf.Tensor,
  kernel: tf.Tensor,
  { strides, dilations, padding }: Convolution,
): tf.Tensor {
  const pad = padding as "valid" | "same", { length: rank } = strides;
  if (rank === 1) return tf.conv1d(x, kernel, strides[0], pad, "NWC", dilations[0]);
  if (rank === 2) {
    return tf.conv2d(
      x,
      kernel,
      strides as [number, number],
      pad,
      "NHWC",
      dilations as [number, number],
    );
  }
  return tf.conv3d(
    x,
    kernel,
    strides as [number, number, number],
    pad,
    "NDHWC",
    dilations as [number, number, number],
  );
}

/** A convolution along `rank` axes, in groups of channels. */
function convolution(rank: number): Kind {
  return {
    check: (config) => void convolutionOf(config, rank),
    weights(config, [shape]) {
      const { sizes, filters, groups } = convolutionOf(config, rank), channels = last(shape);
      if (channels % groups !== 0) {
        throw new ValueError(
          `Cannot make layer ${config.name}: ${channels} channels are not of ${groups} groups`,
        );
      }
      return withBias(
        { name: "kernel", shape: [...sizes, channels / groups, filters] },
        config,
        filters,
      );
    },
    call({ inputs: [x], weights: [kernel, bias], config }: CallOf) {
      const given = convolutionOf(config, rank), { groups, sizes, dilations } = given;
      const isCausal = given.padding === "causal";
      const input = isCausal ? tf.pad(x, [[0, 0], [dilations[0] * (sizes[0] - 1), 0], [0, 0]]) : x;
      const own = isCausal ? { ...given, padding: "valid" } : given;
      let y: tf.Tensor;
      if (groups === 1) y = convolve(input, kernel, own);
      else {
        const kernels = tf.split(kernel, groups, -1);
        const parts = tf.split(input, groups, -1).map((part, i) => convolve(part, kernels[i], own));
        y = tf.concat(parts, -1);
      }
      return bias ? tf.add(y, bias) : y;
    },
  };
}

/** Number of steps of a convolution that goes back. */
function stepsBack(steps: number, config: Settings): number {
  const { sizes: [size], strides: [stride], dilations: [dilation], padding } = convolutionOf(
    config,
    1,
  );
  const reach = (size - 1) * dilation + 1, { outputPadding } = config;
  const more = outputPadding === null || outputPadding === undefined
    ? null
    : numbers(outputPadding)[0];
  if (padding === "valid") {
    return (steps - 1) * stride + reach + (more ?? Math.max(reach, stride) - reach);
  }
  return more === null ? steps * stride : (steps - 1) * stride + reach % 2 + more;
}

const transposed: Kind = {
  check(config) {
    const { strides: [stride], dilations: [dilation], padding } = convolutionOf(config, 1);
    if ((padding !== "valid" && padding !== "same") || stride > 1 && dilation > 1) {
      throw new ValueError(
        `Cannot make layer ${config.name}: padding ${padding}, strides ${stride} and dilationRate ${dilation} do not go together`,
      );
    }
  },
  weights(config, [shape]) {
    const { sizes, filters } = convolutionOf(config, 1);
    return withBias({ name: "kernel", shape: [...sizes, filters, last(shape)] }, config, filters);
  },
  shape(config, [[batch, steps]]): Extents {
    const { filters } = convolutionOf(config, 1);
    return [batch, steps === null ? null : stepsBack(steps, config), filters];
  },
  call({ inputs: [x], weights: [kernel, bias], config }) {
    const { sizes: [size], strides: [stride], dilations: [dilation], filters, padding } =
      convolutionOf(config, 1);
    const [batch, steps, channels] = shapeOf(x);
    if (typeof batch !== "number" || typeof steps !== "number") {
      throw new UnimplementedError(
        `Cannot run layer ${config.name}: its input must have a known shape, received [${
          shapeOf(x)
        }]`,
      );
    }
    // Zeros between its places make a kernel that reaches as far.
    const apart = tf.pad(tf.expandDims(kernel, 1), [[0, 0], [0, dilation - 1], [0, 0], [0, 0]]);
    const flat = tf.reshape(apart, [1, size * dilation, filters, Number(channels)]);
    const wide = tf.slice(flat, [0, 0, 0, 0], [
      1,
      (size - 1) * dilation + 1,
      filters,
      Number(channels),
    ]);
    const y = tf.conv2dTranspose(
      tf.expandDims(x, 1) as tf.Tensor4D,
      wide as tf.Tensor4D,
      [batch, 1, stepsBack(steps, config), filters],
      [1, stride],
      padding as "valid" | "same",
    );
    return bias ? tf.add(tf.squeeze(y, [1]), bias) : tf.squeeze(y, [1]);
  },
};

/** Layers by the names of Keras. */
export const CONVOLUTIONS: Readonly<Record<string, Kind>> = {
  Conv1D: convolution(1),
  Conv2D: convolution(2),
  Conv3D: convolution(3),
  Conv1DTranspose: transposed,
};
