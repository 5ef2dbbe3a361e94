/** Losses, attention and the ops that onnxruntime fuses: one list of them. */
import type { OpEntry } from "../build/rule.ts";
import { ATTENTION } from "./attention.ts";
import { ATTENTION_CONTRIB } from "./attention_contrib.ts";
import { FUSED_NORMS } from "./fused_norms.ts";
import { FUSED_PRODUCTS } from "./fused_products.ts";
import { GROUP_ATTENTION } from "./group_attention.ts";
import { LINEAR_ATTENTION } from "./linear_attention.ts";
import { LOSSES } from "./losses.ts";

export const FUSED: readonly OpEntry[] = [
  ...ATTENTION,
  ...ATTENTION_CONTRIB,
  ...FUSED_NORMS,
  ...FUSED_PRODUCTS,
  ...GROUP_ATTENTION,
  ...LINEAR_ATTENTION,
  ...LOSSES,
];
