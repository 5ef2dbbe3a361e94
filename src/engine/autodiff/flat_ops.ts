/** Ops without a gradient rule whose derivative is 0 wherever they have one: their results are constant or change by steps. */
import type { Application } from "../core/apply.ts";

const FLAT = new Set(
  `StopGradient ZerosLike OnesLike FloorDiv RandomPoissonV2 StatelessRandomPoisson StatelessRandomBinomial
  _BinomialOfKey EditDistance LookupTableFind LookupTableFindV2`.split(/\s+/),
);

/** True where the derivative of an op's application is 0, the op that a loop over rows calls included. */
export function isFlat({ def, attrs }: Pick<Application, "def" | "attrs">): boolean {
  const each = def.name === "_EachRow" ? attrs.op as { readonly name?: string } | undefined : def;
  return FLAT.has(each?.name ?? "");
}
