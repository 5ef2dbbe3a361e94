/**
 * FuncGraph: the graph of a traced function. Outer values become further inputs (captures); effects keep program order.
 */
import { lookupOp, type OpDef } from "../core/op.ts";
import { withScope } from "../core/scope_context.ts";
import type { DType } from "../core/dtype.ts";
import { TypeError } from "../core/throwing/builtin_errors.ts";
import { ValueError } from "../core/errors.ts";
import type { PartialShape } from "../core/shape.ts";
import type { Tensor } from "../core/tensor.ts";
import { EffectOrder, effectsOf, isRead } from "./effect_order.ts";
import { currentGraph } from "./current_graph.ts";
import { Graph } from "./graph.ts";
import type { Operation, SymbolicTensor } from "./operation.ts";

/** An outer value and its placeholder. */
export interface Capture {
  /** Tensor of an outer graph, or an eager one. */
  readonly outer: Tensor;
  /** Placeholder in the function. */
  readonly inner: SymbolicTensor;
}

/**
 * Maximum nesting of functions, by definition and by calls. Each level takes some twenty frames of the engine's stack
 * at run time, and more when differentiated: V8 has room for 550 calls, and for almost 190 gradients of branches.
 */
export const MAX_DEPTH = 100;

/** A function in an attribute: alone, or with its captures. */
interface Called {
  readonly graph?: unknown;
  readonly f?: { readonly graph?: unknown };
}

/** The body of a function. */
export class FuncGraph extends Graph {
  /** Name of the function. */
  readonly name: string;
  /** Placeholders of the arguments, without captures. */
  readonly inputs: SymbolicTensor[] = [];
  /** Results. */
  outputs: SymbolicTensor[] = [];
  /** Captures. */
  readonly captures: Capture[] = [];
  /** Handles of the variables it uses, as outer values. */
  readonly resources: Tensor[] = [];
  /** Effectful operations in program order. */
  readonly effects: Operation[] = [];
  readonly #order = new EffectOrder();
  #stateful = false;
  #ordered = false;
  readonly #captured = new Map<number, SymbolicTensor>();
  /** The enclosing graph; null if it was made in eager code. */
  readonly outer: Graph | null;
  /** Number of enclosing functions. */
  readonly #inside: number = 0;
  /** Depth of its calls, itself included. */
  #calls = 1;

  /** Makes an empty body inside the graph being built, or inside `outer`, whose values it may use. */
  constructor(name: string, outer: Graph | null = currentGraph()) {
    super();
    this.name = name;
    this.outer = outer;
    if (outer instanceof FuncGraph) {
      this.#inside = outer.#inside + 1;
      this.#checkDepth(this.#inside, "is made inside of");
    }
  }

  /** Throws `ValueError` before the stack would overflow, now or at run time. */
  #checkDepth(depth: number, how: string): void {
    if (depth <= MAX_DEPTH) return;
    throw new ValueError(
      `Cannot make function ${this.name}: it ${how} functions nested ${depth} deep, at most ${MAX_DEPTH} are possible`,
    );
  }

  /** True where two calls with the same arguments may differ: it reads variables or has effects. */
  get stateful(): boolean {
    return this.#stateful;
  }

  /** True where its effects are ordered: a call of it keeps its order with other effects. */
  get ordered(): boolean {
    return this.#ordered;
  }

  /** Adds an argument. */
  addInput(dtype: DType, shape: PartialShape, name = "args"): SymbolicTensor {
    const t = this.#placeholder(dtype, shape, name);
    this.inputs.push(t);
    return t;
  }

  #placeholder(dtype: DType, shape: PartialShape, name: string): SymbolicTensor {
    return this.atRoot(() =>
      withScope(
        { opName: null, device: null },
        () => this.addOp(lookupOp("Placeholder")!, [], { dtype, shape }, { name }).outputs[0],
      )
    );
  }

  /** Returns the tensor inside the body: itself, or its placeholder. */
  inside(x: Tensor): SymbolicTensor {
    const isHere = x.isSymbolic && (x as SymbolicTensor).graph === this;
    return isHere ? x as SymbolicTensor : this.capture(x);
  }
  /** Captures a tensor of another graph. */
  protected override foreign(x: SymbolicTensor, _def: OpDef): SymbolicTensor {
    return this.capture(x);
  }
  /** Captures an outer tensor. */
  protected override capture(x: Tensor): SymbolicTensor {
    let inner = this.#captured.get(x.id);
    if (!inner) {
      x.throwIfDisposed();
      this.#checkScope(x);
      inner = this.#placeholder(x.dtype, x.staticShape, "captured");
      this.#captured.set(x.id, inner);
      this.captures.push({ outer: x.captured(), inner });
    }
    return inner;
  }

  /** A value of another body exists only while that body runs. */
  #checkScope(x: Tensor): void {
    if (!x.isSymbolic) return;
    const { graph } = x as SymbolicTensor;
    let { outer } = this;
    while (outer !== null && outer !== graph) {
      outer = outer instanceof FuncGraph ? outer.outer : null;
    }
    if (outer !== null) return;
    throw new TypeError(
      `${x} is out of scope and cannot be used here, in ${this.name}: it belongs to ${
        graph instanceof FuncGraph ? `the body of ${graph.name}, return it from there` : graph.key
      }`,
    );
  }

  /** Notes a variable that the body uses. */
  protected override onResource(x: Tensor): void {
    this.resources.push(x);
  }

  /** Orders effects automatically, and tracks the depth of calls. */
  protected override onOperation(op: Operation): void {
    for (const graph of bodiesOf(op)) {
      this.#calls = Math.max(this.#calls, graph.#calls + 1);
      this.#checkDepth(this.#calls, "calls");
    }
    const effects = effectsOf(op);
    if (effects === "none") return;
    this.#stateful = true;
    if (effects === "unordered") {
      this.effects.push(op);
      return;
    }
    this.#ordered = true;
    for (const before of this.#order.follow(op)) {
      if (!op.controlInputs.includes(before)) op.controlInputs.push(before);
    }
    // An unused read can be dropped.
    if (!isRead(op)) this.effects.push(op);
  }
}

/** Returns the bodies of the functions that an op calls. */
export function bodiesOf({ def, attrs }: Pick<Operation, "def" | "attrs">): FuncGraph[] {
  return def.signature.attrDefs.flatMap(({ name, type }) => {
    if (type !== "func") return [];
    const called = attrs[name] as Called | null, graph = called?.graph ?? called?.f?.graph;
    return graph instanceof FuncGraph ? [graph] : [];
  });
}

/** Returns the attributes that describe the effects of the functions that an op calls. */
export function effectAttrs(
  ...graphs: readonly FuncGraph[]
): { readonly _ordered?: boolean; readonly _unordered?: boolean } {
  if (graphs.some((g) => g.ordered)) return { _ordered: true };
  return graphs.some((g) => g.stateful) ? { _unordered: true } : {};
}
