/** The node that a rule writes: its inputs and attributes, and the nodes of ONNX that it becomes. */
import { type DType, DTYPES } from "../../engine/core/dtype.ts";
import { UnimplementedError } from "../../engine/core/errors.ts";
import { NdArray } from "../../engine/core/nd_array.ts";
import type { Attrs, OpDef } from "../../engine/core/op.ts";
import type { PartialShape } from "../../engine/core/shape.ts";
import type { Spec } from "../../engine/core/tensor_spec.ts";
import { type Constants, GraphBuilder, type Names, type NodeAttributes } from "./builder.ts";
import { typeFor } from "./element_types.ts";
import { numberOfDType } from "../file/types.ts";
import { intsOf, numbers, Ref } from "./ref.ts";

/** Thrown by rules for what ONNX has no counterpart of; the reason is its message. */
export class NoCounterpart extends UnimplementedError {}

/** Writes a function's body into a graph; for rules of control flow. */
export interface Bodies {
  /** Writes what a function computes of these values, and returns its results. */
  call(f: unknown, args: readonly Ref[], into: NodeWriter): Ref[];
  /** Writes an op of Weft's on values, as parts of the one that is written. */
  apply(def: OpDef, inputs: readonly Ref[], attrs: Attrs, into: NodeWriter): Ref[];
}

/** The file that nodes are written into. */
export interface Target {
  /** Version of ONNX's operator set. */
  readonly opset: number;
  readonly names: Names;
  readonly constants: Constants;
  readonly bodies: Bodies;
  /** Domain of script ops; null refuses them. */
  readonly scripts: string | null;
  /** Domains beside ONNX's own that nodes use. */
  readonly domains: Set<string>;
}

/** Options of {@linkcode NodeWriter.node}. */
export interface NodeOptions {
  /** Dtype of the results; `T` is that of the operands. Default `T`. */
  readonly dtype?: DType | "T";
  /** Shape of the results, where it is known. */
  readonly shape?: PartialShape;
  /** Numbers of the operands that share a dtype. Default: those of the first one's dtype. */
  readonly operands?: readonly number[];
}

/** An input of a node; null where it is absent. */
export type Operand = Ref | null;

/** A node of Weft's that is written. */
export class NodeWriter {
  /** Name of the node. */
  readonly name: string;
  readonly def: OpDef;
  readonly attrs: Attrs;
  /** Its inputs. */
  readonly xs: readonly Ref[];
  /** Specs of its results. */
  readonly outputs: readonly Spec[];
  readonly target: Target;
  /** The graph that is being written. */
  readonly graph: GraphBuilder;

  constructor(
    target: Target,
    graph: GraphBuilder,
    node: {
      readonly name: string;
      readonly def: OpDef;
      readonly attrs: Attrs;
      readonly inputs: readonly Ref[];
      readonly outputs: readonly Spec[];
    },
  ) {
    this.target = target;
    this.graph = graph;
    this.name = node.name;
    this.def = node.def;
    this.attrs = node.attrs;
    this.xs = node.inputs;
    this.outputs = node.outputs;
  }

  /** Throws the refusal of what ONNX has no counterpart of. */
  lacks(reason: string): never {
    throw new NoCounterpart(reason);
  }

  /** Dtype of the first result. */
  get dtype(): DType {
    return this.outputs[0].dtype;
  }

  /** Returns the rank of a value. */
  rank(x: Ref): number {
    return x.shape?.length ?? this.lacks("the rank of an input is not known");
  }

  /** Returns the integers of an input, which the file must have. */
  ints(i: number, what: string): number[] {
    return intsOf(this.xs[i]) ?? this.lacks(`${what} is not a constant`);
  }

  /** Returns an axis that the file must have, counted from the front. */
  axis(i: number, rank: number): number {
    const [axis] = this.ints(i, "the axis");
    return axis < 0 ? axis + rank : axis;
  }

  /** Returns a constant. */
  constant(array: NdArray): Ref {
    return this.target.constants.add(array, `${this.name}/const`);
  }

  /** Returns a vector of int64. */
  int64s(values: readonly number[]): Ref {
    return this.constant(numbers("int64", values));
  }

  /** Returns a scalar. */
  scalar(value: number | bigint, dtype: DType): Ref {
    return this.constant(numbers(dtype, [value], []));
  }

  /** Adds a node of one result. Operands of a type that the op does not take are cast, and so is its result back. */
  node(
    op: string,
    inputs: readonly Operand[],
    attributes: NodeAttributes = {},
    { dtype = "T", shape = null, operands }: NodeOptions = {},
  ): Ref {
    return this.nodes(op, inputs, attributes, [{ dtype, shape }], operands)[0];
  }

