/**
 * Kernels that stand apart, as most programs need none of them. `mod.ts` loads them with the rest; who imports `./eager` has them when
 * a device has been awaited, where an op that needs them was loaded.
 */
import type { Meaning, RowProgram } from "../../core/meaning.ts";
import type { IMAGES } from "./images.ts";
import type { SELECTIONS } from "./selections.ts";
import type { WINDOWS } from "./windows.ts";

/** The kernels of each family. */
export interface Families {
  /** What samples images. */
  readonly images: typeof IMAGES;
  /** What finds the greatest elements of rows. */
  readonly selections: typeof SELECTIONS;
  /** Convolutions, pools, and sums over windows of channels. */
  readonly windows: typeof WINDOWS;
}

const LOADERS: { readonly [K in keyof Families]: () => Promise<Pick<Families, K>> } = {
  images: async () => ({ images: (await import("./images.ts")).IMAGES }),
  selections: async () => ({ selections: (await import("./selections.ts")).SELECTIONS }),
  windows: async () => ({ windows: (await import("./windows.ts")).WINDOWS }),
};

/** The families that are there. */
export const families: Partial<Families> = {};

/** Hands over kernels. */
export function bringFamilies(kernels: Partial<Families>): void {
  Object.assign(families, kernels);
}

/** Row programs that have their kernels in a family. */
const ROWS: Readonly<Partial<Record<RowProgram, keyof Families>>> = {
  topK: "selections",
  windowSum: "windows",
  windowResponse: "windows",
};

/** The family in which a meaning has its kernels; null for those that are always there. */
function familyOf(meaning: Meaning): keyof Families | null {
  switch (meaning.kind) {
    case "sample":
      return "images";
    case "window":
      return "windows";
    case "product":
      return meaning.of === "matrices" ? null : "windows";
    case "arg reduce":
      return "selections";
    case "rows":
      return ROWS[meaning.program] ?? null;
    default:
      return null;
  }
}

/** Loads the families of these meanings. True where there is something new. */
export async function loadFamilies(meanings: readonly Meaning[]): Promise<boolean> {
  const wanted = new Set(meanings.map(familyOf));
  const missing = [...wanted].filter((family) => family !== null && !families[family]);
  for (const kernels of await Promise.all(missing.map((family) => LOADERS[family!]()))) {
    bringFamilies(kernels);
  }
  return missing.length > 0;
}
