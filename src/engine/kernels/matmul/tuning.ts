/** Candidates for products and convolutions, for a device that times kernels. */
import type { Candidates, GpuPlan, Profile } from "../../core/dispatch.ts";
import { nextPower, type TileChoice } from "./tiles.ts";

/**
 * Returns the candidate to use: the first, unless the device has timed such work, times it now, or has a given choice.
 * The work is named by the op, its dtype and layout; of its extents only the power of two that each reaches counts.
 */
export function tunedChoice<C>(
  candidates: readonly C[],
  { chooser }: Profile,
  work: () => Pick<Candidates, "flop" | "inputs" | "outputs"> & {
    readonly name: string;
    readonly extents: readonly number[];
    readonly plan: (choice: C & TileChoice) => GpuPlan;
  },
): C {
  const tiled = candidates.filter((c): c is C & TileChoice => "tile" in (c as object));
  if (!chooser?.active || tiled.length < 2) return candidates[0];
  const { name, extents, plan, ...sizes } = work();
  return tiled[
    chooser.choose({
      ...sizes,
      key: `${name} ${extents.map(nextPower).join("x")}`,
      names: tiled.map((c) => `${c.kind} ${Object.values(c.tile).join("x")} /${c.splits}`),
      plan: (i) => plan(tiled[i]),
    })
  ];
}
