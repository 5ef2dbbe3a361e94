/** Sums whose op says by attributes what follows them: bias and activation. */
import type { GpuVariant, Profile } from "../../core/dispatch.ts";
import type { SumsMeaning } from "../../core/meaning.ts";
import type { Problem } from "../../core/op.ts";

/** The variants of an op of sums: its own, or where it is fused by attributes the first that fits with the epilogue. */
export function sumVariants(
  variants: readonly GpuVariant[],
  { asFused }: SumsMeaning,
): readonly GpuVariant[] {
  if (asFused === undefined) return variants;
  const find = (problem: Problem | null, profile: Profile): GpuVariant | undefined =>
    problem ? variants.find(({ fits }) => fits?.(problem, profile) ?? true) : undefined;
  return [{
    name: "fused",
    fits: (problem, profile) => find(asFused(problem), profile) !== undefined,
    plan: (problem, profile) => {
      const fused = asFused(problem)!;
      return find(fused, profile)!.plan(fused, profile);
    },
  }];
}
