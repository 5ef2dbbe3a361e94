/** Height and width of images: numbers where they are known, else scalars that are read when the graph runs. */
import { ValueError } from "../../core/errors.ts";
import { shapeText } from "../../core/shape.ts";
import type { Tensor, TensorLike } from "../../core/tensor.ts";
import { type Extent, extentAt, vector } from "../extents.ts";
import { concat } from "../array/join.ts";
import { pad } from "../array/pad.ts";
import { slice } from "../array/slice.ts";
import { rank, reshape, shape } from "../array/view.ts";
import { ensureShape } from "../graph_ops.ts";
import { shapeOfInput } from "../input.ts";
import { floorDiv, sub } from "../pointwise/arithmetic.ts";
import { maximum, minimum } from "../pointwise/select.ts";
import { toImages } from "./adjust.ts";

/** Images, and the place of their height among the axes. */
export interface SizedImages {
  readonly x: Tensor;
  readonly height: Extent;
  readonly width: Extent;
  readonly at: number;
}

/** Converts images of rank 3 or 4; of an unknown rank they are one image, as in TensorFlow. Throws `ValueError` for others. */
export function sized(image: TensorLike, fn: string): SizedImages {
  const given = toImages(image, fn), known = shapeOfInput(given), at = (known?.length ?? 3) - 3;
  if (at > 1) {
    throw new ValueError(
      `Error in ${fn}: wanted images of rank 3 or 4, received shape ${shapeText(known)}`,
    );
  }
  const x = known === null ? ensureShape(given, [null, null, null]) : given;
  return { x, height: extentAt(x, at), width: extentAt(x, at + 1), at };
}

/** Computes a number where both are numbers, else a tensor. */
function computed(
  [a, b]: readonly [Extent, Extent],
  ofNumbers: (a: number, b: number) => number,
  ofTensors: (a: TensorLike, b: TensorLike) => Tensor,
): Extent {
  return typeof a === "number" && typeof b === "number" ? ofNumbers(a, b) : ofTensors(a, b);
}

/** The difference of two extents. */
export function less(a: Extent, b: Extent): Extent {
  return computed([a, b], (a, b) => a - b, sub);
}
/** The smaller of two extents. */
export function least(a: Extent, b: Extent): Extent {
  return computed([a, b], Math.min, minimum);
}
/** Half of an extent, rounded down; 0 for one below 0. */
export function half(a: Extent): Extent {
  return computed([a, 2], (a) => Math.floor(Math.max(a, 0) / 2), (a) => floorDiv(maximum(a, 0), 2));
}

/** Top, left, height and width. */
export type Box = readonly [top: Extent, left: Extent, height: Extent, width: Extent];

/** Notes what is known of the height and width of a result. */
function ofSize(y: Tensor, { x, at }: Pick<SizedImages, "x" | "at">, [, , h, w]: Box): Tensor {
  const known = (n: Extent): number | null => typeof n === "number" ? n : null;
  const lead = x.staticShape?.slice(0, at) ?? [], depth = x.staticShape?.at(-1) ?? null;
  y.setShape([...lead, known(h), known(w), depth]);
  return y;
}

/** Crops height and width. */
export function cropped(images: Pick<SizedImages, "x" | "at">, box: Box): Tensor {
  const { x, at } = images, [top, left, height, width] = box;
  const lead = new Array<number>(at).fill(0), all = new Array<number>(at).fill(-1);
  const part = slice(x, vector([...lead, top, left, 0]), vector([...all, height, width, -1]));
  return ofSize(part, images, box);
}

/** Pads to a height and width with zeros. */
export function padded(images: SizedImages, box: Box): Tensor {
  const { x, at } = images, [top, left, height, width] = box;
  const bottom = less(less(height, top), images.height);
  const right = less(less(width, left), images.width);
  const ends: [Extent, Extent][] = [
    ...Array.from({ length: at }, (): [Extent, Extent] => [0, 0]),
    [top, bottom],
    [left, right],
    [0, 0],
  ];
  const isKnown = ends.flat().every((n) => typeof n === "number");
  const pairs = isKnown ? ends as [number, number][] : reshape(vector(ends.flat()), [at + 3, 2]);
  return ofSize(pad(x, pairs), images, box);
}

/**
 * Applies a function of images `[batch, height, width, channels]` to images of unknown rank, whose leading axes count as one
 * meanwhile.
 */
export function asBatch(x: Tensor, fn: (batch: Tensor) => Tensor): Tensor {
  const dims = shape(x), lead = reshape(sub(rank(x), 3), [1]);
  const y = fn(reshape(x, concat([[-1], slice(dims, lead, [3])], 0)));
  return reshape(y, concat([slice(dims, [0], lead), slice(shape(y), [1], [3])], 0));
}
