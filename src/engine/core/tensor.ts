/**
 * Tensor: the one public handle, eager or symbolic. `engine/ops/chained.ts` puts the op methods (`x.add(y)`) on its
 * prototype.
 */
import type { DType } from "./dtype.ts";
import type { DataType, DataTypeMap, NestedOf, NumericDataType, Rank } from "./ranks.ts";
import { isConcrete, type PartialShape, shapeText, sizeOf } from "./shape.ts";
import { reads } from "./text.ts";
import type { ElementValue, NdArray } from "./nd_array.ts";
import type { ArrayLikeValue } from "./convert.ts";
import type { Spec } from "./tensor_spec.ts";
import type { GpuData, TensorGpuData } from "./gpu_data.ts";
import { type Seam, seam } from "./contract/seam.ts";
import type { GraphNode } from "./graph_node.ts";
import type { Application } from "./apply.ts";
import type { ChainedOps } from "./chained/chained_ops.ts";
import { TypeError } from "./throwing/builtin_errors.ts";
import { OperatorNotAllowedInGraphError, RuntimeError, ValueError } from "./errors.ts";

/** Formats a tensor for messages without its elements, which may be many or on a GPU. */
export function shortText(x: Tensor): string {
  return x.isSymbolic ? `${x}` : `Tensor(${x.dtype}${shapeText(x.staticShape)})`;
}

/** A tensor, or anything that can become one. */
export type TensorLike = Tensor | ArrayLikeValue;

/**
 * A context of tensors by data flow rather than by time: the body of a script op that may await. Results of ops on a
 * tensor with a context get the same context.
 */
export interface TensorContext {
  /** Called for each application on its tensors. */
  record?(application: Application): void;
  /** Takes ownership of the results of such applications. */
  adopt(t: Tensor): void;
  /** True: it owns nothing, and gives way to a context that does. */
  readonly watchesOnly?: boolean;
}

/** The used part of a variable: a tensor whose value can be replaced. */
export interface VariableLike extends Tensor {
  /** True where tapes and optimizers consider it. */
  readonly trainable: boolean;
  /** Replaces the value. */
  assign(value: TensorLike): unknown;
  /** Adds to the value. */
  assignAdd(value: TensorLike): unknown;
  /** Subtracts from the value. */
  assignSub(value: TensorLike): unknown;
}

/** Values of an object's own, under the key of an attribute and an ending. */
export interface TrackedValues {
  /** Name of the attribute, as TensorFlow has it. */
  readonly attribute: string;
  /** Endings of the keys of its values. */
  readonly endings: readonly string[];
  /** The values now, in the order of the endings. */
  readonly save: () => readonly NdArray[] | Promise<readonly NdArray[]>;
  /** Checks values and returns what sets them. Throws `ValueError` for those that do not fit. */
  readonly take: (values: readonly NdArray[]) => () => void | Promise<void>;
}

/** Parts of an object, as a checkpoint names them. */
export interface TrackedParts {
  /** Objects under the names that TensorFlow has for them. */
  readonly children?: Readonly<Record<string, unknown>>;
  /** Values of its own. */
  readonly values?: TrackedValues;
}

/** An object that tells checkpoints its parts. */
export interface Trackable {
  /**
   * Returns what a checkpoint saves of it.
   * @internal
   */
  trackedParts(): TrackedParts;
}

/** True for an object that tells its parts. */
export function isTrackable(value: unknown): value is Trackable {
  return typeof value === "object" && value !== null &&
    typeof (value as Partial<Trackable>).trackedParts === "function";
}

/** Makes variables of tensors. */
export const variables: Seam<
  (value: Tensor, trainable?: boolean, name?: string, dtype?: DType) => VariableLike
> = seam("variables");

/** The used part of a session: an object that can run a fetch. */
export interface SessionLike {
  /** The graph that is run. */
  readonly graph: GraphNode["graph"];
}

/** Feeds of the evaluation of one tensor, by tensor or by name. */
export type EvalFeeds =
  | ReadonlyMap<Tensor | string, TensorLike>
  | Readonly<Record<string, TensorLike>>;

