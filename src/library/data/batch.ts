/** Stages that put consecutive elements under a new leading axis. */
import { CompositeSpec } from "../../engine/core/composite.ts";
import { ValueError } from "../../engine/core/errors.ts";
import type { NdArray } from "../../engine/core/nd_array.ts";
import { optionCheck, type OptionKeys } from "../../engine/core/arguments.ts";
import type { TensorSpec } from "../../engine/core/tensor_spec.ts";
import { RaggedTensorSpec } from "../../engine/ops/ragged/ragged_tensor.ts";
import type { Element, ElementType } from "./element.ts";
import { batchedType, leavesOf, stackElements, typeOfLeaves } from "./parts/leaves.ts";
import { padding } from "./parts/padding.ts";
import {
  checkCount,
  Failure,
  known,
  outcomeOf,
  type Source,
  type SourceInit,
  Stacked,
} from "./source.ts";
import { stageOver } from "./stage.ts";

/** Options of {@linkcode Dataset.batch}. */
export interface BatchOptions {
  /** True: a last batch that is smaller is left out, so that the batch size is static. Default false. */
  readonly dropRemainder?: boolean;
}

/** Options of {@linkcode Dataset.paddedBatch}. */
export interface PaddedBatchOptions extends BatchOptions {
  /** Shape of each component, in the element's structure; null pads to the longest of the batch. Default: the static shapes. */
  readonly paddedShapes?: unknown;
  /** Value to pad each component with, in the element's structure; one value serves all. Default 0, false or the empty string. */
  readonly paddingValues?: unknown;
}

const checkBatchOptions = optionCheck<BatchOptions>("batch", { dropRemainder: true });
export const PADDED_BATCH_OPTIONS: OptionKeys<PaddedBatchOptions> = {
  dropRemainder: true,
  paddedShapes: true,
  paddingValues: true,
};
const checkPaddedBatchOptions = optionCheck<PaddedBatchOptions>(
  "paddedBatch",
  PADDED_BATCH_OPTIONS,
);

/** Joins rows of a component. */
export type Join = (rows: readonly NdArray[], component: number) => NdArray;

/** Joins the elements of a batch, component by component. */
export function joinRows(rows: readonly Element[], join: Join): Element {
  return rows[0].map((_, c) => join(rows.map((row) => row[c]), c));
}

/** Options of a stage that makes batches. */
interface Batching extends Partial<SourceInit> {
  readonly kind: string;
  /** Returns the type of batches of `rows` rows. */
  readonly inBatch: (rows: number | null) => ElementType;
  readonly join: (rows: readonly Element[]) => Element;
  /** True: elements side by side are a batch. */
  readonly isStack?: boolean;
}

/** True for a map, watched or not. */
function isMap({ kinds }: Source): boolean {
  return /^(Progress\()*(Parallel|Worker)?Map\(/.test(kinds);
}

/** Makes a stage that joins `batchSize` elements at a time. */
function batched(
  input: Source,
  batchSize: number,
  { dropRemainder = false }: BatchOptions,
  { inBatch, join, isStack = false, ...more }: Batching,
): Source {
  const n = checkCount(batchSize, "batchSize", 1), type = inBatch(dropRemainder ? n : null);
  // Elements that a failing one takes with it: those before it in its batch, and those after it where TensorFlow makes the batch in one
  // with the map before.
  const isUnit = more.kind === "RaggedBatch" || more.kind === "Batch" && isMap(input);
  return stageOver(input, {
    ...more,
    ...type,
    // A batch of strings shares the input's bytes.
    isFresh: input.isFresh || type.specs.every(({ dtype }) => dtype !== "string"),
    size: known(input.size, (size) => (dropRemainder ? Math.floor : Math.ceil)(size / n)),
    async next({ input }) {
      const rows: Element[] = [];
      let failure: Failure | null = null;
      const many = isUnit && input.many !== undefined ? await input.many(n) : null;
      if (isStack && many instanceof Stacked) {
        return dropRemainder && many.length < n ? null : many.arrays;
      }
      const together = many instanceof Stacked ? many.each() : many;
      for (let count = 0; count < n; count++) {
        const item = together === null ? await input.next() : together[count] ?? null;
        if (item === null) {
          if (failure !== null) break;
          if (count === 0 || dropRemainder) return null;
          break;
        }
        if (!(item instanceof Failure)) rows.push(item);
        else {
          failure ??= item;
          if (!isUnit) break;
        }
      }
      return failure ?? outcomeOf(() => join(rows));
    },
  });
}

/** Joins `n` elements of equal shapes to one. */
export function batchSource(input: Source, n: number, options: BatchOptions): Source {
  checkBatchOptions(options);
  const { dropRemainder = false } = options;
  return batched(input, n, options, {
    kind: "Batch",
    isStack: true,
    inBatch: (rows) => batchedType(input, rows),
    join: stackElements(input),
    settings: { stage: "Batch", batchSize: n, dropRemainder },
  });
}

/** Joins `n` elements to one, each padded at the ends of its axes. */
export function paddedBatchSource(input: Source, n: number, options: PaddedBatchOptions): Source {
  checkPaddedBatchOptions(options);
  const { specs, join, shapes, values } = padding(input, options);
  const { dropRemainder = false } = options;
  return batched(input, n, options, {
    kind: "PaddedBatch",
    inBatch: (rows) => batchedType({ specs, structure: input.structure }, rows),
    join: (rows) => joinRows(rows, join),
    settings: { stage: "PaddedBatch", batchSize: n, dropRemainder, shapes, values },
  });
}

/** Joins `n` elements to one: components of varying shapes become ragged tensors, ragged ones get a dimension more. */
export function raggedBatchSource(input: Source, n: number, options: BatchOptions): Source {
  checkBatchOptions(options);
  const leaves = leavesOf(input), wanted = leaves.map(({ spec }) => raggedLeaf(spec));
  const type = typeOfLeaves(input.structure, wanted), join = stackElements(type);
  const asRagged = (element: Element): Element =>
    leaves.flatMap(({ spec, from, to }, i) => {
      const own = element.slice(from, to), leaf = wanted[i];
      return leaf instanceof RaggedTensorSpec && !(spec instanceof CompositeSpec)
        ? leaf.componentsOfArray(own[0])
        : own;
    });
  return batched(input, n, options, {
    kind: "RaggedBatch",
    inBatch: (rows) => batchedType(type, rows),
    join: (rows) => join(rows.map(asRagged)),
  });
}

/** Returns a leaf's spec in a batch: a tensor of unknown dimensions becomes a ragged tensor up to the last of them. */
function raggedLeaf(spec: TensorSpec | CompositeSpec): TensorSpec | CompositeSpec {
  if (spec instanceof CompositeSpec) return spec;
  const { shape, dtype } = spec;
  if (shape === null) {
    throw new ValueError(
      "Cannot batch components of unknown rank into ragged tensors: declare the shape in the stage before",
    );
  }
  const last = shape.lastIndexOf(null);
  return last < 0 ? spec : new RaggedTensorSpec(shape, dtype, last);
}
