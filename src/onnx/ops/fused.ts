/** Losses, attention and the ops that onnxruntime fuses: one list of them. */
import type { OpEntry } from "../build/rule.ts";
import { ATTENTION } from "./attention.ts";
import { LOSSES } from "./losses.ts";

export const FUSED: readonly OpEntry[] = [
  ...ATTENTION,
  ...LOSSES,
];
