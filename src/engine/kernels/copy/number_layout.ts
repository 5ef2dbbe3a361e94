/** Numbered elements as both devices see them: where ramps begin and how they go on, where one-hot rows are marked. */
import type { MeaningOf } from "../../core/meaning.ts";
import type { ElementValue, NdArray } from "../../core/nd_array.ts";
import type { Problem } from "../../core/op.ts";
import { normalizeAxis, type Shape, sizeOf } from "../../core/shape.ts";
import type { Line } from "../reduce/layout.ts";

/** A number for each place: where they start, by how much they differ and, where that is given, the last one. */
interface Ramp {
  readonly start: ElementValue;
  readonly step: ElementValue;
  readonly stop?: number;
}

/** The ramp that host inputs ask for: start, limit and step, or start, stop and number. */
export function rampOf(
  how: Extract<MeaningOf<"fill">["how"], "steps" | "spaced">,
  { hosts, outputs }: Problem,
): Ramp {
  if (how === "steps") return { start: hosts[0]!.item(), step: hosts[2]!.item() };
  const start = numberOf(hosts[0]), stop = numberOf(hosts[1]), n = outputs[0].shape[0];
  return { start, stop, step: n > 1 ? (stop - start) / (n - 1) : 0 };
}

/** The number in a host input. */
export function numberOf(a: NdArray | undefined): number {
  return Number(a!.item());
}

/** Returns the layout of indices of `shape` as one-hot rows along a new axis, counted from the front. */
export function oneHotLayout(shape: Shape, length: number, axis: number): Line {
  return { outer: sizeOf(shape.slice(0, axis)), length, inner: sizeOf(shape.slice(axis)) };
}

/** The same of a problem, whose depth is host input 1. */
export function hotLayout({ inputs: [{ shape }], hosts, attrs }: Problem): Line {
  return oneHotLayout(shape, numberOf(hosts[1]), normalizeAxis(attrs.axis, shape.length + 1));
}
