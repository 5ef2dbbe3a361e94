/** Variables of the graph being built: lists of them, and operations that initialise and assign. */
import { apply1 } from "../../engine/core/apply.ts";
import type { DType } from "../../engine/core/dtype.ts";
import { ValueError } from "../../engine/core/errors.ts";
import { NdArray } from "../../engine/core/nd_array.ts";
import { lookupOp } from "../../engine/core/op.ts";
import { optionCheck, wantList, wrongArgument } from "../../engine/core/arguments.ts";
import type { Tensor, TensorLike } from "../../engine/core/tensor.ts";
import type { AssignedVariable } from "../../engine/graph/assigned_variable.ts";
import { group } from "../../engine/graph/groups.ts";
import type { Operation } from "../../engine/graph/operation.ts";
import { gather } from "../../engine/ops/array/gather.ts";
import { stack } from "../../engine/ops/array/join.ts";
import { reshape } from "../../engine/ops/array/view.ts";
import { IMPORTS } from "../../engine/ops/host/lookup.ts";
import { logicalNot } from "../../engine/ops/pointwise/logical.ts";
import { VarIsInitializedOp } from "../../engine/runtime/variables/variable_ops.ts";
import { device } from "../../engine/runtime/devices/devices.ts";
import { graphVariable, Variable } from "../../engine/runtime/variables/variable.ts";
import { graphFor, GraphKeys } from "./collections.ts";

/** Options of {@linkcode variable}. */
export interface VariableOptions {
  /** True, the default: optimizers train it. */
  readonly trainable?: boolean | undefined;
  /** Collections that list it. Default that of global variables. */
  readonly collections?: readonly string[] | undefined;
  /** Name, made unique in the graph. Default `"Variable"`. */
  readonly name?: string | undefined;
  /** Element type. Default that of the value. */
  readonly dtype?: DType | undefined;
}

const checkOptions = optionCheck<VariableOptions>("variable", {
  trainable: true,
  collections: true,
  name: true,
  dtype: true,
});

/**
 * Creates a variable of the graph. `initialValue` may be a function that adds it to the graph. Follows TensorFlow
 * `tf.compat.v1.Variable`. Throws `RuntimeError` in eager mode, `ValueError` where the initial shape is unknown.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * const v1 = tf.compat.v1, g = new tf.Graph();
 * await g.asDefault(async () => {
 *   const w = v1.variable([1, 2], { name: "w" }), init = v1.globalVariablesInitializer();
 *   const sess = new v1.Session();
 *   await sess.run(init);
 *   console.log((await sess.run(w) as tf.NdArray).toArray()); // [1, 2]
 * });
 * ```
 */
export function variable(
  initialValue: TensorLike | (() => TensorLike),
  options: VariableOptions = {},
): Variable {
  checkOptions(options);
  return graphVariable(graphFor("variable()"), initialValue, options);
}

function listed(collection: string, scope?: string): Variable[] {
  return graphFor("A list of variables").getCollection(collection, scope) as Variable[];
}

/**
 * Variables of the graph that are saved. Follows TensorFlow `tf.compat.v1.global_variables`.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * const v1 = tf.compat.v1;
 * new tf.Graph().asDefault(() => {
 *   v1.variable(1, { name: "w" });
 *   console.log(v1.globalVariables().map(({ name }) => name)); // ["w"]
 * });
 * ```
 */
export function globalVariables(scope?: string): Variable[] {
  return listed(GraphKeys.GLOBAL_VARIABLES, scope);
}
/**
 * Variables of the graph that are not saved. Follows TensorFlow `tf.compat.v1.local_variables`.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * const v1 = tf.compat.v1;
 * new tf.Graph().asDefault(() => {
 *   v1.variable(0, { name: "seen", collections: [v1.GraphKeys.LOCAL_VARIABLES] });
 *   console.log(v1.localVariables().map(({ name }) => name)); // ["seen"]
 * });
 * ```
 */
