/** Variable scopes: variables by name, created once and found again. */
import { showAs } from "../../engine/core/arrays/shown.ts";
import { asDType, type DType, DTYPES } from "../../engine/core/dtype.ts";
import { ValueError } from "../../engine/core/errors.ts";
import { optionCheck, wantObject, wantString } from "../../engine/core/arguments.ts";
import { sameShape, shapeTuple } from "../../engine/core/shape.ts";
import { Tensor, type TensorLike } from "../../engine/core/tensor.ts";
import type { Graph } from "../../engine/graph/graph.ts";
import { graphVariable, type Variable } from "../../engine/runtime/variables/variable.ts";
import { graphFor, GraphKeys } from "./collections.ts";
import { glorotUniformInitializer, type Initializer, zerosInitializer } from "./initializers.ts";

/** Finds a variable of the name, or creates it. */
export const AUTO_REUSE = "auto_reuse";
/** Reuse of variables: true only finds, false only creates. */
export type Reuse = boolean | typeof AUTO_REUSE;
/** A penalty on the value of a variable. */
export type Regularizer = (value: Tensor) => Tensor | null;

/** Options of {@linkcode variableScope}. */
export interface VariableScopeOptions {
  /** Reuse of variables. Default: the outer scope's. */
  readonly reuse?: Reuse | undefined;
  /** Default initializer of variables. */
  readonly initializer?: Initializer | undefined;
  /** Default penalty of variables. */
  readonly regularizer?: Regularizer | undefined;
  /** Default element type of variables. */
  readonly dtype?: DType | undefined;
  /** A name that is made unique, used where none is given. */
  readonly defaultName?: string | undefined;
  /** False: names of operations are not prefixed. Default true. */
  readonly auxiliaryNameScope?: boolean | undefined;
}

/** Options of {@linkcode getVariable}. */
export interface GetVariableOptions {
  /** Its shape; may be omitted where the initializer is a value. */
  readonly shape?: readonly number[] | undefined;
  /** Element type. Default that of the scope, else `float32`. */
  readonly dtype?: DType | undefined;
  /**
   * Its initializer: a function of shape and dtype, or a value. Default that of the scope, else Glorot's uniform; zeros
   * for integers.
   */
  readonly initializer?: Initializer | TensorLike | undefined;
  /** Its penalty, added to the collection of regularization losses. */
  readonly regularizer?: Regularizer | undefined;
  /** True, the default: optimizers train it. */
  readonly trainable?: boolean | undefined;
  /** Collections that list it. Default that of global variables. */
  readonly collections?: readonly string[] | undefined;
}

const checkScope = optionCheck<VariableScopeOptions>("variableScope", {
  reuse: true,
  initializer: true,
  regularizer: true,
  dtype: true,
  defaultName: true,
  auxiliaryNameScope: true,
});
const checkVariable = optionCheck<GetVariableOptions>("getVariable", {
  shape: true,
  dtype: true,
  initializer: true,
  regularizer: true,
  trainable: true,
  collections: true,
});

/** A scope's name and the defaults of its variables. Follows TensorFlow `tf.compat.v1.VariableScope`. */
export class VariableScope {
  /** Prefix of the names of variables, without the last `/`. */
  readonly name: string;
  /** Prefix of the names of operations, with its `/`. */
  readonly originalNameScope: string;
  /** Default initializer of variables. */
  readonly initializer: Initializer | undefined;
  /** Default penalty of variables. */
  readonly regularizer: Regularizer | undefined;
  /** Default element type of variables. */
  readonly dtype: DType;
  #reuse: Reuse;

  /** Called by {@linkcode variableScope}. */
  constructor(
    name: string,
    options:
      & Omit<VariableScopeOptions, "defaultName" | "auxiliaryNameScope">
      & { readonly originalNameScope?: string } = {},
  ) {
    wantString(name, "name", "VariableScope");
    wantObject(options, "options", "VariableScope");
    const { reuse = false, initializer, regularizer, dtype = "float32", originalNameScope = "" } =
      options;
    this.name = name;
    this.originalNameScope = originalNameScope;
    this.initializer = initializer;
    this.regularizer = regularizer;
    this.dtype = dtype;
    this.#reuse = reuse;
  }

