/** A node as its rule sees it: inputs as tensors or as known elements, attributes, inner graphs. */
import { currentInterpreter } from "../../engine/core/apply.ts";
import { codeOf, type DType } from "../../engine/core/dtype.ts";
import { InvalidArgumentError, UnimplementedError } from "../../engine/core/errors.ts";
import { NdArray } from "../../engine/core/nd_array.ts";
import { normalizeAxis, type PartialShape } from "../../engine/core/shape.ts";
import type { Tensor } from "../../engine/core/tensor.ts";
import { constantValue, SymbolicTensor } from "../../engine/graph/operation.ts";
import { Variable } from "../../engine/runtime/variables/variable.ts";
import * as tf from "./tf.ts";
import type { Attributes } from "../file/attributes.ts";
import { type GraphNode, type OnnxGraph, opName } from "../file/graph.ts";
import type { Entries, Value } from "./value.ts";

/** Thrown where a rule needs elements that are known only at run time; eager code has them. */
export class NeedsValueError extends UnimplementedError {}

/** The graph around a node: it makes tensors of values, and runs inner graphs. */
export interface NodeSurroundings {
  /** Tensors made of values in this graph. */
  readonly tensors: Map<Value, Tensor>;
  /** Tensors with their channels last. */
  readonly lasts: Map<Value, Tensor>;
  /** Values of float16 as float32. */
  readonly wide: Map<Value, Value>;
  /** Says where float32 stands for float16 between nodes; absent for nowhere. */
  readonly inFloat32?: "always" | "mostly" | undefined;
  /** True for training, false for inference, undefined for what nodes say. */
  readonly training?: boolean | undefined;
  runGraph(graph: OnnxGraph, inputs: readonly Value[]): Value[];
}

/** Converts a value to a tensor of a dtype. `tensors` caches the tensors of constants and of variables' reads. */
export function tensorOf(
  value: Value,
  tensors: Map<Value, Tensor>,
  dtype: DType = value.dtype,
): Tensor {
  let made = tensors.get(value);
  if (made === undefined) {
    const { tensor, known, last } = value;
    made = last !== null
      ? channelsFirst(last)
      : tensor === null
      ? currentInterpreter().constant(known!)
      : currentInterpreter().symbolic && !tensor.isSymbolic
      ? tensor.asOpInput()
      : tensor;
    tensors.set(value, made);
  }
  return made.dtype === dtype ? made : tf.cast(made, dtype);
}

/** Moves the last axis, the channels, to axis 1. */
function channelsFirst(x: Tensor): Tensor {
  const shape = x.staticShape!, rank = shape.length, extents = shape.slice(1, -1);
  // Images of one point need no move.
  if (extents.every((d) => d === 1) && shape.at(-1) !== null) {
    return tf.reshape(x, [shape[0] ?? -1, shape.at(-1)!, ...extents as number[]]);
  }
  return tf.transpose(x, [0, rank - 1, ...extents.map((_, i) => i + 1)]);
}

/** A node as its rule sees it. */
export class NodeCall {
  /** The node of the file. */
  readonly node: GraphNode;
  /** Its inputs; null for absent ones. */
  readonly inputs: readonly (Value | null)[];
  readonly attributes: Attributes;
  readonly #around: NodeSurroundings;
  readonly #isNarrow: boolean;

  /** Made by the walk over a graph. `isNarrow`: int64 is passed as int32. */
  constructor(
    node: GraphNode,
    inputs: readonly (Value | null)[],
    around: NodeSurroundings,
    isNarrow = false,
  ) {
    this.node = node;
    this.inputs = inputs;
    this.attributes = node.attributes;
    this.#around = around;
    this.#isNarrow = isNarrow;
  }

  /** The version of the node's domain in the file. */
  get version(): number {
    return this.node.version;
  }

  /** True for training, false for inference, undefined for what the node says. */
  get training(): boolean | undefined {
    return this.#around.training;
  }

  /** True where float32 may stand for float16 in results. */
  get inFloat32(): boolean {
    return this.#around.inFloat32 !== undefined;
  }

  /** Number of inputs, with absent ones. */
  get count(): number {
    return this.inputs.length;
  }

  /** True where an input is present. */
  has(i: number): boolean {
    return (this.inputs[i] ?? null) !== null;
  }

  /** True where an output is wanted. */
  wants(i: number): boolean {
    return (this.node.outputs[i] ?? "") !== "";
  }

  /** Returns an input. Throws `InvalidArgumentError` for an absent one. */
  value(i: number): Value {
    return this.inputs[i] ?? this.fail(`input ${i} is missing`);
  }

