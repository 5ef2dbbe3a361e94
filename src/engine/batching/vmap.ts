/** vmap and vectorizedMap: functions of a row become functions of all rows. */
import { currentInterpreter } from "../core/apply.ts";
import { optionCheck, wantFunction } from "../core/arguments.ts";
import { CompositeSpec, CompositeTensor } from "../core/composite.ts";
import { ValueError } from "../core/errors.ts";
import { flatten, isNested, type Nest, packAs } from "../core/nest.ts";
import { mergeShapes, normalizeAxis, type PartialShape } from "../core/shape.ts";
import type { Tensor } from "../core/tensor.ts";
import { TypeError } from "../core/throwing/builtin_errors.ts";
import { bodiesOf, type FuncGraph } from "../graph/func_graph.ts";
import { slice } from "../ops/array/slice.ts";
import { shape } from "../ops/array/view.ts";
import { intVector } from "../ops/input.ts";
import { packResults, trace, type Traced } from "../runtime/control/branch.ts";
import { nestOf } from "../runtime/control/elems.ts";
import { mapFn, type TensorsOf } from "../runtime/control/functional_ops.ts";
import { tfFunction } from "../runtime/functions/function.ts";
import { tidy } from "../runtime/eager/tensor.ts";
import { batchedOf, moveAxis, type Rows, type RowValue } from "./values.ts";
import { loopWarning, runRows } from "./walk.ts";

/** The axis of an argument along which its rows lie, null where it is the same for all rows. */
export type RowAxis = number | null;

/** Options of {@linkcode vmap}. */
export interface VmapOptions {
  /** Axis of the rows in all arguments, or in each of them. Default 0. */
  readonly inAxes?: RowAxis | readonly RowAxis[];
  /** Axis of the rows in all results, or in each of a list of them. Default 0. */
  readonly outAxes?: number | readonly number[];
}

const checkOptions = optionCheck<VmapOptions>("vmap", { inAxes: true, outAxes: true });

/** Ops that stand for a gradient of a row's own tape, which has no rows, and the step of a generator, whose next numbers are another row's. */
const IN_TURN: ReadonlySet<string> = new Set(
  "TapeGradient _CustomGradient _Recomputed MergeGradients UnseenGradient _PhiloxSkip".split(" "),
);

/**
 * Makes a function of all rows of a function of one row: `fn` is traced for a row, and its ops run for all rows at once by
 * rules; an op that has no rule, which a warning names, runs in a loop. Scripts with `vectorized: true` are called once.
 * Arguments are tensors or nests of them; results are the tensors of `fn`, in its nest. Nests, stands inside `tf.function`,
 * and has gradients of any order, as has what it makes. `fn` runs once, so it cannot read values. Throws `ValueError` where
 * no argument has rows or their numbers differ. Follows JAX `vmap`.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * const dot = (a: tf.Tensor, b: tf.Tensor) => tf.sum(tf.mul(a, b));
 * const x = tf.tensor([[1, 2], [3, 4]]), w = tf.tensor([10, 100]);
 * console.log(await tf.vmap(dot)(x, x).array()); // [5, 25]
 * console.log(await tf.vmap(dot, { inAxes: [0, null] })(x, w).array()); // [210, 430]
 * console.log(await tf.vmap(tf.grad((a) => dot(a, a)))(x).array()); // [[2, 4], [6, 8]]
 * ```
 */
