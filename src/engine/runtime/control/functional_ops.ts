/**
 * mapFn, scan, foldl and foldr: functions over the rows of tensors. In graphs each is one op; in eager mode a plain
 * loop.
 */
import { currentInterpreter } from "../../core/apply.ts";
import {
  type CompositeTensor,
  kindText,
  packComponents,
  takeComponents,
} from "../../core/composite.ts";
import type { RaggedTensor, RaggedValues } from "../../ops/ragged/ragged_tensor.ts";
import { type Nest, packAs } from "../../core/nest.ts";
import { optionCheck } from "../../core/arguments.ts";
import type { Tensor } from "../../core/tensor.ts";
import { TypeError } from "../../core/throwing/builtin_errors.ts";
import { OutOfRangeError, ValueError } from "../../core/errors.ts";
import { concat, stack, unstack } from "../../ops/array/join.ts";
import { stridedSlice } from "../../ops/array/strided_slice.ts";
import { expandDims } from "../../ops/array/view.ts";
import { fill } from "../../ops/array/creation.ts";
import { nameScope } from "../../graph/scopes.ts";
import { applyControl, trace, type Traced } from "./branch.ts";
import { foresee } from "./no_rows.ts";
import { concatOf, rowCount, rowsShape, Scan } from "./scan_loop.ts";
import { tidy } from "../eager/tensor.ts";
import { currentRun } from "../run/run_context.ts";
import {
  elemsOf,
  nestOf,
  nextStates,
  type RowResults,
  rowResults,
  type RowSignature,
  statesOf,
  unrowed,
} from "./elems.ts";

/** A JavaScript literal that stands for one tensor. */
export type LiteralElems = number | boolean | string | bigint | readonly LiteralElems[];
/** A nest with a tensor for each leaf; literals are leaves. */
export type TensorsOf<E> = E extends LiteralElems ? Tensor
  : E extends RaggedTensor ? RaggedValues
  : E extends CompositeTensor ? NoInfer<E>
  : E extends readonly unknown[] ? { -readonly [K in keyof E]: TensorsOf<E[K]> }
  : E extends Tensor | ArrayBufferView | { readonly shape: unknown; readonly dtype: unknown }
    ? Tensor
  : E extends { readonly [key: string]: unknown } ? { -readonly [K in keyof E]: TensorsOf<E[K]> }
  : Tensor;

/** Options of {@linkcode mapFn}. */
export interface MapOptions {
  /**
   * Specs of the results of `fn`, in its nest; needed where they are not plain tensors. A row of a ragged tensor is a
   * `RaggedTensorSpec([null], dtype, 0)`.
   */
  readonly fnOutputSignature?: RowSignature;
  /** Name scope of the operations. Default `"map"`. */
  readonly name?: string;
}

/** Options of {@linkcode foldl} and {@linkcode foldr}. */
export interface FoldOptions<I = unknown> {
  /** The state of the first call. Default: the first row; the calls then start with the second. */
  readonly initializer?: I;
  /** Name scope of the operations. Default: the function's name. */
  readonly name?: string;
}

/** Options of {@linkcode scan}. */
export interface ScanOptions<I = unknown> extends FoldOptions<I> {
  /** Visit the rows from the last to the first; each result stands at its row. */
  readonly reverse?: boolean;
}

const checkMapOptions = optionCheck<MapOptions>("mapFn", {
  fnOutputSignature: true,
  name: true,
});
const checkScanOptions = optionCheck<ScanOptions>("scan", {
  initializer: true,
  name: true,
  reverse: true,
});
const FOLD_OPTIONS = { initializer: true, name: true } as const;
const checkFoldOptions = {
  foldl: optionCheck<FoldOptions>("foldl", FOLD_OPTIONS),
  foldr: optionCheck<FoldOptions>("foldr", FOLD_OPTIONS),
};