  /** Adds a node of several results. */
  nodes(
    op: string,
    inputs: readonly Operand[],
    attributes: NodeAttributes,
    results: readonly { readonly dtype: DType | "T"; readonly shape?: PartialShape }[],
    operands?: readonly number[],
  ): Ref[] {
    const first = inputs[operands?.[0] ?? 0] ?? null, own = first?.dtype ?? this.dtype;
    const type = typeFor(op, own, this.target.opset) ?? this.lacks(`ONNX's ${op} takes no ${own}`);
    const isOperand = (x: Operand, i: number): boolean =>
      operands === undefined ? x?.dtype === own : operands.includes(i);
    const given = type === own
      ? inputs
      : inputs.map((x, i) => x !== null && isOperand(x, i) ? this.cast(x, type) : x);
    const made = this.raw(
      op,
      given,
      attributes,
      results.map(({ dtype, shape }) => ({ dtype: dtype === "T" ? type : dtype, shape })),
    );
    return made.map((r, k) => results[k].dtype === "T" ? this.cast(r, own) : r);
  }

  /** Adds a node as it is, with a name for each result. */
  raw(
    op: string,
    inputs: readonly Operand[],
    attributes: NodeAttributes,
    results: readonly { readonly dtype: DType; readonly shape?: PartialShape | undefined }[],
    domain = "",
  ): Ref[] {
    if (domain !== "") this.target.domains.add(domain);
    const refs = results.map(({ dtype, shape = null }) => {
      if (numberOfDType(dtype) < 0) this.lacks(`ONNX's ${op} gives no ${dtype}`);
      return new Ref(this.target.names.fresh(this.name), dtype, shape);
    });
    const given = inputs.map((x) => x?.name ?? "");
    while (given.at(-1) === "") given.pop();
    this.graph.addNode({
      op,
      domain,
      name: refs[0]?.name ?? this.target.names.fresh(this.name),
      inputs: given,
      outputs: refs.map((r) => r.name),
      attributes,
    });
    return refs;
  }

  /** Casts to another dtype. */
  cast(x: Ref, dtype: DType): Ref {
    if (x.dtype === dtype) return x;
    if (x.known !== null && x.known.size <= 64 && x.dtype !== "string" && dtype !== "string") {
      return this.constant(castArray(x.known, dtype));
    }
    return this.graph.once(`${x.name} as ${dtype}`, () => {
      const to = BigInt(numberOfDType(dtype));
      return this.raw("Cast", [x], { to }, [{ dtype, shape: x.shape }])[0];
    });
  }

  /** Returns integers as int64. */
  wide(x: Ref): Ref {
    return x.wide ?? this.cast(x, "int64");
  }

  /** Gives integers the dtype of a result: int32, where the file has int64. */
  narrow(x: Ref, dtype: DType): Ref {
    if (x.dtype === dtype) return x;
    const ref = this.cast(x, dtype);
    ref.wide = x;
    return ref;
  }

  /** Makes the graph of an attribute: `body` writes it on its inputs and returns its outputs. */
  subgraph(
    name: string,
    inputs: readonly { readonly dtype: DType; readonly shape: PartialShape }[],
    body: (into: NodeWriter, refs: readonly Ref[]) => readonly Ref[],
  ): GraphBuilder {
    const graph = new GraphBuilder(this.target.names.fresh(`${this.name}/${name}`), this.graph);
    const refs = inputs.map(({ dtype, shape }) =>
      graph.addInput({ name: this.target.names.fresh(`${this.name}/${name}/in`), dtype, shape })
    );
    const into = this.in(graph), seen = new Set<string>();
    graph.outputs = body(into, refs).map((r) => {
      // An output is made by a node of its own graph, and stands once.
      const own = graph.makes(r.name) && !seen.has(r.name) ? r : into.node("Identity", [r], {}, {
        shape: r.shape,
      });
      seen.add(own.name);
      return own;
    });
    return graph;
  }

  /** Returns this node's writer for another graph. */
  in(graph: GraphBuilder): NodeWriter {
    const { name, def, attrs, xs: inputs, outputs } = this;
    return new NodeWriter(this.target, graph, { name, def, attrs, inputs, outputs });
  }
}

function castArray(array: NdArray, dtype: DType): NdArray {
  const { kind, bytes } = DTYPES[dtype];
  const values = Array.from(
    { length: array.size },
    (_, i) => Number(elementOf(array, i)),
  );
  const fit = kind === "int" || kind === "uint"
    ? values.map((v) => bytes === 8 ? Math.trunc(v) : wrapped(Math.trunc(v), kind, bytes))
    : values;
  return numbers(dtype, fit, array.shape);
}

function elementOf(array: NdArray, i: number): unknown {
  return array.size === 1 && array.shape.length === 0
    ? array.item()
    : new NdArray(array.dtype, [array.size], array.data).at(i);
}

function wrapped(value: number, kind: "int" | "uint", bytes: number): number {
  const bits = 8 * bytes;
  return Number(BigInt[kind === "int" ? "asIntN" : "asUintN"](bits, BigInt(value)));
}
