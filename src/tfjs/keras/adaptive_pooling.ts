/** Layers of Keras that pool to a given size. */
import * as tf from "../../../mod.ts";
import { ValueError } from "../../engine/core/errors.ts";
import { extent, type Kind, numbers, type Settings, shapeOf } from "./layer_kinds.ts";

const isChannelsFirst = ({ dataFormat }: Settings): boolean =>
  dataFormat === "channelsFirst" || dataFormat === "channels_first";

type Pool = (x: tf.Tensor4D, size: [number, number], strides: number, pad: "valid") => tf.Tensor;

const product = (extents: readonly number[]): number => extents.reduce((a, b) => a * b, 1);

/** Pools an axis to `size` parts, which overlap where they do not divide it. */
function pooledAlong(x: tf.Tensor, axis: number, size: number, pool: Pool): tf.Tensor {
  const shape = shapeOf(x).map(extent), count = shape[axis], after = shape.slice(axis + 1);
  const parts = Array.from({ length: size }, (_, i) => {
    const from = Math.floor(i * count / size);
    return { from, width: Math.ceil((i + 1) * count / size) - from };
  });
  const widths = [...new Set(parts.map(({ width }) => width))];
  const rows = tf.reshape(x, [-1, count, 1, product(after)]) as tf.Tensor4D;
  const all = widths.map((width) => pool(rows, [width, 1], 1, "valid"));
  const begins = widths.map((_, i) =>
    widths.slice(0, i).reduce((n, width) => n + count - width + 1, 0)
  );
  const places = parts.map(({ from, width }) => begins[widths.indexOf(width)] + from);
  const y = tf.gather(
    all.length === 1 ? all[0] : tf.concat(all, 1),
    tf.tensor(places, [size], "int32"),
    1,
  );
  return tf.reshape(y, [...shape.slice(0, axis), size, ...after]);
}

/** A pooling of `rank` axes to a size. */
function adaptive(rank: number, pool: Pool): Kind {
  return {
    check({ outputSize, name }) {
      const sizes = numbers(outputSize);
      const fits = sizes.length === rank || !Array.isArray(outputSize);
      if (fits && sizes.every((size) => Number.isInteger(size) && size > 0)) return;
      throw new ValueError(
        `Cannot make layer ${name}: outputSize must be ${rank} whole numbers, or one for all, received ${
          JSON.stringify(outputSize)
        }`,
      );
    },
    call({ inputs: [x], config }) {
      const sizes = numbers(config.outputSize), first = isChannelsFirst(config) ? 2 : 1;
      const axes = Array.from({ length: rank }, (_, i) => first + i), shape = shapeOf(x);
      if (shape.length !== rank + 2 || shape.slice(1).includes(null)) {
        throw new ValueError(
          `Cannot run layer ${config.name}: its input must have ${
            rank + 2
          } axes of known extents, received [${shape}]`,
        );
      }
      return axes.reduce((y, axis, i) => pooledAlong(y, axis, sizes[i] ?? sizes[0], pool), x);
    },
  };
}

/** Layers by the names of Keras. */
export const ADAPTIVE_POOLINGS: Readonly<Record<string, Kind>> = Object.fromEntries(
  [1, 2, 3].flatMap((rank) => [
    [`AdaptiveAveragePooling${rank}D`, adaptive(rank, tf.avgPool)],
    [`AdaptiveMaxPooling${rank}D`, adaptive(rank, tf.maxPool)],
  ]),
);
