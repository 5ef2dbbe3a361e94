/**
 * Candidates for large products and convolutions, for a device that times kernels.
 * May import core.
 */
import type { GpuPlan, KernelChooser, Profile } from "../core/dispatch.ts";
import type { RegisterTile } from "./gemm_tiles.ts";
import type { SharedTile } from "./gemm_shared.ts";

/** Multiplications and additions below which the first candidate is taken: about a millisecond of a processor's work. */
const LARGE = 2 ** 24;
/** Candidates that are timed. */
const MOST = 4;

/** A kernel with a tile and parts of sums. */
export interface TiledChoice {
  /** The kernel. */
  readonly kind: string;
  /** Its tile. */
  readonly tile: RegisterTile | SharedTile;
  /** Parts that sums are cut into. */
  readonly splits: number;
}

/** Work that several kernels can do. */
export interface TunedWork {
  /** The op, its dtype and layout. */
  readonly name: string;
  /** Extents: only the power of two that each reaches counts. */
  readonly extents: readonly number[];
  /** Multiplications and additions. */
  readonly flop: number;
  /** Bytes of the inputs. */
  readonly inputs: readonly number[];
  /** Bytes of the output. */
  readonly output: number;
}

/** The candidate to use: the first, unless the work is large and the device has timed it or wants to. */
export function tunedChoice<C>(
  candidates: readonly C[],
  { chooser }: Profile,
  work: () => TunedWork & { readonly plan: (choice: C & TiledChoice) => GpuPlan },
): C {
  const tiled = candidates.slice(0, MOST).filter((c): c is C & TiledChoice =>
    "tile" in (c as object)
  );
  if (!chooser?.active || tiled.length < 2) return candidates[0];
  const { flop, plan, ...rest } = work();
  return flop < LARGE ? candidates[0] : tiled[choose(chooser, tiled, { ...rest, plan })];
}

function choose<C extends TiledChoice>(
  chooser: KernelChooser,
  list: readonly C[],
  { name, extents, inputs, output, plan }:
    & Omit<TunedWork, "flop">
    & { readonly plan: (choice: C) => GpuPlan },
): number {
  return chooser.choose({
    key: `${name} ${extents.map((n) => 2 ** Math.ceil(Math.log2(Math.max(1, n)))).join("x")}`,
    names: list.map((c) => `${c.kind} ${Object.values(c.tile).join("x")} /${c.splits}`),
    plan: (i) => plan(list[i]),
    inputs,
    outputs: [output],
  });
}