export function vmap<A extends readonly unknown[], R extends Nest<Tensor>>(
  fn: (...args: A) => R,
  options: VmapOptions = {},
): (...args: A) => R {
  wantFunction(fn, "fn", "vmap");
  checkOptions(options);
  const { inAxes = 0, outAxes = 0 } = options;
  return (...args) => {
    const axes = args.map((_, i) => Array.isArray(inAxes) ? inAxes[i] ?? null : inAxes as RowAxis);
    if (Array.isArray(inAxes) && inAxes.length !== args.length) {
      throw new ValueError(
        `Cannot call a function of vmap with ${args.length} arguments: inAxes has ${inAxes.length}`,
      );
    }
    const given = args.map((arg, i) => nestOf(arg, `argument ${i}`, "vmap"));
    const sizes = given.map(({ tensors }) => tensors.length);
    const leaves = given.flatMap(({ tensors }, i) =>
      tensors.map((tensor) => ({ tensor, axis: axes[i] }))
    );
    const call = (...rows: Tensor[]): R => {
      const own = sizes.map((n, i) => {
        const part = rows.splice(0, n);
        return given[i].like === null ? part[0] : packAs(given[i].like, part);
      });
      return fn(...own as unknown as A);
    };
    return overRows(call, leaves, "vmap", outAxes) as R;
  };
}

/**
 * Calls `fn` on each row of `elems`, a tensor or a nest of tensors, and stacks the results, as {@linkcode mapFn} does, but all
 * rows at once as {@linkcode vmap} does. Ragged and sparse elements and results are visited one by one. Follows TensorFlow
 * `tf.vectorized_map`.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * const outer = (row: tf.Tensor) => tf.mul(tf.expandDims(row, 0), tf.expandDims(row, 1));
 * console.log(await tf.vectorizedMap(outer, tf.tensor([[1, 2], [3, 4]])).array()); // [[[1, 2], [2, 4]], [[9, 12], [12, 16]]]
 * ```
 */
export function vectorizedMap<const E, R extends Nest<Tensor>>(
  fn: (elem: TensorsOf<E>) => R,
  elems: E,
): R {
  wantFunction(fn, "fn", "vectorizedMap");
  if (leavesOf(elems).some((v) => v instanceof CompositeTensor)) return mapFn(fn, elems);
  const { like, tensors } = nestOf(elems, "elems", "vectorizedMap");
  const call = (...rows: Tensor[]): R =>
    fn((like === null ? rows[0] : packAs(like, rows)) as TensorsOf<E>);
  return overRows(call, tensors.map((tensor) => ({ tensor, axis: 0 })), "vectorizedMap", 0) as R;
}

/** A tensor of the arguments. */
interface Leaf {
  readonly tensor: Tensor;
  readonly axis: RowAxis;
}

function overRows(
  fn: (...rows: Tensor[]) => unknown,
  leaves: readonly Leaf[],
  name: string,
  outAxes: number | readonly number[],
): unknown {
  return tidy(() => {
    const inputs = leaves.map((leaf, i) => rowsOf(leaf, i, name));
    const rows = rowsIn(inputs, name);
    const specs = inputs.map(({ all, batched }) => {
      const known = (all as Tensor).staticShape;
      return { dtype: all.dtype, shape: batched && known ? known.slice(1) : known };
    });
    const traced = trace(fn, specs, name);
    if (!currentInterpreter().symbolic && hasOpsOfGraphs(traced.f.graph)) {
      return tfFunction(() => overRows(fn, leaves, name, outAxes))();
    }
    if (leavesOf(traced.structure).some((leaf) => leaf instanceof CompositeSpec)) {
      if ([outAxes].flat().some((axis) => axis !== 0)) {
        throw new ValueError(
          `Cannot return ragged or sparse rows from ${name} along another axis than 0`,
        );
      }
      return inTurn(fn, inputs);
    }
    // Rules count axes; rows of unknown ranks run in one loop.
    const isOfRanks = inputs.every(({ all }) => (all as Tensor).staticShape !== null);
    const tensors = !isOfRanks || hasTurns(traced.f.graph)
      ? leavesOf(inTurn(fn, inputs)) as Tensor[]
      : runRows(
        traced.f.graph,
        inputs,
        traced.f.graph.captures.map(({ outer }) => ({ all: outer, batched: false })),
        rows,
      ).map((value) => batchedOf(value, rows));
    return packed(traced, tensors, outAxes, name);
  });
}

