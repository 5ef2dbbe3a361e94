/**
 * What core and autodiff know of a graph and its operations, so that they need not import `graph/`.
 */
import type { Tensor } from "./tensor.ts";
import type { Attrs, OpDef } from "./op.ts";
import type { DType } from "./dtype.ts";
import type { PartialShape } from "./shape.ts";

/** Something with state that ops refer to, such as a variable. */
export interface Resource {
  /** Number that gradients know it by: the variable's tensor id. */
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

/** The resource behind a handle tensor, eager or symbolic; undefined for other tensors. */
export function resourceOf(t: Tensor): Resource | undefined {
  if (t.dtype !== "resource") return undefined;
  return t.isSymbolic
    ? t.op.attrs._resource as Resource | undefined
    : (t as Tensor & { readonly resource?: Resource }).resource;
}

/** The handle behind a variable or its resource; undefined for other tensors. */
export function handleOf(t: Tensor | Resource): Tensor | undefined {
  return (t as { readonly handle?: Tensor }).handle;
}

/** A graph, seen from below. */
export interface GraphLike {
  /** Text that names the graph in messages. */
  readonly key: string;
  /** Runs `fn` with this graph as the place where ops go. */
  asDefault<R>(fn: () => R): R;
}

/** An operation of a graph, seen from below. */
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
  /** Stack text of the place that made it. */
  readonly definitionSite: string;
}
