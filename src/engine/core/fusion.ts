/**
 * Fusions of a plan's node: a prologue on elements on their way in, and an epilogue on each result before it is stored.
 * A fusion is stored as an attribute that no signature names.
 */
import type { BufferRef } from "./dispatch.ts";
import type { DType } from "./dtype.ts";
import type { Attrs, Problem } from "./op.ts";
import { type Expr, exprType } from "./scalar/expr.ts";
import { broadcastShapes, type PartialShape, sizeOf } from "./shape.ts";
import type { Spec } from "./tensor_spec.ts";

/** A further operand of an epilogue. */
export interface EpilogueOperand {
  readonly dtype: DType;
  readonly buffer: BufferRef;
  /** One value for `all` elements, one per `column` of the result (a bias), or one per `element` (a residual). */
  readonly per: "all" | "column" | "element";
}

/** The work on each sum of a product, convolution or reduction: bias, activation, residual, cast. */
export interface Epilogue {
  /** An expression over the sum (argument 0) and further operands (arguments 1 and up). */
  readonly expr: Expr;
  readonly operands: readonly EpilogueOperand[];
  /** Element type of the sum. Default float32. */
  readonly sums?: DType | undefined;
  /** The memory that some of the results are also written to. */
  readonly write?: RowWrite | undefined;
}

/** Columns of a result of one row that are also written to a row of an array, where that lies. */
export interface RowWrite {
  /** The first of these columns, and their number: that of a row of the array. */
  readonly from: number;
  readonly width: number;
  /** Rows of the array. An index beyond them writes nothing. */
  readonly rows: number;
  /** The int32 index of the row. */
  readonly index: BufferRef;
  readonly into: BufferRef;
}

/** The work of a node besides its op. Its further inputs come after the op's own. */
export interface Fusion {
  /** Number of the op's inputs. */
  readonly own: number;
  /** An expression of these inputs, broadcast, in place of input 0; the first of them stands in its place. */
  readonly prologue: { readonly expr: Expr; readonly inputs: readonly number[] } | null;
  /** The work on each result. */
  readonly epilogue: Epilogue | null;
  /** Element type of the result. */
  readonly dtype: DType;
}

export function withFusion(attrs: Attrs, fusion: Fusion): Attrs {
  return { ...attrs, _fusion: fusion };
}

export function withoutFusion({ _fusion, ...attrs }: Attrs): Attrs {
  return attrs;
}

/** Returns the fusion of a node with these attributes, if any. */
export function fusionOf(attrs: Attrs): Fusion | undefined {
  return attrs._fusion;
}

/** Formats the fusion of a node for printed plans. */
export function fusionText(attrs: Attrs): string {
  const { prologue, epilogue } = fusionOf(attrs) ?? {};
  return `${prologue ? " after prologue" : ""}${epilogue ? " with epilogue" : ""}`;
}

/** Returns the inputs of a node's op. */
export function ownInputs({ own, prologue }: Fusion, inputs: readonly Spec[]): readonly Spec[] {
  if (prologue === null) return inputs.slice(0, own);
  const operands = prologue.inputs.map((i) => inputs[i]);
  const first: Spec = {
    dtype: exprType(prologue.expr, operands.map((o) => o.dtype)),
    shape: commonShape(operands.map((o) => o.shape)),
  };
  return [first, ...inputs.slice(1, own)];
}

/** Returns the shape that these are broadcast to. */
export function commonShape(shapes: readonly PartialShape[]): PartialShape {
  return shapes.reduce((a: PartialShape, b) => broadcastShapes(a, b), []);
}

/** Returns a problem's epilogue: null for none, undefined where an operand has too few elements. */
export function epilogueOf(
  { inputs, outputs: [out], attrs }: Problem,
): Epilogue | null | undefined {
  const epilogue = fusionOf(attrs)?.epilogue ?? null;
  const size = { all: 1, column: out.shape[out.shape.length - 1], element: sizeOf(out.shape) };
  const fits = epilogue?.operands.every(({ buffer, per }) =>
    sizeOf(inputs[inputOf(buffer)].shape) === size[per]
  );
  return fits === false ? undefined : epilogue;
}

/** Returns the input that an operand of a problem's epilogue is. */
export function inputOf(ref: BufferRef): number {
  return (ref as { readonly input: number }).input;
}