/** The argument with the rows along its first axis. */
function rowsOf({ tensor, axis }: Leaf, place: number, name: string): RowValue {
  const all = tensor.readValue();
  if (axis === null) return { all, batched: false };
  const known = all.staticShape;
  if (known === null) {
    if (axis === 0) return { all, batched: true };
    throw new ValueError(
      `Cannot ${name} over axis ${axis} of tensor ${place}: its rank must be known`,
    );
  }
  if (known.length === 0) {
    throw new ValueError(
      `Cannot ${name} over tensor ${place} of shape []: wanted rows along axis ${axis}`,
    );
  }
  return { all: moveAxis(all, normalizeAxis(axis, known.length), 0), batched: true };
}

function rowsIn(inputs: readonly RowValue[], name: string): Rows {
  const batched = inputs.filter((v) => v.batched).map((v) => v.all as Tensor);
  if (batched.length === 0) {
    throw new ValueError(`Cannot ${name} a function: none of its arguments has rows`);
  }
  const first = batched.map((t) => t.staticShape?.slice(0, 1) ?? [null]);
  let known: PartialShape = null;
  for (const s of first) {
    try {
      known = mergeShapes(known, s);
    } catch {
      throw new ValueError(
        `Cannot ${name} over arguments with ${
          first.map((s) => s[0]).join(", ")
        } rows: wanted as many in each`,
      );
    }
  }
  const count = known![0];
  return {
    count,
    vector: count === null ? slice(shape(batched[0]), [0], [1]) : intVector([count]),
  };
}

/** True where a body, or a function that it calls, has an op of a tape's gradient, of a list or of a generator. */
function hasTurns(graph: FuncGraph): boolean {
  return graph.operations.some((op) =>
    IN_TURN.has(op.type) || op.inputs.some((t) => t.dtype === "variant") ||
    bodiesOf(op).some(hasTurns)
  );
}

/** True where a body, or a function that it calls, has an op that runs in graphs alone, such as a script of tensors. */
function hasOpsOfGraphs(graph: FuncGraph): boolean {
  return graph.operations.some((op) => {
    const { host } = op.def, called = bodiesOf(op);
    if (called.length > 0) return called.some(hasOpsOfGraphs);
    return host !== undefined && host.eager === undefined;
  });
}

/** Calls the function for each row by itself, and stacks the results in their nest. */
function inTurn(fn: (...rows: Tensor[]) => unknown, inputs: readonly RowValue[]): unknown {
  const isOfRanks = inputs.every(({ all }) => (all as Tensor).staticShape !== null);
  loopWarning.write(
    `vmap has no rule for ${
      isOfRanks
        ? "gradients of control flow, lists, generators, and ragged or sparse results"
        : "rows of unknown ranks"
    }: the function runs in a loop over the rows`,
  );
  const batched = inputs.filter((v) => v.batched).map((v) => v.all as Tensor);
  return mapFn((rows: Tensor[]) => {
    const left = [...rows];
    return fn(...inputs.map((v) => v.batched ? left.shift()! : v.all as Tensor)) as Nest<Tensor>;
  }, batched);
}

function leavesOf(nest: unknown): unknown[] {
  return isNested(nest) ? flatten<unknown>(nest as Nest<unknown>) : [nest];
}

function packed(
  traced: Traced,
  tensors: readonly Tensor[],
  outAxes: number | readonly number[],
  name: string,
): unknown {
  const axes = tensors.map((_, i) => Array.isArray(outAxes) ? outAxes[i] : outAxes as number);
  if (Array.isArray(outAxes) && outAxes.length !== tensors.length) {
    throw new ValueError(
      `Cannot return ${tensors.length} results from ${name}: outAxes has ${outAxes.length}`,
    );
  }
  return packResults(
    traced,
    tensors.map((t, i) => {
      const known = t.staticShape;
      if (axes[i] === 0) return t;
      if (known === null) {
        throw new TypeError(`Cannot move the rows of a result of unknown rank to axis ${axes[i]}`);
      }
      return moveAxis(t, 0, normalizeAxis(axes[i], known.length));
    }),
  );
}