export function localVariables(scope?: string): Variable[] {
  return listed(GraphKeys.LOCAL_VARIABLES, scope);
}
/**
 * Variables of the graph that optimizers train. Follows TensorFlow `tf.compat.v1.trainable_variables`.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * const v1 = tf.compat.v1;
 * new tf.Graph().asDefault(() => {
 *   v1.variable(1, { name: "w" });
 *   v1.variable(0, { name: "steps", trainable: false });
 *   console.log(v1.trainableVariables().map(({ name }) => name)); // ["w"]
 * });
 * ```
 */
export function trainableVariables(scope?: string): Variable[] {
  return listed(GraphKeys.TRAINABLE_VARIABLES, scope).filter((v) => v.trainable);
}
/**
 * Variables of the graph of which moving averages are kept. Follows TensorFlow `tf.compat.v1.moving_average_variables`.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * new tf.Graph().asDefault(() => {
 *   console.log(tf.compat.v1.movingAverageVariables().length); // 0
 * });
 * ```
 */
export function movingAverageVariables(scope?: string): Variable[] {
  return listed(GraphKeys.MOVING_AVERAGE_VARIABLES, scope);
}

/**
 * Adds an operation that initialises variables. Follows TensorFlow `tf.compat.v1.variables_initializer`. Throws
 * `ValueError` for a variable without an initial value: of eager code, or of an imported graph that assigns none.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * const v1 = tf.compat.v1, graph = new tf.Graph();
 * const [w, init] = graph.asDefault(() => {
 *   const w = v1.variable(3);
 *   return [w, v1.variablesInitializer([w])] as const;
 * });
 * await using sess = new tf.Session({ graph });
 * await sess.run(init);
 * console.log(await sess.run(w)); // 3
 * ```
 */
export function variablesInitializer(variables: readonly Variable[], name = "init"): Operation {
  wantList(variables, "variables", "variablesInitializer", "variables");
  const initializers = variables.map((given, i) => {
    const v = wantVariable(given, `variables[${i}]`, "variablesInitializer");
    if (v.initializer !== null) return v.initializer;
    throw new ValueError(
      `Cannot initialise variable '${v.name}': it has no initial value in the graph, assign one`,
    );
  });
  return graphFor("variablesInitializer()").asDefault(() =>
    group(...initializers, { name })
  ) as Operation;
}

/**
 * Adds an operation that initialises all global variables made so far. Follows TensorFlow
 * `tf.compat.v1.global_variables_initializer`.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * const v1 = tf.compat.v1, graph = new tf.Graph();
 * const [w, init] = graph.asDefault(() => {
 *   const w = v1.variable(3);
 *   return [w, v1.globalVariablesInitializer()] as const;
 * });
 * await using sess = new tf.Session({ graph });
 * await sess.run(init);
 * console.log(await sess.run(w)); // 3
 * ```
 */
export function globalVariablesInitializer(): Operation {
  return variablesInitializer(globalVariables());
}
/**
 * Adds an operation that initialises local variables. Follows TensorFlow `tf.compat.v1.local_variables_initializer`.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * const v1 = tf.compat.v1, graph = new tf.Graph();
 * const [seen, init] = graph.asDefault(() => {
 *   const seen = v1.variable(0, { collections: [v1.GraphKeys.LOCAL_VARIABLES] });
 *   return [seen, v1.localVariablesInitializer()] as const;
 * });
 * await using sess = new tf.Session({ graph });
 * await sess.run(init);
 * console.log(await sess.run(seen)); // 0
 * ```
 */
export function localVariablesInitializer(): Operation {
  return variablesInitializer(localVariables());
}

/**
 * Adds an operation that fills the graph's lookup tables: those of the collection, and those that an imported graph
 * fills. Follows TensorFlow `tf.compat.v1.tables_initializer`.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * const graph = new tf.Graph();
 * const init = graph.asDefault(() => tf.compat.v1.tablesInitializer());
 * await using sess = new tf.Session({ graph });
 * console.log(await sess.run(init)); // null
 * ```
 */
export function tablesInitializer(name = "init_all_tables"): Operation {
  const graph = graphFor("tablesInitializer()");
  const listed = graph.getCollection(GraphKeys.TABLE_INITIALIZERS) as Operation[];
  const imported = graph.operations.filter(({ def }) => IMPORTS.includes(def));
  return graph.asDefault(() => group(...new Set([...listed, ...imported]), { name })) as Operation;
}