  /** Reuse of variables. */
  get reuse(): Reuse {
    return this.#reuse;
  }
  /** From now on variables are only found. */
  reuseVariables(): void {
    this.#reuse = true;
  }
  /** Returns the graph's variables whose names begin with this scope's. */
  globalVariables(): Variable[] {
    return this.#listed(GraphKeys.GLOBAL_VARIABLES);
  }
  /** Returns those of them that optimizers train. */
  trainableVariables(): Variable[] {
    return this.#listed(GraphKeys.TRAINABLE_VARIABLES);
  }
  #listed(collection: string): Variable[] {
    const prefix = this.name === "" ? "" : `${this.name}/`;
    const all = graphFor("VariableScope").getCollection(collection) as Variable[];
    return all.filter((v) => v.name.startsWith(prefix));
  }

  /** Formats it for `console.log`. */
  toString(): string {
    return `<tf.VariableScope '${this.name}' ${this.dtype}>`;
  }
}
showAs(VariableScope);

/** A graph's scopes and variables. */
interface Store {
  scope: VariableScope;
  readonly variables: Map<string, Variable>;
  /** Number of times each name was made unique. */
  readonly counts: Map<string, number>;
}
const stores = new WeakMap<Graph, Store>();

function storeOf(graph: Graph): Store {
  let store = stores.get(graph);
  if (!store) {
    store = { scope: new VariableScope(""), variables: new Map(), counts: new Map() };
    stores.set(graph, store);
  }
  return store;
}

/**
 * Returns the current scope. Follows TensorFlow `tf.compat.v1.get_variable_scope`.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * const v1 = tf.compat.v1;
 * new tf.Graph().asDefault(() => {
 *   v1.variableScope("layer", () => console.log(v1.getVariableScope().name)); // layer
 * });
 * ```
 */
export function getVariableScope(): VariableScope {
  return storeOf(graphFor("getVariableScope()")).scope;
}

/**
 * Runs `fn` with prefixed names of variables and operations. An existing scope is entered again, with its defaults.
 * Follows TensorFlow `tf.compat.v1.variable_scope`. Throws `ValueError` where there is neither a name nor a default
 * name.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * const { variableScope, getVariable } = tf.compat.v1;
 * new tf.Graph().asDefault(() => {
 *   const a = variableScope("layer", () => getVariable("w", { shape: [2] }));
 *   const b = variableScope("layer", { reuse: true }, () => getVariable("w"));
 *   console.log(a.name, a === b); // layer/w true
 * });
 * ```
 */
export function variableScope<R>(
  name: string | VariableScope | null,
  fn: (scope: VariableScope) => R,
): R;
/** With options before the function. */
export function variableScope<R>(
  name: string | VariableScope | null,
  options: VariableScopeOptions,
  fn: (scope: VariableScope) => R,
): R;
export function variableScope<R>(
  given: string | VariableScope | null,
  ...rest:
    | [(scope: VariableScope) => R]
    | [VariableScopeOptions, (scope: VariableScope) => R]
): R {
  const fn = rest.at(-1) as (scope: VariableScope) => R;
  const options = rest.length > 1 ? rest[0] as VariableScopeOptions : {};
  checkScope(options);
  const graph = graphFor("variableScope()"), store = storeOf(graph), before = store.scope;
  const from = given instanceof VariableScope ? given : before;
  const name = given instanceof VariableScope
    ? given.name
    : join(before.name, given ?? uniqueName(store, options.defaultName));
  const enter = (originalNameScope: string): R => {
    store.scope = new VariableScope(name, {
      reuse: options.reuse || from.reuse || before.reuse,
      initializer: options.initializer ?? from.initializer,
      regularizer: options.regularizer ?? from.regularizer,
      dtype: options.dtype ?? from.dtype,
      originalNameScope,
    });
    try {
      return fn(store.scope);
    } finally {
      store.scope = before;
    }
  };
  if (options.auxiliaryNameScope === false || name === "") return enter(graph.scopeName);
  return graph.nameScope(name.split("/").at(-1)!, enter);
}

function join(prefix: string, name: string): string {
  return prefix === "" ? name : `${prefix}/${name}`;
}