/**
 * Calls `fn` on each row of `elems` and stacks the results in their nest; ragged and sparse results stay ragged and
 * sparse. `elems` is a tensor, a ragged or sparse tensor, or a nest of them with the same first dimension; `fn` gets
 * the rows in that nest. In a graph `fn` is traced once; if it has no effects, its script bodies that await run
 * concurrently. Throws `ValueError` for scalars and for first dimensions that differ. Follows TensorFlow `tf.map_fn`.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * const x = tf.tensor([[1, 2], [3, 4]]), w = tf.tensor([10, 100]);
 * console.log(tf.mapFn((row) => tf.sum(row), x).arraySync()); // [3, 7]
 * const { y } = tf.mapFn(([row, a]) => ({ y: tf.mul(row, a) }), [x, w]);
 * console.log(y.arraySync()); // [[10, 20], [300, 400]]
 * ```
 */
export function mapFn<const E, R extends Nest<Tensor | CompositeTensor>>(
  fn: (elem: TensorsOf<E>) => R,
  elems: E,
  options: MapOptions = {},
): R {
  checkMapOptions(options);
  const { name = "map", fnOutputSignature } = options;
  return visit("mapFn", fn, name, () => {
    const { tensors, pack } = elemsOf(elems, "mapFn");
    const { structure, stacked } = loop({
      fn: "mapFn",
      elems: rowsChecked(tensors, "mapFn"),
      states: [],
      reverse: false,
      signature: fnOutputSignature,
      body: (rows) => ({ states: [], results: fn(pack(rows) as TensorsOf<E>) }),
    });
    return unrowed(structure, stacked) as R;
  });
}

/**
 * Combines a state with each row of `elems` in turn and stacks the states. The state is a nest of tensors of fixed
 * dtypes and shapes. Throws `ValueError` where its structure or a shape changes, `TypeError` where a dtype does.
 * Follows TensorFlow `tf.scan`.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * const x = tf.tensor([1, 2, 3, 4]);
 * console.log(tf.scan((a, v) => tf.add(a, v), x).arraySync()); // [1, 3, 6, 10]
 * console.log(tf.scan((a, v) => tf.add(a, v), x, { initializer: 10, reverse: true }).arraySync()); // [20, 19, 17, 14]
 * ```
 */
export function scan<const E, const I = E>(
  fn: (state: TensorsOf<I>, elem: TensorsOf<E>) => TensorsOf<I>,
  elems: E,
  options: ScanOptions<I> = {},
): TensorsOf<I> {
  checkScanOptions(options);
  const { reverse = false, name = "scan" } = options;
  return visit("scan", fn, name, () => {
    const fold = startFold("scan", elems, { ...options, reverse });
    const { stacked } = loop({
      ...fold,
      body: (rows, states) => {
        const next = stepOf(fn, fold, rows, states);
        return { states: next, results: next };
      },
    });
    const all = fold.first
      ? stacked.map((t, i) => {
        const first = expandDims(fold.states[i], 0);
        return concat(reverse ? [t, first] : [first, t]);
      })
      : stacked;
    return packAs(fold.stateLike, all) as TensorsOf<I>;
  });
}

/**
 * Combines a state with each row of `elems`, from the first to the last, and returns the last state. Throws as {@linkcode scan}.
 * Follows TensorFlow `tf.foldl`.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * console.log(tf.foldl((a, v) => tf.sub(tf.mul(a, 2), v), tf.tensor([1, 2, 3])).item()); // -3
 * ```
 */
export function foldl<const E, const I = E>(
  fn: (state: TensorsOf<I>, elem: TensorsOf<E>) => TensorsOf<I>,
  elems: E,
  options: FoldOptions<I> = {},
): TensorsOf<I> {
  checkFoldOptions.foldl(options);
  return foldRows("foldl", fn, elems, { ...options, reverse: false });
}

