/**
 * Kernels that stand apart, as most programs need none of them. `mod.ts` loads them with the rest; who imports `./eager` has them when
 * a device has been awaited, where an op that needs them was loaded.
 */
import type { Meaning } from "../../core/meaning.ts";
import type { IMAGES } from "./images.ts";
import type { WINDOWS } from "./windows.ts";

/** The kernels of each family. */
export interface Families {
  /** What samples images. */
  readonly images: typeof IMAGES;
  /** Convolutions and pools. */
  readonly windows: typeof WINDOWS;
}

const LOADERS: { readonly [K in keyof Families]: () => Promise<Pick<Families, K>> } = {
  images: async () => ({ images: (await import("./images.ts")).IMAGES }),
  windows: async () => ({ windows: (await import("./windows.ts")).WINDOWS }),
};

/** The families that are there. */
export const families: Partial<Families> = {};

/** Hands over kernels. */
export function bringFamilies(kernels: Partial<Families>): void {
  Object.assign(families, kernels);
}

/** The family in which a meaning has its kernels; null for those that are always there. */
function familyOf(meaning: Meaning): keyof Families | null {
  if (meaning.kind === "sample") return "images";
  const isWindow = meaning.kind === "window" ||
    meaning.kind === "product" && meaning.of !== "matrices";
  return isWindow ? "windows" : null;
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
