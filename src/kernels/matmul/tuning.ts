/**
 * Candidates for products and convolutions, for a device that times kernels.
 */
import type { GpuPlan, Profile } from "../../core/dispatch.ts";
import { nextPower, type TileChoice } from "./tiles.ts";

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
  work: () => TunedWork & { readonly plan: (choice: C & TileChoice) => GpuPlan },
): C {
  const tiled = candidates.filter((c): c is C & TileChoice => "tile" in (c as object));
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
