/** The kernels of attention, of its gradient, and of recurrent networks. */
import type { SequenceKernel } from "../../core/meaning.ts";
import type { FastPrepare } from "./fast.ts";
import type { KernelsOf } from "./kernel_table.ts";
import { code } from "./prepare.ts";
import { prepareAttention } from "./rows/attention.ts";
import { prepareAttentionGradient } from "./rows/attention_gradient.ts";
import { prepareRecurrence } from "./rows/recurrence.ts";

const PREPARE: Readonly<Record<SequenceKernel, FastPrepare>> = {
  "attention": prepareAttention,
  "attention gradient": prepareAttentionGradient,
  "recurrence": prepareRecurrence,
};

/** By kind. */
export const kernels: KernelsOf<"sequence"> = {
  code,
  "sequence": (engine, problem, { kernel }) => PREPARE[kernel](engine, problem),
};
