/**
 * Which kernels could do a convolution, and what a device needs to time them.
 */
import type { DType } from "../../core/dtype.ts";
import type { BufferRef, GpuPlan, Profile } from "../../core/dispatch.ts";
import { gpuBytes } from "../../core/gpu_storage.ts";
import { outPlaces, tapCount, type WindowGeometry } from "./geometry.ts";
import type { ConvSource } from "./register.ts";
import type { Epilogue } from "../matmul/epilogue.ts";
import type { SharedTile } from "../matmul/tiled.ts";
import {
  rankRegisterTiles,
  rankSharedTiles,
  type RegisterTile,
  splitsFor,
} from "../matmul/tiles.ts";
import type { TunedWork } from "../matmul/tuning.ts";

/** A convolution or gradient to plan; images have channels last. */
export interface ConvTask {
  /** Extents. */
  readonly geometry: WindowGeometry;
  /** Element type. */
  readonly dtype: DType;
  /** Element type stored. */
  readonly out: DType;
  /** First operand: the image, or the gradient of the result where that of the image is wanted. */
  readonly a: BufferRef;
  /** Second operand: the filter, or the gradient of the result where that of the filter is wanted. */
  readonly b: BufferRef;
  /** Result. */
  readonly c: BufferRef;
  /** What happens before a store. */
  readonly epilogue?: Epilogue | undefined;
}

/** A kernel and its extents. */
export type ConvChoice =
  | { readonly kind: "register"; readonly tile: RegisterTile; readonly splits: number }
  | { readonly kind: "shared"; readonly tile: SharedTile; readonly splits: number };

/** Kernels for a gather, the likely best first. */
export function gatherCandidates(
  { wideA, wideB, transposed }: ConvSource,
  [m, n, k, phases]: readonly [number, number, number, number],
  profile: Profile,
): ConvChoice[] {
  if (profile.barriers) {
    return rankSharedTiles(m, n, k, phases, profile).map(({ tile, splits }) => ({
      kind: "shared",
      tile,
      splits: splits * m * n * 4 > profile.maxBinding ? 1 : splits,
    }));
  }
  const loads = { wideA, wideB, transB: transposed, quads: false };
  return rankRegisterTiles([m, n, k, phases], loads, profile).map(({ tile }) => ({
    kind: "register",
    tile,
    splits: 1,
  }));
}

/** What a device needs to time kernels for a task; `plan` gets the task with nothing but its operands. */
export function tunedConv(
  { geometry: g, dtype, out }: ConvTask,
  name: string,
  [a, b, c]: readonly ("image" | "filter" | "result")[],
  plan: (task: ConvTask, choice: ConvChoice) => GpuPlan,
): TunedWork & { readonly plan: (choice: ConvChoice) => GpuPlan } {
  const places = g.batch * outPlaces(g), taps = tapCount(g);
  const sizes = {
    image: g.batch * g.axes.reduce((p, axis) => p * axis.in, 1) * g.channels,
    filter: taps * g.channels * g.outChannels,
    result: places * g.outChannels,
  };
  const bare: ConvTask = {
    geometry: g,
    dtype,
    out,
    a: { input: 0 },
    b: { input: 1 },
    c: { output: 0 },
  };
  return {
    name: `${name} ${dtype} ${g.channels % 4 === 0} ${g.outChannels % 4 === 0}`,
    extents: [places, taps, g.channels, g.outChannels],
    flop: 2 * places * sizes.filter,
    inputs: [a, b].map((of) => sizes[of] * gpuBytes(dtype)),
    output: sizes[c] * gpuBytes(out),
    plan: (choice) => plan(bare, choice),
  };
}

/** Kernels for the gradient of a filter, the likely best first. `lines` of places are summed. */
export function filterCandidates(
  [m, n, k, lines]: readonly [number, number, number, number],
  { wideA, wideB }: { wideA: boolean; wideB: boolean },
  profile: Profile,
): ConvChoice[] {
  if (profile.barriers) {
    return rankSharedTiles(m, n, k, 1, profile).map((tiled) => ({ kind: "shared", ...tiled }));
  }
  const loads = { wideA, wideB, transB: false, quads: wideA, splits: lines >= 32 };
  return rankRegisterTiles([m, n, k, 1], loads, profile).map(({ tile, groups }) => ({
    kind: "register",
    tile,
    splits: splitsFor(groups, lines, 4, 8),
  }));
}
