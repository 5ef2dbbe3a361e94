/**
 * Candidates for products and convolutions, for a device that times kernels.
 */
import type { GpuPlan, Profile } from "../../core/dispatch.ts";
import { nextPower, type RegisterTile } from "./tiles.ts";
import type { SharedTile } from "./tiled.ts";

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

/** The candidate to use: the first, unless the device has timed such work, wants to, or is told which. */
export function tunedChoice<C>(
  candidates: readonly C[],
  { chooser }: Profile,
  work: () => TunedWork & { readonly plan: (choice: C & TiledChoice) => GpuPlan },
): C {
  const tiled = candidates.filter((c): c is C & TiledChoice => "tile" in (c as object));
  if (!chooser?.active || tiled.length < 2) return candidates[0];
  const { name, extents, flop, inputs, output, plan } = work();
  return tiled[
    chooser.choose({
      key: `${name} ${extents.map(nextPower).join("x")}`,
      names: tiled.map((c) => `${c.kind} ${Object.values(c.tile).join("x")} /${c.splits}`),
      flop,
      plan: (i) => plan(tiled[i]),
      inputs,
      outputs: [output],
    })
  ];
}
