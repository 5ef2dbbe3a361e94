/**
 * Has each family of kernels loaded when it is asked for.
 */
import { setFamilyLoaders } from "./families.ts";

setFamilyLoaders({
  images: async () => ({ images: (await import("./images.ts")).IMAGES }),
  selections: async () => ({ selections: (await import("./selections.ts")).SELECTIONS }),
  vectors: async () => ({ vectors: (await import("./vectors.ts")).prepareFast }),
  windows: async () => ({ windows: (await import("./windows.ts")).WINDOWS }),
});
