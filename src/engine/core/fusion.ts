/**
 * What a node of a plan computes besides its op: elements on their way in, and what happens to each result before it is stored. It
 * travels as an attribute that no signature names.
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

/** What happens to each sum of a product, convolution or reduction: bias, activation, residual, cast. */
export interface Epilogue {
  /** An expression over the sum (argument 0) and further operands (arguments 1 and up). */
  readonly expr: Expr;
  readonly operands: readonly EpilogueOperand[];
}

/** What a node computes besides its op. Inputs that the op does not have itself come after its own. */
export interface Fusion {
  /** How many inputs the op has. */
  readonly own: number;
  /** In place of input 0, an expression of these inputs, broadcast. The first of them stands in its place. */
  readonly prologue: { readonly expr: Expr; readonly inputs: readonly number[] } | null;
  /** What is done to each result. */
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

/** What a node with these attributes computes besides its op, if anything. */
export function fusionOf(attrs: Attrs): Fusion | undefined {
  return attrs._fusion;
}

/** The fusion of a node as text, for plans that are printed. */
export function fusionText(attrs: Attrs): string {
  const { prologue, epilogue } = fusionOf(attrs) ?? {};
  return `${prologue ? " after prologue" : ""}${epilogue ? " with epilogue" : ""}`;
}

/** The inputs that the op of a node has. */
export function ownInputs({ own, prologue }: Fusion, inputs: readonly Spec[]): readonly Spec[] {
  if (prologue === null) return inputs.slice(0, own);
  const operands = prologue.inputs.map((i) => inputs[i]);
  const first: Spec = {
    dtype: exprType(prologue.expr, operands.map((o) => o.dtype)),
    shape: commonShape(operands.map((o) => o.shape)),
  };
  return [first, ...inputs.slice(1, own)];
}

/** What these shapes are broadcast to. */
export function commonShape(shapes: readonly PartialShape[]): PartialShape {
  return shapes.reduce((a: PartialShape, b) => broadcastShapes(a, b), []);
}

/** A problem's epilogue: null for none, undefined where an operand has not as many elements as are read. */
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

/** The input that an operand of a problem's epilogue is. */
export function inputOf(ref: BufferRef): number {
  return (ref as { readonly input: number }).input;
}