/** The services of the whole library for tensors, which pages of eager code do without. */
export interface WholeLibrary {
  /** Runs a fetch in a session or in the default one. */
  evaluate(fetch: Tensor | GraphNode, feeds?: EvalFeeds, session?: SessionLike): Promise<unknown>;
  /** Makes a tensor of a GPU buffer. */
  tensorOfGpuData(data: GpuData, shape: readonly number[], dtype: DType): Tensor;
  /** The services of graphs, where a module that makes graphs is loaded. */
  graphs?: GraphServices;
}

/** Operations on symbolic tensors that lower parts ask of the runtime. */
export interface GraphServices {
  /** Returns the value while the graph is being built. Throws `ValueError` where it is unknown, naming its use. */
  evaluateNow(t: Tensor, what: string): Tensor | NdArray;
  /** Calls a function with each row of a tensor, and stacks the results. */
  mapRows(fn: (row: Tensor) => Tensor[], rows: Tensor): Tensor[];
  /** Adds a branch to the graph. */
  cond(pred: Tensor, thenFn: () => Tensor, elseFn: () => Tensor): Tensor;
}

export const wholeLibrary: Seam<WholeLibrary> = seam("the whole library");

/** The services of graphs, to do `what`. Throws `RuntimeError` where nothing that is loaded has them. */
export function graphServices(what: string): GraphServices {
  const { graphs } = wholeLibrary.to(what);
  if (graphs !== undefined) return graphs;
  throw new RuntimeError(`Cannot ${what}: nothing that is loaded makes graphs`);
}

let nextId = 1;

export function newTensorId(): number {
  return nextId++;
}

/**
 * A multi-dimensional array on some device, or a symbolic one inside a graph.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * using x = tf.tensor([[1, 2], [3, 4]]);
 * console.log(x.shape); // [2, 2]
 * console.log(x.add(1).arraySync()); // [[2, 3], [4, 5]]
 * ```
 */
export abstract class Tensor<R extends Rank = Rank> implements Spec {
  /** Number that names this tensor within the process. */
  declare readonly id: number;
  /** Element type. */
  declare readonly dtype: DType;
  /** The script body that this flows through, if any. */
  context: TensorContext | null = null;
  /** Known dimensions: `null` for unknown ones, `null` as a whole where the rank is unknown. */
  abstract readonly staticShape: PartialShape;

  /** Called by eager execution and by graphs, not by users. */
  constructor(dtype: DType, id: number = newTensorId()) {
    if (new.target === Tensor) {
      throw new TypeError("Cannot construct a Tensor: tf.tensor(values) makes one");
    }
    this.dtype = dtype;
    this.id = id;
  }

  /** Dimensions. Throws `ValueError` for a symbolic tensor with unknown dimensions. */
  get shape(): number[] {
    const s = this.staticShape;
    if (!isConcrete(s)) {
      throw new ValueError(
        s === null
          ? `Cannot take the shape of ${this}: as_list() is not defined on an unknown TensorShape; its rank is unknown, use staticShape or tf.shape`
          : `Cannot take the shape of ${this}: ${
            shapeText(s)
          } has unknown dimensions, use staticShape or tf.shape`,
      );
    }
    return s as number[];
  }
  /** Number of dimensions. Throws `ValueError` where it is unknown. */
  get rank(): number {
    const s = this.staticShape;
    if (s === null) {
      throw new ValueError(`Cannot take the length of shape with unknown rank: ${this}`);
    }
    return s.length;
  }
  /** Number of elements. */
  get size(): number {
    return sizeOf(this.shape);
  }
  /** Elements per row-major step along each axis but the last, as in TensorFlow.js. */
  get strides(): number[] {
    const shape = this.shape;
    const out: number[] = [];
    let n = 1;
    for (let i = shape.length - 1; i > 0; i--) out.unshift(n *= shape[i]);
    return out;
  }