/**
 * {@linkcode foldl} from the last row to the first. Throws as {@linkcode scan}. Follows TensorFlow `tf.foldr`.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * console.log(tf.foldr((a, v) => tf.sub(tf.mul(a, 2), v), tf.tensor([1, 2, 3])).item()); // 7
 * ```
 */
export function foldr<const E, const I = E>(
  fn: (state: TensorsOf<I>, elem: TensorsOf<E>) => TensorsOf<I>,
  elems: E,
  options: FoldOptions<I> = {},
): TensorsOf<I> {
  checkFoldOptions.foldr(options);
  return foldRows("foldr", fn, elems, { ...options, reverse: true });
}

function foldRows<E, I>(
  name: string,
  fn: (state: TensorsOf<I>, elem: TensorsOf<E>) => TensorsOf<I>,
  elems: E,
  options: ScanOptions<I>,
): TensorsOf<I> {
  return visit(name, fn, options.name ?? name, () => {
    const fold = startFold(name, elems, options);
    const { states } = loop({
      ...fold,
      body: (rows, states) => ({ states: stepOf(fn, fold, rows, states), results: [] }),
    });
    return packComponents(fold.stateLike, states) as TensorsOf<I>;
  });
}

/** Checks `fn` and runs `body`; frees the intermediate tensors. */
function visit<R>(name: string, fn: unknown, scope: string, body: () => R): R {
  if (typeof fn !== "function") {
    throw new TypeError(`The callable passed to ${name} must be callable`);
  }
  return nameScope(scope, () => tidy(body));
}

function rowsChecked(tensors: readonly Tensor[], fn: string): readonly Tensor[] {
  if (tensors.some((t) => t.staticShape?.length === 0)) {
    throw new ValueError(`Elements in elems of ${fn} must be 1+ dimensional Tensors, not scalars`);
  }
  rowCount(tensors);
  return tensors;
}

/** The start of a fold. */
interface Fold extends Omit<Loop, "body"> {
  readonly pack: (rows: readonly Tensor[]) => unknown;
  readonly stateLike: unknown;
  /** True where the initial state is the first row. */
  readonly first: boolean;
}

function startFold(
  fn: string,
  elems: unknown,
  { initializer, reverse = false }: ScanOptions,
): Fold {
  const { tensors, pack } = elemsOf(elems, fn);
  rowsChecked(tensors, fn);
  const rows = { fn, pack, reverse };
  if (initializer !== undefined) {
    const { tensors: states, like: stateLike } = statesOf(initializer, fn);
    return { ...rows, elems: tensors, states, stateLike, first: false };
  }
  // Throws for composite values: a row of one cannot be a state.
  const { like } = nestOf(elems, "the initializer, which is the first row of elems,", fn);
  if (rowCount(tensors) === 0) {
    throw new OutOfRangeError(
      `Tried to read from index 0 but array size is: 0, pass ${fn} an initializer for elems of no rows`,
    );
  }
  const [at, from] = reverse ? [-1, 0] : [0, 1];
  return {
    ...rows,
    elems: tensors.map((t) => stridedSlice(t, [from], [-1], [1], 0, reverse ? 0 : 1)),
    states: tensors.map((t) => stridedSlice(t, [at], [0], [1], 0, 1, 0, 0, 1)),
    stateLike: like,
    first: true,
  };
}

/** Calls a fold's function once and returns the next states, in the nest of the first. */
function stepOf<E, I>(
  fn: (state: TensorsOf<I>, elem: TensorsOf<E>) => TensorsOf<I>,
  { stateLike, states, pack, fn: name }: Fold,
  rows: readonly Tensor[],
  current: readonly Tensor[],
): Tensor[] {
  const result = fn(
    packComponents(stateLike, current) as TensorsOf<I>,
    pack(rows) as TensorsOf<E>,
  );
  const { leaves, structure } = takeComponents(result);
  if (kindText(structure) !== kindText(stateLike)) {
    throw new ValueError(
      `The two structures don't have the same nested structure: the state of ${name} is ${
        kindText(stateLike)
      }, the function returned ${kindText(structure)}`,
    );
  }
  return nextStates(leaves, states, name);
}