function uniqueName(store: Store, wanted: string | undefined): string {
  if (wanted === undefined) {
    throw new ValueError("If defaultName is undefined then a name or a scope is required");
  }
  const full = join(store.scope.name, wanted), n = store.counts.get(full) ?? 0;
  store.counts.set(full, n + 1);
  return n === 0 ? wanted : `${wanted}_${n}`;
}

/**
 * Finds or creates the variable of this name in the current scope, by its `reuse`. Follows TensorFlow
 * `tf.compat.v1.get_variable`. Throws `ValueError` for a name that is taken, or missing for reuse, or has another shape
 * or dtype.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * const { getVariable, zerosInitializer } = tf.compat.v1;
 * const w = new tf.Graph().asDefault(() => getVariable("w", { shape: [2, 3], initializer: zerosInitializer() }));
 * console.log([w.name, w.shape]); // ["w", [2, 3]]
 * ```
 */
export function getVariable(name: string, options: GetVariableOptions = {}): Variable {
  checkVariable(options);
  const graph = graphFor("getVariable()"), { scope, variables } = storeOf(graph);
  const full = join(scope.name, name), known = variables.get(full);
  if (known) {
    if (scope.reuse !== false) return found(known, full, options);
    throw new ValueError(
      `Variable ${full} already exists, disallowed. Did you mean to set reuse=True or reuse=tf.AUTO_REUSE in VarScope?`,
    );
  }
  if (scope.reuse === true) {
    throw new ValueError(
      `Variable ${full} does not exist, or was not created with tf.get_variable(). Did you mean to set reuse=tf.AUTO_REUSE in VarScope?`,
    );
  }
  const made = make(graph, full, options, scope);
  variables.set(full, made);
  penalise(graph, made, options.regularizer ?? scope.regularizer);
  return made;
}

function found(v: Variable, name: string, { shape, dtype }: GetVariableOptions): Variable {
  if (shape && !sameShape(shape, v.shape)) {
    throw new ValueError(
      `Trying to share variable ${name}, but specified shape ${shapeTuple(shape)} and found shape ${
        shapeTuple(v.shape)
      }.`,
    );
  }
  if (dtype && asDType(dtype) !== v.dtype) {
    throw new ValueError(
      `Trying to share variable ${name}, but specified dtype ${dtype} and found dtype ${v.dtype}.`,
    );
  }
  return v;
}

function make(
  graph: Graph,
  name: string,
  options: GetVariableOptions,
  scope: VariableScope,
): Variable {
  const { shape, trainable, collections, initializer = scope.initializer } = options;
  const dtype = asDType(options.dtype ?? scope.dtype);
  const isValue = initializer !== undefined && typeof initializer !== "function";
  if (isValue && shape !== undefined) {
    throw new ValueError("If initializer is a constant, do not specify shape.");
  }
  if (!isValue && shape === undefined) {
    throw new ValueError(
      `Shape of a new variable (${name}) must be fully defined, but instead was <unknown>.`,
    );
  }
  const own = { name, trainable, collections };
  // Names of variables ignore name scopes, and their initial values ignore control dependencies.
  return graph.asDefault(() =>
    graph.atRoot(() => {
      if (isValue) {
        return graphVariable(graph, initializer as TensorLike, {
          ...own,
          dtype: initializer instanceof Tensor ? undefined : options.dtype,
        });
      }
      const first = (initializer as Initializer | undefined) ?? defaultInitializer(name, dtype);
      return graphVariable(graph, () => first(shape!, dtype), { ...own, dtype });
    })
  );
}

function defaultInitializer(name: string, dtype: DType): Initializer {
  const { kind } = DTYPES[dtype];
  if (kind === "float") return glorotUniformInitializer();
  if (kind === "int" || kind === "uint" || kind === "bool") return zerosInitializer();
  throw new ValueError(`An initializer for variable ${name} of ${dtype} is required`);
}

function penalise(graph: Graph, v: Variable, regularizer: Regularizer | undefined): void {
  if (!regularizer) return;
  const loss = graph.asDefault(() =>
    graph.nameScope(`${v.name}/Regularizer/`, () => regularizer(v.readValue()))
  );
  if (loss) graph.addToCollection(GraphKeys.REGULARIZATION_LOSSES, loss);
}