  /** Returns an input as a tensor. Throws `InvalidArgumentError` for an absent one, or another value. */
  x(i: number): Tensor {
    const value = this.value(i);
    if (value.kind !== "tensor") this.fail(`input ${i} is ${value.kind}, wanted a tensor`);
    return this.tensorOf(value, this.#isNarrow && value.dtype === "int64" ? "int32" : value.dtype);
  }

  /** Returns an input as a tensor; undefined for an absent one. */
  optional(i: number): Tensor | undefined {
    return this.has(i) ? this.x(i) : undefined;
  }

  /** Returns all inputs as tensors. */
  get xs(): Tensor[] {
    return this.inputs.map((_, i) => this.x(i));
  }

  /** Returns an integer input that counts or places, as int32. */
  index(i: number): Tensor {
    return this.tensorOf(this.value(i), "int32");
  }

  /** Returns an input as a tensor with its channels, axis 1, moved to the end. */
  last(i: number): Tensor {
    this.rank(i);
    return this.lastOf(this.value(i));
  }

  /** Returns a value as {@linkcode last} does. */
  lastOf(value: Value): Tensor {
    const { lasts } = this.#around;
    let made = value.last ?? lasts.get(value);
    if (made === undefined) {
      const x = this.tensorOf(value), rank = x.staticShape!.length;
      made = tf.transpose(x, [0, ...Array.from({ length: rank - 2 }, (_, k) => k + 2), 1]);
      lasts.set(value, made);
    }
    return made.dtype === value.dtype || value.dtype !== "float16"
      ? made
      : tf.cast(made, "float16");
  }

  tensorOf(value: Value, dtype: DType = value.dtype): Tensor {
    return tensorOf(value, this.#around.tensors, dtype);
  }

  /** Returns the variable that an input is; null for another tensor. */
  variable(i: number): Variable | null {
    const { tensor } = this.value(i);
    return tensor instanceof Variable ? tensor : null;
  }

  /** Returns the dtype of an input in ONNX. */
  dtype(i: number): DType {
    return this.value(i).dtype;
  }

  /** Returns the known shape of an input. */
  shape(i: number): PartialShape {
    return this.value(i).shape;
  }

  /** Returns the extents of an input. Throws `NeedsValueError` for an unknown rank. */
  dims(i: number): readonly (number | null)[] {
    return this.shape(i) ?? this.needs(`the rank of input ${i}`);
  }

  /** Returns the rank of an input. Throws `NeedsValueError` for an unknown one. */
  rank(i: number): number {
    return this.dims(i).length;
  }

  /** Returns the known extents of an input. Throws `NeedsValueError` if any is unknown. */
  concrete(i: number): readonly number[] {
    const dims = this.dims(i);
    if (dims.includes(null)) this.needs(`the shape of input ${i}`);
    return dims as number[];
  }

  /** Returns the elements of an input known while building: in eager code always. */
  known(i: number): NdArray | undefined {
    const value = this.value(i), { known, initial, dtype } = value;
    if (known !== null) return known;
    if (initial !== null) return initial;
    const tensor = value.last === null ? value.tensor! : this.x(i);
    const array = tensor instanceof SymbolicTensor
      ? constantValue(tensor)
      : tensor.isSymbolic
      ? undefined
      : tensor.ndarraySync();
    if (array === undefined || array.dtype === dtype) return array;
    return new NdArray(
      "int64",
      array.shape,
      BigInt64Array.from(array.data as Int32Array, (v) => BigInt(v)),
    );
  }

  /** Returns the elements of an input. Throws `NeedsValueError` if they are unknown while building. */
  wantKnown(i: number): NdArray {
    return this.known(i) ?? this.needs(`the elements of input ${i}`);
  }

  /** Returns the integers of an input known while building. */
  ints(i: number): number[] | undefined {
    const array = this.known(i);
    return array && Array.from(array.data as ArrayLike<number | bigint>, Number);
  }

  /** Returns the integers of an input. Throws `NeedsValueError` if they are unknown while building. */
  wantInts(i: number): number[] {
    return this.ints(i) ?? this.needs(`the elements of input ${i}`);
  }

  /** Returns the known integers of an input; undefined if not even their number is known. */
  entries(i: number): Entries | undefined {
    return this.ints(i) ?? this.value(i).entries ?? undefined;
  }

  /** Returns the numbers of an input. Throws `NeedsValueError` if they are unknown while building. */
  wantNumbers(i: number): number[] {
    const { data, dtype, size } = this.wantKnown(i), array = this.wantKnown(i);
    if (codeOf(dtype) === null) return Array.from(data as ArrayLike<number | bigint>, Number);
    return Array.from({ length: size }, (_, k) => Number(array.at(k)));
  }

  /** Returns an axis of a rank from an attribute that may be negative. */
  axis(name: string, otherwise: number, rank: number): number {
    return normalizeAxis(this.attributes.int(name, otherwise), rank);
  }

  /** Returns a graph among the attributes. */
  graph(name: string): OnnxGraph {
    const { graphs } = this.node;
    return Object.hasOwn(graphs, name) ? graphs[name] : this.fail(`it has no graph "${name}"`);
  }

  /** Returns the node with other inputs. */
  with(inputs: readonly (Value | null)[]): NodeCall {
    return new NodeCall(this.node, inputs, this.#around);
  }

  /** Runs a graph among the attributes. */
  run(name: string, inputs: readonly Value[] = []): Value[] {
    return this.#around.runGraph(this.graph(name), inputs);
  }

  /** Throws the error of an invalid node. */
  fail(why: string): never {
    throw new InvalidArgumentError(`Cannot apply ${this.label}: ${why}`, {
      op: opName(this.node),
      node: this.node.name,
    });
  }

  /** Throws the error of an unsupported feature. */
  lacks(what: string): never {
    throw new UnimplementedError(`Cannot apply ${this.label}: ${what} is not supported`, {
      op: opName(this.node),
      node: this.node.name,
    });
  }

  /** Throws the error of a graph that is built without values known only at run time. */
  needs(what: string): never {
    throw new NeedsValueError(
      `Cannot build ${this.label}: ${what} must be known before it runs`,
      { op: opName(this.node), node: this.node.name },
    );
  }

  /** The op and the node, for errors. */
  get label(): string {
    return `${opName(this.node)} at node "${this.node.name}"`;
  }
}
