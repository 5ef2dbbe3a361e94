/**
 * Images with channels at axis 1, as ONNX's windows want them. A value remembers that form, so that no transposition
 * stands between two windows.
 */
import type { Ref } from "./ref.ts";
import { reshape, transpose, upTo } from "./helpers.ts";
import type { NodeWriter } from "./node_writer.ts";

/** Returns the permutation that moves the last axis to place 1. */
export function toFirst(rank: number): number[] {
  return [0, rank - 1, ...upTo(rank - 2).map((i) => i + 1)];
}

/** Returns the permutation that moves axis 1 to the end. */
export function toLast(rank: number): number[] {
  return [0, ...upTo(rank - 2).map((i) => i + 2), 1];
}

/** Returns an image with its channels at axis 1. */
export function channelsFirst(n: NodeWriter, x: Ref): Ref {
  if (x.first !== null) return x.first;
  const rank = n.rank(x);
  const first = n.graph.once(`first of ${x.name}`, () => transpose(n, x, toFirst(rank)));
  return x.first = first;
}

/** Returns an image with its channels last, made of one that has them at axis 1. */
export function channelsLast(n: NodeWriter, first: Ref, rank: number): Ref {
  const last = transpose(n, first, toLast(rank));
  last.first = first;
  return last;
}

/** Writes something elementwise in the form that its images have. */
export function inTheirLayout(
  n: NodeWriter,
  xs: readonly Ref[],
  write: (xs: readonly Ref[]) => Ref,
): Ref {
  const image = xs.find((x) => x.first !== null), rank = image?.shape?.length ?? 0;
  const moved = rank > 2 && xs.map((x) => movedTo(n, x, rank));
  if (!moved || moved.includes(null)) return write(xs);
  return channelsLast(n, write(moved as Ref[]), rank);
}

/** Returns an operand as images with channels at axis 1 take it; null where it would have to be transposed. */
function movedTo(n: NodeWriter, x: Ref, rank: number): Ref | null {
  if (x.first !== null && x.shape?.length === rank) return x.first;
  const { shape } = x;
  if (shape === null) return null;
  if (shape.length === 0) return x;
  const channels = shape[shape.length - 1];
  if (shape.length > rank || shape.slice(0, -1).some((d) => d !== 1)) return null;
  if (channels === 1) return reshape(n, x, []);
  if (channels === null) return null;
  return reshape(n, x, [channels, ...new Array<number>(rank - 2).fill(1)]);
}

/** Returns the axis of an image with channels at 1 that is `axis` of one with channels last. */
export function axisOfFirst(axis: number, rank: number): number {
  return toFirst(rank).indexOf(axis);
}

/** Returns numbers for each axis of an image with channels last, as a form with channels at axis 1 has them. */
export function permuted<T>(values: readonly T[]): T[] {
  return toFirst(values.length).map((i) => values[i]);
}

/** Returns the spatial numbers of a vector of constants for each axis. */
export function spatialOf(values: readonly number[], isFirst: boolean): number[] {
  return isFirst ? values.slice(2) : values.slice(1, -1);
}