  /** True for a tensor inside a graph. */
  get isSymbolic(): boolean {
    return false;
  }
  /** Returns the value that ops read: this tensor, or a variable's current value. */
  readValue(): Tensor {
    return this;
  }
  /** The components of this tensor, which scopes own in its place; null for one with memory of its own. */
  get components(): readonly Tensor[] | null {
    return null;
  }
  /** The tensor that has this one's elements now; null for one of a graph, or with elements of its own. */
  get held(): Tensor | null {
    return null;
  }
  /** Returns the immediate input of an op: this tensor, or a variable's current value, which the variable frees. */
  asOpInput(): Tensor {
    return this;
  }
  /** True once `dispose()` has been called. */
  get isDisposed(): boolean {
    return false;
  }
  /** Throws `RuntimeError` once `dispose()` has been called. Follows TensorFlow.js. */
  throwIfDisposed(): void {
    if (this.isDisposed) throw new RuntimeError(`Cannot use ${shortText(this)}: it is disposed`);
  }
  /** The identity of the memory for kernels of TensorFlow.js's programs: the tensor itself. */
  get dataId(): object {
    return this;
  }
  /** The graph this belongs to. Throws `RuntimeError` for eager tensors. */
  get graph(): GraphNode["graph"] {
    throw new RuntimeError("Tensor.graph is undefined when eager execution is enabled");
  }
  /** The operation that makes this. Throws `RuntimeError` for eager tensors. */
  get op(): GraphNode {
    throw new RuntimeError("Tensor.op is undefined when eager execution is enabled");
  }
  /** `op:index` in a graph. Throws `RuntimeError` for eager tensors. */
  get name(): string {
    throw new RuntimeError("Tensor.name is undefined when eager execution is enabled");
  }
  /** Full name of the device this lives on, or is placed on; empty where none was requested. */
  get device(): string {
    return "";
  }

  /**
   * Reads the elements, awaiting the device: a typed array, of strings their bytes. `data<"int64">()` types it by
   * dtype.
   */
  async data<D extends DataType = NumericDataType>(): Promise<DataTypeMap[D]> {
    return await this.#held("data()").data<D>();
  }
  /**
   * Reads the elements synchronously: on the CPU everywhere, on the GPU in Deno and, slower than `data()`, in browsers,
   * through a canvas. Throws `FailedPreconditionError` elsewhere.
   */
  dataSync<D extends DataType = NumericDataType>(): DataTypeMap[D] {
    return this.#held("dataSync()").dataSync<D>();
  }
  /** Reads the elements as nested arrays, typed by the rank where that is known. */
  async array<A = NestedOf<R>>(): Promise<A> {
    return await this.#held("array()").array<A>();
  }
  /** Reads the elements as nested arrays synchronously; see {@linkcode Tensor.dataSync}. */
  arraySync<A = NestedOf<R>>(): A {
    return this.#held("arraySync()").arraySync<A>();
  }
  /** Reads the elements as a host array. */
  async ndarray(): Promise<NdArray> {
    return await this.#held("ndarray()").ndarray();
  }
  /** Reads the elements as a host array synchronously; see {@linkcode Tensor.dataSync}. */
  ndarraySync(): NdArray {
    return this.#held("ndarraySync()").ndarraySync();
  }
  /** Reads the only element synchronously. Throws `ValueError` where there is not exactly one. */
  item(): number {
    return this.#held("item()").item();
  }
  /** Reads the only element synchronously, as a number, bigint, boolean, bytes or `[re, im]`. */
  scalar(): ElementValue {
    return this.#held("scalar()").scalar();
  }
  /**
   * Returns the GPU memory itself, to read in shaders of your own, on the device `tf.webgpuDevice()`. Dispose
   * `tensorRef` when that is done. Throws `FailedPreconditionError` for tensors that are not on the GPU.
   */
  dataToGPU(): TensorGpuData {
    return this.#held("dataToGPU()").dataToGPU();
  }
  /**
   * Evaluates this by `session`, or by the default session. Follows TensorFlow `tf.Tensor.eval`. Rejects with
   * `ValueError` where there is no default session or it runs another graph, and as `Session.run` does.
   */
  // deno-lint-ignore require-await
  async eval(feeds?: EvalFeeds, session?: SessionLike): Promise<NdArray | ElementValue> {
    return wholeLibrary.to("evaluate a tensor").evaluate(this, feeds, session) as Promise<
      NdArray | ElementValue
    >;
  }
  /** Makes a variable that starts with this value. See `tf.variable`. */
  variable(trainable?: boolean, name?: string, dtype?: DType): VariableLike {
    return variables.to("make a variable")(this, trainable, name, dtype);
  }
  /** Frees the memory, once no view of it is left. */
  dispose(): void {}
  /** Keeps this alive when the surrounding `tidy()` or `scope()` ends. */
  keep(): this {
    return this;
  }
  /** Lets a function read this after the surrounding scope has ended: the function owns it from then on. */
  captured(): this {
    return this;
  }
  /**
   * Refines the static shape; on a script op's output a promise that is checked at run time. Throws `ValueError` on
   * conflict.
   */
  abstract setShape(shape: PartialShape): void;

