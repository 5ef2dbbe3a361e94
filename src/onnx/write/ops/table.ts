/**
 * The table of what is written: the rule of each op of Weft's, by its name. Ops that are not here are written by their
 * expression, their reduction, or their parts.
 */
import type { Tables } from "../writer.ts";
import { ACTIVATIONS } from "./activations.ts";
import { CONTROL } from "./control.ts";
import { IMAGES } from "./images.ts";
import { INDEXING } from "./indexing.ts";
import { MOVES } from "./moves.ts";
import { NORMS } from "./norms.ts";
import { PARTS } from "./parts.ts";
import { PRODUCTS } from "./products.ts";
import { RANDOM } from "./random.ts";
import { SCANS } from "./scans.ts";
import { SHAPES } from "./shapes.ts";
import { SPECTRAL } from "./spectral.ts";
import { TEXTS } from "./texts.ts";
import { WINDOW_GRADIENTS } from "./window_gradients.ts";
import { WINDOWS } from "./windows.ts";

export const TABLES: Tables = {
  rules: {
    ...ACTIVATIONS,
    ...CONTROL,
    ...IMAGES,
    ...INDEXING,
    ...MOVES,
    ...NORMS,
    ...PRODUCTS,
    ...RANDOM,
    ...SCANS,
    ...SHAPES,
    ...TEXTS,
    ...WINDOWS,
    ...WINDOW_GRADIENTS,
  },
  complex: SPECTRAL,
  parts: PARTS,
};
