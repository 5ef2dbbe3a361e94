/**
 * The table of ops: the rule of each op of ONNX, by domain, name and version. An op is added to one of the lists of a
 * family.
 */
import type { Lookup, OpEntry } from "../build/rule.ts";
import { ACTIVATIONS } from "./activations.ts";
import { CASTS } from "./casts.ts";
import { CONTROL } from "./control.ts";
import { CONVOLUTIONS } from "./convolutions.ts";
import { ELEMENTWISE } from "./elementwise.ts";
import { FUSED } from "./fused.ts";
import { INDEXING } from "./indexing.ts";
import { NORMS } from "./norms.ts";
import { ORDERING } from "./ordering.ts";
import { PADDING } from "./padding.ts";
import { POOLS } from "./pools.ts";
import { PRODUCTS } from "./products.ts";
import { QUANTISED } from "./quantised/linear.ts";
import { QUANTISED_CONTRIB } from "./quantised/contrib.ts";
import { RANDOM } from "./data/random.ts";
import { RECURRENT } from "./recurrent/networks.ts";
import { REDUCTIONS } from "./reductions.ts";
import { REGULARISATION } from "./regularisation.ts";
import { RESIZE } from "./resize.ts";
import { SAMPLING } from "./sampling.ts";
import { SEQUENCES } from "./sequences.ts";
import { SHAPES } from "./shapes.ts";
import { SIGNAL } from "./data/signal.ts";
import { STRINGS } from "./data/strings.ts";
import { CONTRIB } from "./domains/contrib.ts";
import { EXPERTS } from "./domains/experts.ts";
import { ML } from "./domains/ml.ts";
import { NHWC } from "./domains/nhwc.ts";
import { OPTIMIZERS } from "./domains/optimizers.ts";
import { SPARSE_ATTENTION } from "./domains/sparse_attention.ts";
import { REGIONS } from "./regions.ts";
import { TOKENS } from "./data/tokens.ts";

/** All entries, by family. */
export const OPS: readonly OpEntry[] = [
  ...ACTIVATIONS,
  ...CASTS,
  ...CONTROL,
  ...CONVOLUTIONS,
  ...ELEMENTWISE,
  ...FUSED,
  ...INDEXING,
  ...NORMS,
  ...ORDERING,
  ...PADDING,
  ...POOLS,
  ...PRODUCTS,
  ...QUANTISED,
  ...QUANTISED_CONTRIB,
  ...RANDOM,
  ...RECURRENT,
  ...REDUCTIONS,
  ...REGULARISATION,
  ...RESIZE,
  ...SAMPLING,
  ...SEQUENCES,
  ...SHAPES,
  ...SIGNAL,
  ...STRINGS,
  ...CONTRIB,
  ...EXPERTS,
  ...ML,
  ...NHWC,
  ...OPTIMIZERS,
  ...REGIONS,
  ...SPARSE_ATTENTION,
  ...TOKENS,
];

const BY_NAME = new Map<string, OpEntry[]>();
for (const entry of [...OPS].sort((a, b) => b.since - a.since)) {
  const key = keyOf(entry), entries = BY_NAME.get(key);
  if (entries === undefined) BY_NAME.set(key, [entry]);
  else entries.push(entry);
}

function keyOf({ domain = "", name }: Pick<OpEntry, "domain" | "name">): string {
  return `${domain}:${name}`;
}

/** Returns the entry of an op of a version: the latest that is not newer. */
export const lookupOp: Lookup = (domain, name, version) =>
  BY_NAME.get(keyOf({ domain, name }))?.find((entry) => entry.since <= version) ?? null;
