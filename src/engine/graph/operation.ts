/** Operation and SymbolicTensor: the nodes of a graph and their outputs. */
import { wantList, wantMade, wantString } from "../core/arguments.ts";
import type { Attrs, OpDef } from "../core/op.ts";
import { mergeShapes, type PartialShape, sameShape } from "../core/shape.ts";
import { NdArray } from "../core/nd_array.ts";
import { type EvalFeeds, type SessionLike, Tensor, wholeLibrary } from "../core/tensor.ts";
import { type Spec, specText } from "../core/tensor_spec.ts";
import { currentScope, withScope } from "../core/scope_context.ts";
import { stackOf, withLongStacks } from "../core/throwing/user_stack.ts";
import { ValueError } from "../core/errors.ts";
import type { GraphNode } from "../core/graph_node.ts";
import type { Graph } from "./graph.ts";

/** The data of a new operation. */
export interface OperationInit
  extends Pick<Operation, "name" | "def" | "inputs" | "controlInputs" | "attrs" | "device"> {
  readonly outputs: readonly Spec[];
  /** Its stack shows where user code made the operation. */
  readonly site: Error;
}

/** Makes an error with enough stack frames to reach the user's line; ops of gradient rules have the stack that asked for them as its cause. */
export function captureSite(): Error {
  const { site, within, asked } = currentScope();
  return site ?? withLongStacks(() => new Error(within ?? "", { cause: asked }));
}

/** A node of a graph, made by ops. */
export class Operation implements GraphNode {
  /** Unique name. */
  readonly name: string;
  /** Definition of the op. */
  readonly def: OpDef;
  /** Data inputs. */
  readonly inputs: readonly SymbolicTensor[];
  /** Operations that must run before. */
  readonly controlInputs: Operation[];
  /** Requested device, or empty. */
  readonly device: string;
  /** Results; functions may get hidden further ones for gradients. */
  readonly outputs: SymbolicTensor[];
  /** The graph. */
  readonly graph: Graph;
  /** Position in the graph. */
  readonly index: number;
  /**
   * True for a node read from a file: plans may rearrange its computation within rounding. Nodes written in code give
   * the bits of eager calls instead.
   */
  isFromFile = false;
  readonly #site: Error;
  #attrs: Attrs;

  /** Made by {@linkcode Graph}. */
  constructor(graph: Graph, index: number, init: OperationInit) {
    wantMade(graph, "addOp", {
      arg: "graph",
      fn: "new Operation()",
      wanted: "a Graph, which makes its operations by itself",
    });
    this.graph = graph;
    this.index = index;
    this.name = init.name;
    this.def = init.def;
    this.inputs = init.inputs;
    this.controlInputs = init.controlInputs;
    this.device = init.device;
    this.#attrs = init.attrs;
    this.#site = init.site;
    this.outputs = init.outputs.map((spec, i) => new SymbolicTensor(this, i, spec));
  }

