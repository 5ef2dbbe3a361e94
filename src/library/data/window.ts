/** Stages between elements and groups of them: window, which gives small datasets, and unbatch, which gives rows. */
import { CompositeSpec } from "../../engine/core/composite.ts";
import { TypeError } from "../../engine/core/throwing/builtin_errors.ts";
import { InvalidArgumentError, ValueError } from "../../engine/core/errors.ts";
import { NdArray } from "../../engine/core/nd_array.ts";
import { optionCheck, wantMade } from "../../engine/core/arguments.ts";
import { TensorSpec } from "../../engine/core/tensor_spec.ts";
import { type Element, type ElementType, specsNest } from "./element.ts";
import { leavesOf, rowsOfLeaves, unbatchedType } from "./parts/leaves.ts";
import {
  checkCount,
  counted,
  Failure,
  known,
  makeSource,
  type Outcome,
  type Source,
} from "./source.ts";
import { stageOver } from "./stage.ts";
import type { Window } from "./state.ts";

/** Options of {@linkcode Dataset.window}. */
export interface WindowOptions {
  /** Distance to the next window's beginning. Default `size`: windows do not overlap. */
  readonly shift?: number;
  /** Distance between elements of a window. Default 1. */
  readonly stride?: number;
  /** True: last windows of fewer elements are left out. Default false. */
  readonly dropRemainder?: boolean;
}

const checkOptions = optionCheck<WindowOptions>("window", {
  shift: true,
  stride: true,
  dropRemainder: true,
});

/** Type of a dataset that is an element. Follows TensorFlow `tf.data.DatasetSpec`. */
export class DatasetSpec extends CompositeSpec {
  /** The handle that stands for the dataset in a graph. */
  readonly components: readonly TensorSpec[] = [TensorSpec([], "variant")];
  readonly #type: ElementType;
  readonly #make: (source: Source) => unknown;

  /** @internal */
  constructor(type: ElementType, make: (source: Source) => unknown) {
    super();
    this.#type = type;
    wantMade(type, "structure", {
      arg: "type",
      fn: "new DatasetSpec()",
      wanted: "an element type: elementSpec of a dataset has these",
    });
    this.#make = make;
  }

  /** Returns the dataset of a window. Throws `TypeError` for a symbolic tensor. */
  pack([window]: readonly unknown[]): unknown {
    if (window instanceof NdArray) {
      return this.#make(rowsSource(this.#type, window.data[0] as Window));
    }
    throw new TypeError(
      "Cannot trace a function of windows: they are datasets, pass them to flatMap() or interleave()",
    );
  }

  /** The kind, equal for datasets of one type. */
  get kind(): string {
    return String(this);
  }
  /** Throws `TypeError`: datasets cannot be batched. */
  override batched(): never {
    throw new TypeError(
      "Cannot batch datasets: batch their elements, by flatMap((w) => w.batch(n))",
    );
  }
  /** Throws `TypeError`: datasets cannot be unbatched. */
  override unbatched(): never {
    throw new TypeError("Cannot unbatch datasets: take their elements, by flatMap((w) => w)");
  }

  /** True where a dataset of the other spec fits. */
  isCompatibleWith(other: DatasetSpec): boolean {
    return String(other) === String(this);
  }

  /** `Dataset(int32[])`. */
  override toString(): string {
    return `Dataset(${specsNest(this.#type)})`;
  }
}

function rowsSource({ specs, structure }: ElementType, rows: Window): Source {
  return makeSource({
    kind: "Window",
    specs,
    structure,
    size: rows.length,
    open: (_, from?: number) => counted(rows.length, from, (i) => rows[i]),
  });
}

/** Yields datasets of `size` elements each. */
export function windowSource(
  input: Source,
  size: number,
  options: WindowOptions,
  make: (source: Source) => unknown,
): Source {
  checkOptions(options);
  const { shift = size, stride = 1, dropRemainder = false } = options;
  checkCount(size, "size", 1);
  checkCount(shift, "shift", 1);
  checkCount(stride, "stride", 1);
  const span = (size - 1) * stride + 1;
  const spec = new DatasetSpec({ specs: input.specs, structure: input.structure }, make);
  return stageOver(input, {
    kind: "Window",
    specs: spec.components,
    structure: spec,
    size: known(
      input.size,
      (n) => dropRemainder ? Math.max(0, Math.floor((n - span) / shift) + 1) : Math.ceil(n / shift),
    ),
    begin: (): { buffer: Outcome[]; skip: number } => ({ buffer: [], skip: 0 }),
    async next({ input, own }) {
      while (own.buffer.length < span) {
        const item = await input.next();
        if (item === null) break;
        // Elements between windows are of no concern, and those that fail no more.
        if (own.skip > 0) own.skip--;
        else own.buffer.push(item);
      }
      const { buffer } = own;
      if (buffer.length === 0 || (dropRemainder && buffer.length < span)) return null;
      own.skip = Math.max(0, shift - buffer.length);
      own.buffer = buffer.slice(shift);
      const window = buffer.filter((_, i) => i % stride === 0);
      // An element that fails takes its windows along, as in TensorFlow.
      const failure = window.find((item) => item instanceof Failure);
      return failure ?? [new NdArray("variant", [], [window as Window])];
    },
  });
}

/** Yields the rows of each element. */
export function unbatchSource(input: Source): Source {
  for (const { spec: { shape } } of leavesOf(input) as { spec: TensorSpec }[]) {
    if (shape?.length === 0) {
      throw new ValueError("Cannot unbatch an input with scalar components");
    }
  }
  const { lengths, ...type } = unbatchedType(input), rowsOf = rowsOfLeaves(input);
  const [leading, ...rest] = lengths.filter((n) => n !== null);
  const other = rest.find((d) => d !== leading),
    known = new WeakMap<Element, readonly (readonly Element[])[]>();
  if (other !== undefined) {
    throw new ValueError(
      `Cannot unbatch elements whose components have different leading dimensions, ${leading} and ${other}`,
    );
  }
  return stageOver(input, {
    kind: "Unbatch",
    ...type,
    size: input.size === null || leading === undefined ? null : input.size * leading,
    settings: { stage: "Unbatch" },
    begin: (): { element: Element | null; at: number } => ({ element: null, at: 0 }),
    async next({ input, own }) {
      for (;;) {
        const { element } = own;
        if (element !== null) {
          if (!known.has(element)) {
            known.set(element, rowsOf(element) as readonly (readonly Element[])[]);
          }
          const rows = known.get(element)!, i = own.at++;
          if (i < rows[0].length) return rows.flatMap((r) => r[i]);
        }
        own.element = null;
        const item = await input.next();
        if (item === null || item instanceof Failure) return item;
        const rows = rowsOf(item);
        const problem = lengthProblem(rows.map((r) => r?.length));
        if (problem) return problem;
        known.set(item, rows as readonly (readonly Element[])[]);
        own.element = item;
        own.at = 0;
      }
    },
  });
}

function lengthProblem(lengths: readonly (number | undefined)[]): Failure | null {
  if (lengths.every((n) => n !== undefined && n === lengths[0])) return null;
  return new Failure(
    new InvalidArgumentError(
      `Input element must have the same batch size in each component: received ${
        lengths.map((n) => n ?? "a scalar").join(", ")
      }`,
      { op: "UnbatchDataset" },
    ),
  );
}
