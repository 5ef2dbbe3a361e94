/** Images in other sizes as Keras resizes them: stretched, or with their aspect ratios kept by cutting or by padding. */
import * as tf from "../../../mod.ts";
import { UnimplementedError } from "../../engine/core/errors.ts";
import { type Kind, type Settings, shapeOf } from "./layer_kinds.ts";

type Size = readonly [height: number, width: number];

/** Resizes images as Keras does, whose pixels have their values at their centers. */
export function resized(
  x: tf.Tensor,
  [height, width]: Size,
  { interpolation = "nearest", name }: Settings,
): tf.Tensor {
  const size: [number, number] = [height, width];
  if (interpolation === "bilinear") return tf.image.resizeBilinear(x, size, false, true);
  if (interpolation === "nearest") return tf.image.resizeNearestNeighbor(x, size, false, true);
  throw new UnimplementedError(
    `Cannot run layer ${name}: interpolation ${interpolation} is not supported`,
  );
}

/** The extents of images, and those that have the aspect ratio of a size with the other extent as it is. */
function extents(x: tf.Tensor, [height, width]: Size, name: unknown): { own: Size; other: Size } {
  const [rows, columns] = shapeOf(x).slice(-3, -1);
  if (typeof rows !== "number" || typeof columns !== "number") {
    throw new UnimplementedError(
      `Cannot run layer ${name}: to keep aspect ratios it needs images of known size`,
    );
  }
  const other = [Math.trunc(columns * height / width), Math.trunc(rows * width / height)] as const;
  return { own: [rows, columns], other };
}

/** Cuts the middle out of images `[rows, height, width, channels]`, as large as the aspect ratio of a size has it. */
export function cutToAspect(x: tf.Tensor, size: Size, name: unknown): tf.Tensor {
  const { own, other } = extents(x, size, name);
  const kept = own.map((n, i) => Math.max(Math.min(n, other[i]), 1));
  const begin = own.map((n, i) => Math.trunc((n - kept[i]) / 2));
  return tf.slice(x, [0, ...begin, 0], [-1, ...kept, -1]);
}

/** Pads images on both sides to the aspect ratio of a size. */
function paddedToAspect(x: tf.Tensor, size: Size, { name, fillValue }: Settings): tf.Tensor {
  const { own, other } = extents(x, size, name);
  const sides = own.map((n, i): [number, number] => {
    const side = Math.trunc((Math.max(n, other[i]) - n) / 2);
    return [side, side];
  });
  return tf.pad(x, [[0, 0], ...sides, [0, 0]], Number(fillValue ?? 0));
}

/** Resizes images. */
export const RESIZING: Kind = {
  call({ inputs: [x], config }) {
    const { cropToAspectRatio, padToAspectRatio, antialias, dataFormat, name } = config;
    if (antialias || dataFormat === "channelsFirst" || dataFormat === "channels_first") {
      throw new UnimplementedError(`Cannot make layer ${name}: it filters or has channels first`);
    }
    const size: Size = [Number(config.height), Number(config.width)], y = tf.cast(x, "float32");
    const of = cropToAspectRatio
      ? cutToAspect(y, size, name)
      : padToAspectRatio
      ? paddedToAspect(y, size, config)
      : y;
    return resized(of, size, { interpolation: "bilinear", ...config });
  },
};
