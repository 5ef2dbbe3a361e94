/**
 * Stages between elements and groups of them: window, which gives small datasets, and unbatch, which gives rows.
 */
import { CompositeSpec } from "../core/composite.ts";
import { TypeError } from "../core/throwing/builtin_errors.ts";
import { InvalidArgumentError, ValueError } from "../core/errors.ts";
import { NdArray } from "../core/nd_array.ts";
import { optionCheck } from "../core/options.ts";
import { TensorSpec } from "../core/tensor_spec.ts";
import { type Element, type ElementType, rowOf, specsNest } from "./element.ts";
import { checkCount, counted, Failure, known, makeSource, type Source } from "./source.ts";
import { stageOver } from "./stage.ts";
import type { Window } from "./state.ts";

/** Options of {@linkcode Dataset.window}. */
export interface WindowOptions {
  /** How far the next window begins. Default `size`: they do not overlap. */
  readonly shift?: number;
  /** How far the elements of a window are apart. Default 1. */
  readonly stride?: number;
  /** True: last windows of fewer elements are left out. Default false. */
  readonly dropRemainder?: boolean;
}

const checkOptions = optionCheck<WindowOptions>("window", {
  shift: true,
  stride: true,
  dropRemainder: true,
});

/** What is known of a dataset that stands in an element. Follows TensorFlow `tf.data.DatasetSpec`. */
export class DatasetSpec extends CompositeSpec {
  /** The one handle that it is in a graph. */
  readonly components: readonly TensorSpec[] = [TensorSpec([], "variant")];
  readonly #type: ElementType;
  readonly #make: (source: Source) => unknown;

  /** @internal */
  constructor(type: ElementType, make: (source: Source) => unknown) {
    super();
    this.#type = type;
    this.#make = make;
  }

  /** The dataset of a window. Throws `TypeError` where there is only a tensor that will stand for it. */
  pack([window]: readonly unknown[]): unknown {
    if (window instanceof NdArray) {
      return this.#make(rowsSource(this.#type, window.data[0] as Window));
    }
    throw new TypeError(
      "Cannot trace a function of windows: they are datasets, pass them to flatMap() or interleave()",
    );
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

/** Datasets of `size` elements each. */
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
    begin: (): { buffer: Element[]; skip: number } => ({ buffer: [], skip: 0 }),
    async next({ input, own }) {
      while (own.buffer.length < span) {
        const item = await input.next();
        if (item instanceof Failure) return item;
        if (item === null) break;
        if (own.skip > 0) own.skip--;
        else own.buffer.push(item);
      }
      const window = own.buffer.filter((_, i) => i % stride === 0 && i < span);
      if (window.length === 0 || (dropRemainder && window.length < size)) return null;
      own.skip = Math.max(0, shift - own.buffer.length);
      own.buffer = own.buffer.slice(shift);
      return [new NdArray("variant", [], [window])];
    },
  });
}

/** The rows of each element. */
export function unbatchSource(input: Source): Source {
  for (const { shape } of input.specs) {
    if (shape?.length === 0) {
      throw new ValueError("Cannot unbatch an input with scalar components");
    }
  }
  const lengths = input.specs.flatMap(({ shape }) => shape?.[0] ?? []);
  const [leading] = lengths, other = lengths.find((d) => d !== leading);
  if (other !== undefined) {
    throw new ValueError(
      `Cannot unbatch elements whose components have different leading dimensions, ${leading} and ${other}`,
    );
  }
  return stageOver(input, {
    kind: "Unbatch",
    specs: input.specs.map(({ shape, dtype }) => TensorSpec(shape && shape.slice(1), dtype)),
    size: input.size === null || leading === undefined ? null : input.size * leading,
    settings: { stage: "Unbatch" },
    begin: (): { element: Element | null; at: number } => ({ element: null, at: 0 }),
    async next({ input, own }) {
      for (;;) {
        if (own.element !== null && own.at < own.element[0].shape[0]) {
          const i = own.at++;
          return own.element.map((array) => rowOf(array, i));
        }
        own.element = null;
        const item = await input.next();
        if (item === null || item instanceof Failure) return item;
        const problem = lengthProblem(item);
        if (problem) return problem;
        own.element = item;
        own.at = 0;
      }
    },
  });
}

function lengthProblem(element: Element): Failure | null {
  const lengths = element.map(({ shape }) => shape[0]);
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