  /** Stack text of the creating code, formatted on demand. */
  get definitionSite(): string {
    const { message, cause } = this.#site, stack = stackOf(this.#site);
    const own = message === "" ? stack : `In ${message}\n${stack}`;
    return cause instanceof Error ? `${own}\n${stackOf(cause)}` : own;
  }
  /** Runs `fn`; the definition site of the operations that it makes is this one's. */
  asSite<R>(fn: () => R): R {
    return withScope({ site: this.#site }, fn);
  }
  /** TensorFlow op type. */
  get type(): string {
    return this.def.name;
  }
  /** Attributes with their defaults. */
  get attrs(): Attrs {
    return this.#attrs;
  }
  /** Replaces attributes: a function node gets hidden outputs when its gradient is built. */
  setAttrs(attrs: Attrs): void {
    this.#attrs = attrs;
  }
  /** Adds a hidden output. */
  addOutput(spec: Spec): SymbolicTensor {
    const t = new SymbolicTensor(this, this.outputs.length, spec);
    this.outputs.push(t);
    return t;
  }
  /**
   * Runs it in `session`, or in the default one. Follows TensorFlow `tf.Operation.run`. Rejects as {@linkcode
   * Tensor.eval} does.
   */
  async run(feeds?: EvalFeeds, session?: SessionLike): Promise<void> {
    await wholeLibrary.to("run an operation").evaluate(this, feeds, session);
  }
  /** Adds a copy to another graph, on other inputs and with further attributes. Its definition site is this one's. */
  copyTo(graph: Graph, inputs: readonly Tensor[], attrs: Attrs = {}): Operation {
    const { name, device } = this, all = { ...this.#attrs, ...attrs };
    return graph.addOp(this.def, inputs, all, { name, device, site: this.#site });
  }
  /** Returns an attribute. Throws `ValueError` for an unknown name. */
  getAttr(name: string): unknown {
    wantString(name, "name", "Operation.getAttr");
    if (!(name in this.#attrs)) {
      throw new ValueError(`Operation '${this.name}' has no attr named '${name}'`);
    }
    return this.#attrs[name];
  }
  /** Short text: `<tf.Operation 'x' type=Placeholder>`. */
  toString(): string {
    return `<tf.Operation '${this.name}' type=${this.type}>`;
  }
}

/** A tensor inside a graph. */
export class SymbolicTensor extends Tensor {
  /** The producing operation. */
  readonly operation: Operation;
  /** Number of the operation's output. */
  readonly valueIndex: number;
  #shape: PartialShape;
  /** True where `setShape` promised more than the op's shape rule tells, which is checked at run time. */
  promised = false;

  /** Made by {@linkcode Operation}. */
  constructor(operation: Operation, index: number, spec: Spec) {
    super(spec.dtype);
    this.operation = operation;
    this.valueIndex = index;
    this.#shape = spec.shape;
  }

  /** True: graphs compute the value at run time. */
  override get isSymbolic(): boolean {
    return true;
  }
  /** Known dimensions. */
  override get staticShape(): PartialShape {
    return this.#shape;
  }
  /** Its graph. */
  override get graph(): Graph {
    return this.operation.graph;
  }
  /** The producing operation. */
  override get op(): Operation {
    return this.operation;
  }
  /** Name: `op:index`. */
  override get name(): string {
    return `${this.operation.name}:${this.valueIndex}`;
  }
  /** Full name of the device. */
  override get device(): string {
    return this.operation.device;
  }
  /** Returns the operations that read it. */
  consumers(): Operation[] {
    return this.graph.operations.filter((o) => o.inputs.includes(this));
  }
  /** Refines the static shape. Throws `ValueError` on conflict. */
  override setShape(shape: PartialShape): void {
    if (shape !== null) wantList(shape, "shape", "setShape", "numbers");
    const merged = mergeShapes(this.#shape, shape);
    if (sameShape(merged, this.#shape)) return;
    this.promised = true;
    this.graph.promises++;
    this.#shape = merged;
  }
  /** Short text for messages. */
  override toString(): string {
    return `<tf.Tensor '${this.name}' ${specText({ dtype: this.dtype, shape: this.#shape })}>`;
  }
}

/** Returns the value of a tensor that is known while building: a constant, or the shape of a tensor of known shape. */
export function constantValue(t: SymbolicTensor): NdArray | undefined {
  const { operation } = t;
  if (operation.def.meaning.kind === "constant") return operation.attrs.value as NdArray;
  if (operation.type === "Shape") {
    const s = operation.inputs[0].staticShape;
    if (s !== null && !s.includes(null)) {
      return new NdArray("int32", [s.length], Int32Array.from(s as number[]));
    }
  }
  if (operation.type === "Identity") return constantValue(operation.inputs[0]);
  return undefined;
}

/** Returns the operation that is given, or that makes a tensor; undefined for other values. */
export function operationOf(x: unknown): Operation | undefined {
  return x instanceof Operation ? x : (x as SymbolicTensor | null | undefined)?.operation;
}
