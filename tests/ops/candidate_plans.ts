/**
 * The kernels that a device may choose among for products and convolutions, each as a plan that can be run by force.
 */

import type { Candidates, Profile } from "../../src/engine/core/dispatch.ts";
import type { OpDef, Problem } from "../../src/engine/core/op.ts";
import { runnableVariants } from "../../src/engine/kernels/pointwise/half.ts";
import { gpuVariants } from "../../src/engine/devices/webgpu/kernel_table.ts";
import type { ForcedPlan } from "../../src/library/testing/run_op.ts";

/** Work by the kernels that do it. */
export const CANDIDATE_WORK: readonly {
  /** Beginnings of the candidates' keys. */
  readonly kinds: readonly string[];
  /** Ops that ask for it. */
  readonly ops: readonly string[];
  /** Ops whose programs take longest to compile: met where many problems are asked for. */
  readonly longest?: readonly string[];
  /** With and without barriers: where some candidate cuts sums into parts, among many problems. */
  readonly parts: readonly boolean[];
}[] = [
  {
    kinds: ["matmul"],
    ops: ["MatMul", "BatchMatMulV2"],
    longest: ["MatMul with an epilogue"],
    parts: [false, true],
  },
  {
    kinds: ["conv", "conv_input"],
    ops: ["Conv2D", "Conv2DBackpropInput"],
    longest: ["Conv2D with an epilogue", "Conv3D"],
    parts: [true],
  },
  { kinds: ["conv_filter"], ops: ["Conv2DBackpropFilter"], parts: [false] },
];

/** One candidate's work. */
export interface Candidate extends ForcedPlan {
  /** Its kernel and tile. */
  readonly tile: string;
  /** Parts that sums are cut into. */
  readonly parts: number;
}

/** The plans of all candidates for a problem; none where a device has nothing to choose. */
export function candidatesOf(
  def: OpDef,
  problem: Problem,
  { own, kinds }: { own: Profile; kinds: readonly string[] },
): Candidate[] {
  let names: readonly string[] = [], index = 0;
  const choose = (met: Candidates): number => {
    if (!kinds.includes(met.key.split(" ")[0])) return 0;
    names = met.names;
    return index;
  };
  const profile = { ...own, chooser: { active: true, choose } };
  const variants = runnableVariants(gpuVariants(def), problem, profile);
  const variant = variants.find(({ fits }) => fits?.(problem, profile) ?? true);
  if (variant === undefined) return [];
  const list: Candidate[] = [];
  do {
    const plan = variant.plan(problem, profile);
    if (names.length === 0) return [];
    const [tile, parts] = names[index].split(" /");
    list.push({
      variant: variant.name,
      profile: names[index],
      maxGrid: profile.maxGrid,
      plan,
      tile,
      parts: Number(parts),
    });
  } while (++index < names.length);
  return list;
}
