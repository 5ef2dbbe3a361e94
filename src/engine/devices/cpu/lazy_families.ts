/**
 * Has each family of kernels loaded when it is asked for.
 */
import { setFamilyLoaders } from "./families.ts";

setFamilyLoaders({
  images: () => import("./images.ts"),
  selections: () => import("./selections.ts"),
  vectors: () => import("./vectors.ts"),
  windows: () => import("./windows.ts"),
});
