/**
 * Stages that put consecutive elements under a new leading axis.
 */
import { CompositeSpec, leafSpecs } from "../core/composite.ts";
import { packAs } from "../core/nest.ts";
import { TypeError } from "../core/throwing/builtin_errors.ts";
import { ValueError } from "../core/errors.ts";
import { NdArray } from "../core/nd_array.ts";
import { optionCheck, type OptionKeys } from "../core/options.ts";
import { sizeOf } from "../core/shape.ts";
import type { TensorSpec } from "../core/tensor_spec.ts";
import { RaggedTensorSpec } from "../ops/ragged/ragged_tensor.ts";
import { type Element, putAt, stackRows } from "./element.ts";
import { padding } from "./parts/padding.ts";
import {
  checkCount,
  Failure,
  known,
  outcomeOf,
  type Source,
  type SourceInit,
  withLeading,
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
/** Their keys, for checks of options that have them. */
export const PADDED_BATCH_OPTIONS: OptionKeys<PaddedBatchOptions> = {
  dropRemainder: true,
  paddedShapes: true,
  paddingValues: true,
};
const checkPaddedBatchOptions = optionCheck<PaddedBatchOptions>(
  "paddedBatch",
  PADDED_BATCH_OPTIONS,
);

/** What joins rows of a component. */
export type Join = (rows: readonly NdArray[], component: number) => NdArray;

/** The elements of a batch joined, component by component. */
export function joinRows(rows: readonly Element[], join: Join): Element {
  return rows[0].map((_, c) => join(rows.map((row) => row[c]), c));
}

/** How a stage makes batches. */
interface Batching extends Partial<SourceInit> {
  readonly kind: string;
  /** The specs in batches of so many rows. */
  readonly inBatch: (rows: number | null) => readonly TensorSpec[];
  readonly join: (rows: readonly Element[]) => Element;
}

/** `batchSize` elements at a time, joined. */
function batched(
  input: Source,
  batchSize: number,
  { dropRemainder = false }: BatchOptions,
  { inBatch, join, ...more }: Batching,
): Source {
  const n = checkCount(batchSize, "batchSize", 1), specs = inBatch(dropRemainder ? n : null);
  // What an element takes with it that fails, as in TensorFlow: all of its batch, or of a padded one those before it.
  const isUnit = more.kind !== "PaddedBatch";
  return stageOver(input, {
    ...more,
    specs,
    // The bytes of strings are those that came in.
    isFresh: input.isFresh || specs.every(({ dtype }) => dtype !== "string"),
    size: known(input.size, (size) => (dropRemainder ? Math.floor : Math.ceil)(size / n)),
    async next({ input }) {
      const rows: Element[] = [];
      let failure: Failure | null = null;
      for (let count = 0; count < n; count++) {
        const item = await input.next();
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

/** `n` elements of equal shapes to one. */
export function batchSource(input: Source, n: number, options: BatchOptions): Source {
  checkBatchOptions(options);
  const { dropRemainder = false } = options;
  return batched(input, n, options, {
    kind: "Batch",
    inBatch: (rows) => withLeading(input.specs, rows),
    join: (rows) => joinRows(rows, stackRows),
    settings: { stage: "Batch", batchSize: n, dropRemainder },
  });
}

/** `n` elements to one, each padded at the ends of its axes. */
export function paddedBatchSource(input: Source, n: number, options: PaddedBatchOptions): Source {
  checkPaddedBatchOptions(options);
  const { specs, join, shapes, values } = padding(input, options);
  const { dropRemainder = false } = options;
  return batched(input, n, options, {
    kind: "PaddedBatch",
    inBatch: (rows) => withLeading(specs, rows),
    join: (rows) => joinRows(rows, join),
    settings: { stage: "PaddedBatch", batchSize: n, dropRemainder, shapes, values },
  });
}

/** How a component is batched: its rows under a new axis, or as rows of a ragged tensor. */
interface RaggedComponent {
  readonly specs: readonly TensorSpec[];
  /** What stands in the structure. */
  readonly leaf: unknown;
  readonly join: (rows: readonly (readonly NdArray[])[], component: number) => readonly NdArray[];
}

/** `n` elements to one: components whose shapes vary become ragged tensors, ragged ones get a dimension more. */
export function raggedBatchSource(input: Source, n: number, options: BatchOptions): Source {
  checkBatchOptions(options);
  const { dropRemainder = false } = options;
  const rows = dropRemainder ? checkCount(n, "batchSize", 1) : null;
  let at = 0;
  const components = leafSpecs(input.structure, input.specs).map((spec) => {
    const from = at;
    at += spec instanceof CompositeSpec ? spec.components.length : 1;
    return { from, to: at, ...raggedComponent(spec, rows) };
  });
  return batched(input, n, options, {
    kind: "RaggedBatch",
    inBatch: () => components.flatMap(({ specs }) => specs),
    structure: packAs(input.structure, components.map(({ leaf }) => leaf)),
    join: (elements) =>
      components.flatMap(({ join, from, to }, c) =>
        join(elements.map((e) => e.slice(from, to)), c)
      ),
  });
}

function raggedComponent(spec: TensorSpec | CompositeSpec, rows: number | null): RaggedComponent {
  if (spec instanceof RaggedTensorSpec) {
    const whole = new RaggedTensorSpec([rows, ...spec.shape], spec.dtype, spec.raggedRank + 1);
    return {
      specs: whole.components,
      leaf: whole,
      join(elements) {
        const flat = concatArrays(elements.map(([values]) => values));
        const counts = elements.map((e) => e[1].shape[0] - 1);
        const inner = spec.components.slice(1).map((_, k) =>
          splitsOf(elements.flatMap((e) => lengthsOf(e[k + 1])))
        );
        return [flat, splitsOf(counts), ...inner];
      },
    };
  }
  if (spec instanceof CompositeSpec) {
    throw new TypeError(`Cannot batch elements ${spec}: wanted tensors or ragged tensors`);
  }
  const { shape, dtype } = spec;
  if (shape === null) {
    throw new ValueError(
      "Cannot batch components of unknown rank into ragged tensors: declare the shape in the stage before",
    );
  }
  const raggedRank = shape.lastIndexOf(null) + 1;
  if (raggedRank === 0) {
    return {
      specs: withLeading([spec], rows),
      leaf: 0,
      join: (elements, c) => [stackRows(elements.map(([row]) => row), c)],
    };
  }
  const whole = new RaggedTensorSpec([rows, ...shape], dtype, raggedRank);
  return {
    specs: whole.components,
    leaf: whole,
    join(elements) {
      const arrays = elements.map(([row]) => row);
      const splits = Array.from(
        { length: raggedRank },
        (_, k) =>
          splitsOf(
            arrays.flatMap((a) => new Array<number>(sizeOf(a.shape.slice(0, k))).fill(a.shape[k])),
          ),
      );
      const flat = arrays.map((a) =>
        a.reshape([sizeOf(a.shape.slice(0, raggedRank)), ...a.shape.slice(raggedRank)])
      );
      return [concatArrays(flat), ...splits];
    },
  };
}

function splitsOf(lengths: readonly number[]): NdArray {
  const splits = new Int32Array(lengths.length + 1);
  lengths.forEach((n, i) => splits[i + 1] = splits[i] + n);
  return new NdArray("int32", [splits.length], splits);
}
function lengthsOf(splits: NdArray): number[] {
  const ends = splits.data as Int32Array;
  return Array.from({ length: ends.length - 1 }, (_, i) => ends[i + 1] - ends[i]);
}

/** Arrays one after another along their first axis. */
function concatArrays(parts: readonly NdArray[]): NdArray {
  const [{ dtype, shape }] = parts;
  const rows = parts.reduce((sum, { shape }) => sum + shape[0], 0);
  const out = NdArray.zeros(dtype, [rows, ...shape.slice(1)]);
  let at = 0;
  for (const { data } of parts) {
    putAt(out.data, data, at);
    at += data.length;
  }
  return out;
}