/** A loop over rows. */
interface Loop {
  readonly fn: string;
  readonly elems: readonly Tensor[];
  readonly states: readonly Tensor[];
  readonly reverse: boolean;
  /** Specs of the results, where they are not plain tensors. */
  readonly signature?: RowSignature | undefined;
  readonly body: (
    rows: readonly Tensor[],
    states: readonly Tensor[],
  ) => { readonly states: readonly Tensor[]; readonly results: Nest<unknown> };
}

/** The result of a loop: the last states, and the stacked results with their nest. */
interface LoopResult {
  readonly states: readonly Tensor[];
  readonly stacked: readonly Tensor[];
  readonly structure: unknown;
}

function loop(l: Loop): LoopResult {
  return currentInterpreter().symbolic ? loopInGraph(l) : loopEagerly(l);
}

function traceLoop(l: Loop): { traced: Traced; results: RowResults } {
  const { fn, elems, states, body } = l;
  let results: RowResults | undefined;
  const traced = trace(
    (...args) => {
      const out = body(args.slice(0, elems.length), args.slice(elems.length));
      results = rowResults(out.results, l);
      return [...out.states, ...results.parts.map(({ tensor }) => tensor)];
    },
    [
      ...elems.map((t) => ({ dtype: t.dtype, shape: t.staticShape?.slice(1) ?? null })),
      ...states.map((t) => ({ dtype: t.dtype, shape: t.staticShape })),
    ],
    `${fn}_body`,
  );
  return { traced, results: results! };
}

function loopInGraph(l: Loop): LoopResult {
  const { traced, results: { parts, structure } } = traceLoop(l);
  const { elems, states, reverse } = l, n = states.length;
  const concats = parts.flatMap(({ by }, k) => by === "concat" ? [k] : []);
  const outputs = applyControl(Scan, [...elems, ...states], {
    functions: { body: traced.f },
    attrs: { elems: elems.length, states: n, reverse, ...(concats.length > 0 && { concats }) },
  });
  return { states: outputs.slice(0, n), stacked: outputs.slice(n), structure };
}

function loopEagerly(l: Loop): LoopResult {
  const n = rowCount(l.elems)!;
  if (n === 0) {
    const { traced, results: { parts, structure } } = traceLoop(l);
    const results = foresee(traced.f, []).slice(l.states.length);
    const stacked = results.map(({ shape }, k) => {
      const { dtype } = traced.f.outputs[l.states.length + k];
      return parts[k].by === "concat"
        ? concatOf([], dtype, shape)
        : fill(rowsShape(0, shape), 0, dtype);
    });
    return { states: l.states, stacked, structure };
  }
  const rows = l.elems.map((t) => unstack(t));
  let states = l.states, first: RowResults | undefined;
  const collected: Tensor[][] = [];
  const run = currentRun();
  for (let k = 0; k < n; k++) {
    run?.tick();
    const i = l.reverse ? n - 1 - k : k;
    const out = l.body(rows.map((r) => r[i]), states), results = rowResults(out.results, l);
    first ??= results;
    const texts = [first, results].map(({ structure }) => kindText(structure));
    if (texts[0] !== texts[1]) {
      throw new ValueError(
        `The two structures don't have the same nested structure: ${l.fn} got ${
          texts[0]
        } and then ${texts[1]}`,
      );
    }
    results.parts.forEach(({ tensor }, j) => (collected[j] ??= []).push(tensor as Tensor));
    states = out.states;
  }
  const { parts, structure } = first!;
  return {
    states,
    stacked: collected.map((ts, k) => {
      if (l.reverse) ts.reverse();
      return parts[k].by === "concat" ? concatOf(ts, ts[0].dtype, null) : stack(ts);
    }),
    structure,
  };
}
