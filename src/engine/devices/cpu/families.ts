/**
 * Kernels that stand apart, as pages on a GPU need none of them and most others only a few. `mod.ts` loads all from the start; who
 * imports `./eager` has them when the CPU has been awaited as a device, or soon after its first op, where an op that needs them was
 * loaded.
 */
import type { Meaning, RowProgram } from "../../core/meaning.ts";

/** The kernels of each family. */
export interface Families {
  readonly images: typeof import("./images.ts");
  readonly selections: typeof import("./selections.ts");
  /** All that is in no other family, and what finds the kernel of an op. */
  readonly vectors: typeof import("./vectors.ts");
  readonly windows: typeof import("./windows.ts");
}

type FamilyLoaders = { readonly [K in keyof Families]: () => Promise<Families[K]> };

let loaders: FamilyLoaders | null = null;

/** Says how to load families; without, what is there from the start is all. */
export function setFamilyLoaders(given: FamilyLoaders): void {
  loaders = given;
}

export const families: Partial<Families> = {};

export function bringFamilies(kernels: Partial<Families>): void {
  Object.assign(families, kernels);
}

/** Row programs that have their kernels in a family. */
const ROWS: Readonly<Partial<Record<RowProgram, keyof Families>>> = {
  topK: "selections",
  windowSum: "windows",
  windowResponse: "windows",
};

/** The family in which a meaning has its kernels. */
function familyOf(meaning: Meaning): keyof Families {
  switch (meaning.kind) {
    case "sample":
      return "images";
    case "window":
      return "windows";
    case "product":
      return meaning.of === "matrices" ? "vectors" : "windows";
    case "arg reduce":
      return "selections";
    case "rows":
      return ROWS[meaning.program] ?? "vectors";
    default:
      return "vectors";
  }
}

/** True where an op of this meaning runs in loops only because its kernels have not been loaded. */
export function lacksKernels(meaning: Meaning): boolean {
  return !families.vectors || !families[familyOf(meaning)];
}

/** Loads the families of these meanings. True where there is something new. */
export async function loadFamilies(meanings: readonly Meaning[]): Promise<boolean> {
  const wanted = new Set<keyof Families>(["vectors", ...meanings.map(familyOf)]);
  const missing = [...wanted].filter((family) => !families[family]);
  if (loaders === null || missing.length === 0) return false;
  const load = loaders;
  await Promise.all(missing.map(async (name) => bringFamilies({ [name]: await load[name]() })));
  return true;
}
