/** The parts of graphs and operations that core and autodiff use, so that they need not import `graph/`. */
import type { Tensor } from "./tensor.ts";
import type { Attrs, OpDef } from "./op.ts";
import type { DType } from "./dtype.ts";
import type { PartialShape } from "./shape.ts";

/** Mutable state that ops refer to, such as a variable. */
export interface Resource {
  /** Number by which gradients know it: the variable's tensor id. */
  readonly id: number;
  /** Dtype of its value. */
  readonly dtype: DType;
  /** Static shape of its value. */
  readonly shape: PartialShape;
  /** Shape of the value now; absent for what has none. */
  readonly valueShape?: readonly number[];
  /** Name graphs give it. */
  readonly sharedName: string;
  /** True where tapes watch it by themselves. */
  readonly trainable: boolean;
}

/** Returns the resource behind a handle tensor, eager or symbolic; undefined for other tensors. */
export function resourceOf(t: Tensor): Resource | undefined {
  if (t.dtype !== "resource") return undefined;
  return t.isSymbolic
    ? t.op.attrs._resource as Resource | undefined
    : (t as Tensor & { readonly resource?: Resource }).resource;
}

/** Returns the handle behind a variable or its resource; undefined for other tensors. */
export function handleOf(t: Tensor | Resource): Tensor | undefined {
  return (t as { readonly handle?: Tensor }).handle;
}

/** The used part of a graph. */
export interface GraphLike {
  /** Text that names the graph in messages. */
  readonly key: string;
  /** Runs `fn` with this graph as the one being built. */
  asDefault<R>(fn: () => R): R;
}

/** The used part of an operation. */
export interface GraphNode {
  /** Unique name. */
  readonly name: string;
  /** TensorFlow op type. */
  readonly type: string;
  /** Definition of the op. */
  readonly def: OpDef;
  /** Data inputs. */
  readonly inputs: readonly Tensor[];
  /** Results. */
  readonly outputs: readonly Tensor[];
  /** Attributes, defaults filled in. */
  readonly attrs: Attrs;
  /** Operations that must run before. */
  readonly controlInputs: readonly GraphNode[];
  /** Position in the graph, growing. */
  readonly index: number;
  /** Requested device, empty where none was. */
  readonly device: string;
  /** The graph. */
  readonly graph: GraphLike;
  /** Stack text of the line that made it. */
  readonly definitionSite: string;
}