  /** Frees the memory at the end of a `using` block. */
  [Symbol.dispose](): void {
    this.dispose();
  }
  /**
   * Formats the tensor: an eager one by its elements as `print` writes them, with `verbose` also dtype, rank and shape.
   * Template literals show the text of `console.log`.
   */
  toString(_verbose?: boolean): string {
    return `Tensor(${this.dtype}${shapeText(this.staticShape)})`;
  }
  /** Refuses implicit conversion: a tensor is not a number. With `+` it is a text for programs of TensorFlow.js. */
  [Symbol.toPrimitive](hint: string): string {
    if (hint === "string") return this.toString();
    if (hint === "default" && !this.isSymbolic) {
      if (reads.asTensorFlowJs) return this.toString();
      throw new OperatorNotAllowedInGraphError(
        `Using ${
          shortText(this)
        } with + or == is not allowed: use tf.add(), tf.equal() and their like, and in texts a template, \`\${x}\``,
      );
    }
    const how = this.isSymbolic
      ? "use tf ops, as tf.cond() for if, or a script op: it has no value before the graph runs"
      : this.staticShape?.length === 0
      ? "read its value by item(), or use tf ops"
      : "use tf ops, as tf.all() and item() of what that gives, or read its values by dataSync()";
    throw new OperatorNotAllowedInGraphError(
      `Using ${shortText(this)} as a JavaScript number is not allowed: ${how}`,
    );
  }
  /** Refuses iteration, as TensorFlow does for symbolic tensors. */
  [Symbol.iterator](): Iterator<never> {
    throw new OperatorNotAllowedInGraphError(
      `Iterating over a ${this.isSymbolic ? "symbolic " : ""}tf.Tensor is not allowed: ${
        shortText(this)
      }, tf.unstack() gives its rows`,
    );
  }

  #held(what: string): Tensor {
    const { held } = this;
    if (held !== null) return held;
    throw new OperatorNotAllowedInGraphError(
      `Cannot call ${what} of ${this}: it is symbolic, so it has no value before the graph runs; return it, or read it by tf.tap() or in a script op`,
    );
  }
}

/** The op methods every tensor has. */
export interface Tensor<R extends Rank = Rank> extends ChainedOps {}

/** A tensor of rank 0. */
export type Scalar = Tensor<Rank.R0>;
/** A tensor of one axis. */
export type Tensor1D = Tensor<Rank.R1>;
/** A tensor of two axes. */
export type Tensor2D = Tensor<Rank.R2>;
/** A tensor of three axes. */
export type Tensor3D = Tensor<Rank.R3>;
/** A tensor of four axes. */
export type Tensor4D = Tensor<Rank.R4>;
/** A tensor of five axes. */
export type Tensor5D = Tensor<Rank.R5>;
/** A tensor of six axes. */
export type Tensor6D = Tensor<Rank.R6>;