/**
 * Returns the names of the variables without a value when the graph runs; by default of all global and local ones made
 * so far. Follows TensorFlow `tf.compat.v1.report_uninitialized_variables`.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * const v1 = tf.compat.v1, g = new tf.Graph();
 * await g.asDefault(async () => {
 *   v1.variable(1, { name: "w" });
 *   const missing = v1.reportUninitializedVariables(), init = v1.globalVariablesInitializer();
 *   const sess = new v1.Session();
 *   console.log((await sess.run(missing) as tf.NdArray).strings()); // ["w"]
 *   await sess.run(init);
 *   console.log((await sess.run(missing) as tf.NdArray).strings()); // []
 * });
 * ```
 */
export function reportUninitializedVariables(
  variables: readonly Variable[] = [...globalVariables(), ...localVariables()],
  name = "report_uninitialized_variables",
): Tensor {
  const graph = graphFor("reportUninitializedVariables()");
  return graph.asDefault(() =>
    graph.nameScope(name, () =>
      device("/CPU:0", () => {
        const names = new NdArray(
          "string",
          [variables.length],
          variables.map((v) => encode(v.name)),
        );
        if (variables.length === 0) return graph.constant(names);
        const missing = logicalNot(stack(variables.map(isVariableInitialized)));
        return gather(names, reshape(apply1(lookupOp("Where")!, [missing]), [-1]));
      }))
  );
}

/** The variable. Throws `TypeError` for what is none. */
function wantVariable(variable: Variable, arg: string, fn: string): Variable {
  if (variable instanceof Variable) return variable;
  throw wrongArgument(variable, arg, fn, "a Variable");
}

const encode = (text: string): Uint8Array => new TextEncoder().encode(text);

/**
 * True where a variable has a value when the graph runs. Follows TensorFlow `tf.compat.v1.is_variable_initialized`.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * const v1 = tf.compat.v1, graph = new tf.Graph();
 * const isSet = graph.asDefault(() => v1.isVariableInitialized(v1.variable(3)));
 * await using sess = new tf.Session({ graph });
 * console.log(await sess.run(isSet)); // false
 * ```
 */
export function isVariableInitialized(variable: Variable): Tensor {
  return apply1(VarIsInitializedOp, [
    wantVariable(variable, "variable", "isVariableInitialized").handle,
  ]);
}

/**
 * Assigns at each run; the result is the new value. Follows TensorFlow `tf.compat.v1.assign`.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * const v1 = tf.compat.v1, graph = new tf.Graph();
 * const set = graph.asDefault(() => v1.assign(v1.variable(3), 5)!);
 * await using sess = new tf.Session({ graph });
 * console.log(await sess.run(set)); // 5
 * ```
 */
export function assign(ref: Variable, value: TensorLike): AssignedVariable | null {
  return wantVariable(ref, "ref", "assign").assign(value);
}
/**
 * Adds at each run; the result is the new value. Follows TensorFlow `tf.compat.v1.assign_add`.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * const v1 = tf.compat.v1, graph = new tf.Graph();
 * const [more, init] = graph.asDefault(() =>
 *   [v1.assignAdd(v1.variable(3), 1)!, v1.globalVariablesInitializer()] as const
 * );
 * await using sess = new tf.Session({ graph });
 * await sess.run(init);
 * console.log(await sess.run(more), await sess.run(more)); // 4 5
 * ```
 */
export function assignAdd(ref: Variable, value: TensorLike): AssignedVariable | null {
  return wantVariable(ref, "ref", "assignAdd").assignAdd(value);
}
/**
 * Subtracts at each run; the result is the new value. Follows TensorFlow `tf.compat.v1.assign_sub`.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * const v1 = tf.compat.v1, graph = new tf.Graph();
 * const [less, init] = graph.asDefault(() =>
 *   [v1.assignSub(v1.variable(3), 1)!, v1.globalVariablesInitializer()] as const
 * );
 * await using sess = new tf.Session({ graph });
 * await sess.run(init);
 * console.log(await sess.run(less), await sess.run(less)); // 2 1
 * ```
 */
export function assignSub(ref: Variable, value: TensorLike): AssignedVariable | null {
  return wantVariable(ref, "ref", "assignSub").assignSub(value);
}
