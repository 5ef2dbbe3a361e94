/**
 * Copies as data: for each axis of a contiguous output, the elements of the input it reads. One description serves
 * transpose, slice, strided slice and its gradient, pad, mirror pad, tile, broadcast, reverse, roll and diagonals, on
 * both devices.
 */
import type { AxisMap, CopyMap } from "../../core/meaning.ts";

export function plainAxis(dim: number, stride: number): AxisMap {
  return { dim, stride, rule: "plain" };
}

/** Merges the axes of a copy: extents of 1 vanish, neighbours walked as one become one. */
export function mergeAxes(map: CopyMap): CopyMap {
  const axes: AxisMap[] = [];
  for (const axis of map.axes) {
    if (axis.dim === 1 && axis.rule === "plain") continue;
    const joined = axes.length > 0 ? join(axes[axes.length - 1], axis) : null;
    if (joined) axes[axes.length - 1] = joined;
    else axes.push(axis);
  }
  if (axes.length === 0) axes.push(plainAxis(map.axes.some((a) => a.dim === 0) ? 0 : 1, 0));
  return { axes, base: map.base };
}

function join(outer: AxisMap, inner: AxisMap): AxisMap | null {
  if (inner.rule !== "plain" || outer.stride !== inner.stride * inner.dim) return null;
  if (outer.rule === "plain") return plainAxis(outer.dim * inner.dim, inner.stride);
  if (outer.rule !== "window" || (outer.step ?? 1) !== 1) return null;
  return {
    dim: outer.dim * inner.dim,
    stride: inner.stride,
    rule: "window",
    begin: outer.begin! * inner.dim,
    extent: outer.extent! * inner.dim,
  };
}

/** Counts the copy in groups of `width` neighbouring elements; null where the last axis does not move whole groups. */
export function groupedBy(width: number, map: CopyMap): CopyMap | null {
  const last = map.axes.length - 1;
  const axes: AxisMap[] = [];
  const whole = (n: number): boolean => n % width === 0;
  if (!whole(map.base)) return null;
  for (let i = 0; i < last; i++) {
    const a = map.axes[i];
    if (!whole(a.stride)) return null;
    axes.push({ ...a, stride: a.stride / width });
  }
  const a = map.axes[last];
  if (a.stride !== 1 || !whole(a.dim)) return null;
  if (a.rule === "plain") axes.push(plainAxis(a.dim / width, 1));
  else if (a.rule === "window" && (a.step ?? 1) === 1 && whole(a.begin!) && whole(a.extent!)) {
    axes.push({ ...a, dim: a.dim / width, begin: a.begin! / width, extent: a.extent! / width });
  } else return null;
  return { axes, base: map.base / width };
}

/** Counts the copy in words: each element is `slots` of them. */
export function inWords(map: CopyMap, slots: number): CopyMap {
  if (slots === 1) return map;
  return {
    axes: [...map.axes.map((a) => ({ ...a, stride: a.stride * slots })), plainAxis(slots, 1)],
    base: map.base * slots,
  };
}

/** True where an element of the output may be filled instead of read. */
export function mayFill(map: CopyMap): boolean {
  return map.axes.some((a) => a.rule === "window");
}

/** Returns the input step for coordinate `c`, or -1 where the element is filled. */
export function stepOf(axis: AxisMap, c: number): number {
  const { rule, begin = 0, extent = 0, step = 1 } = axis;
  switch (rule) {
    case "plain":
      return c;
    case "window": {
      const t = (c - begin) / step;
      return Number.isInteger(t) && t >= 0 && t < extent ? t : -1;
    }
    case "mirror": {
      let t = c - begin;
      if (t < 0) t = -t - step;
      if (t >= extent) t = 2 * extent - 2 + step - t;
      return t;
    }
    case "roll":
      return (c + begin) % extent;
  }
}
