/** Groups: operations that only wait for others. In eager mode they do nothing. */
import { optionCheck, wantList, wrongArgument } from "../core/arguments.ts";
import { lookupOp } from "../core/op.ts";
import { withScope } from "../core/scope_context.ts";
import { Tensor } from "../core/tensor.ts";
import { ValueError } from "../core/errors.ts";
import { currentGraph } from "./current_graph.ts";
import type { Operation } from "./operation.ts";

/** A member of a group; null is left out. */
export type Awaited = Operation | Tensor | null;

/** Options of {@linkcode group}. */
export interface GroupOptions {
  /** Name of the operation. */
  readonly name?: string;
}

/**
 * Returns an operation that does nothing. Follows TensorFlow `tf.no_op`. Null in eager mode.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * console.log(new tf.Graph().asDefault(() => tf.noOp("done"))?.name); // done
 * console.log(tf.noOp()); // null
 * ```
 */
export function noOp(name?: string): Operation | null {
  const graph = currentGraph();
  return withScope(
    { opName: null },
    () => graph?.addOp(lookupOp("NoOp")!, [], {}, { name }) ?? null,
  );
}

/**
 * Returns an operation that runs after all its inputs; the last argument may be `{ name }`. Follows TensorFlow
 * `tf.group`. Null in eager mode.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * const graph = new tf.Graph();
 * const [v, both] = graph.asDefault(() => {
 *   const v = tf.variable(1);
 *   return [v, tf.group(v.initializer)];
 * });
 * const sess = new tf.Session({ graph });
 * console.log([await sess.run(both!), await sess.run(v)]); // [null, 1]
 * ```
 */
export function group(
  ...inputs: (Awaited | GroupOptions | readonly Awaited[])[]
): Operation | null {
  const graph = currentGraph();
  if (graph === null) return null;
  const flat = inputs.flat() as (Awaited | GroupOptions)[];
  const last = flat.at(-1),
    isOptions = last !== undefined && last !== null && !("op" in last) && !("inputs" in last);
  const name = isOptions ? (last as GroupOptions).name : undefined;
  const list = (isOptions ? flat.slice(0, -1) : flat).filter((x) => x !== null) as (
    | Operation
    | Tensor
  )[];
  return graph.controlDependencies(
    null,
    () => graph.controlDependencies(list, () => noOp(name ?? "group_deps")),
  );
}

/** Options of {@linkcode tuple}. */
export interface TupleOptions {
  /** Further operations to wait for. */
  readonly controlInputs?: readonly (Operation | Tensor)[];
}

const checkTuple = optionCheck<TupleOptions>("tuple", { controlInputs: true });

/**
 * Returns the tensors, each of which waits for all of them; null stays null. Follows TensorFlow `tf.tuple`. Throws
 * `ValueError` if there is no tensor.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * const [a, b] = tf.tuple([tf.scalar(1), tf.scalar(2)]);
 * console.log([a!.item(), b!.item()]); // [1, 2]
 * ```
 */
export function tuple<T extends Tensor | null>(
  tensors: readonly T[],
  options: TupleOptions = {},
): T[] {
  checkTuple(options);
  const graph = currentGraph();
  wantList(tensors, "tensors", "tuple", "tensors");
  const given = tensors.filter((t) => t !== null).map((t, i) => {
    if (!(t instanceof Tensor)) throw wrongArgument(t, `tensors[${i}]`, "tuple", "a tensor");
    return t.readValue();
  });
  if (given.length === 0) {
    throw new ValueError("Must have at least one Tensor to wait on: tuple() received none");
  }
  if (graph === null) return [...tensors];
  const gate = group([...given, ...options.controlInputs ?? []]);
  return tensors.map((t) =>
    t && graph.controlDependencies(
      [gate!],
      () => graph.addOp(lookupOp("Identity")!, [t.readValue()], {}).outputs[0] as Tensor as T,
    )
  );
}
