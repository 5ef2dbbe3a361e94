/** Builds the TensorFlow parts of Weft's own ops in a graph of their own, for a portable GraphDef. */
import { type OpInput, withRecorders } from "../../engine/core/apply.ts";
import type { DType } from "../../engine/core/dtype.ts";
import { argOfInput, type Attrs, lookupOp, type OpDef } from "../../engine/core/op.ts";
import { NdArray } from "../../engine/core/nd_array.ts";
import { cast } from "../../engine/ops/array/cast.ts";
import { inFloat32, shortTypes } from "../../engine/ops/through_float32.ts";
import type { PartialShape } from "../../engine/core/shape.ts";
import { withScope } from "../../engine/core/scope_context.ts";
import { Graph } from "../../engine/graph/graph.ts";
import {
  constantValue,
  type Operation,
  type SymbolicTensor,
} from "../../engine/graph/operation.ts";
import { PARTS } from "./portable_parts.ts";
import type { Replacement } from "./portable.ts";

/** An op that is taken apart. */
export interface WholeOp {
  readonly def: OpDef;
  readonly attrs: Attrs;
  readonly inputs: readonly { readonly dtype: DType; readonly staticShape: PartialShape }[];
  /** Returns the elements of an input that is a constant. */
  known(input: number): NdArray | undefined;
}

/** Builds the parts of an operation. */
export function partsOf(op: Operation): Replacement {
  const { def, attrs, inputs } = op;
  const whole = { def, attrs, inputs, known: (i: number) => constantValue(inputs[i]) };
  return buildParts(whole, PARTS[op.type] ?? def.expand!);
}

type Expansion = NonNullable<OpDef["expand"]>;

/** Builds the parts of an op by an expansion. Several parts compute floats of 16 bits in float32, as the op rounds once. */
export function buildParts(op: WholeOp, expansion: Expansion): Replacement {
  const parts = build(op, expansion);
  if (parts.operations.length < 2 || shortTypes(op.def, op.attrs).length === 0) return parts;
  return build(op, (given, attrs) => {
    const wide = inFloat32(op.def, given, attrs)!;
    return expansion(wide.inputs, wide.attrs).map((t, i) => cast(t, parts.outputs[i].dtype));
  });
}

function build(op: WholeOp, expansion: Expansion): Replacement {
  const { def } = op;
  const graph = new Graph();
  const inputs: (SymbolicTensor | null)[] = [];
  const given = op.inputs.map((t, i): OpInput => {
    const host = def.signature.isHostInput[argOfInput(def, i, op.inputs.length)];
    const value = host ? op.known(i) : undefined;
    if (value instanceof NdArray) {
      inputs.push(null);
      return value;
    }
    const [input] = graph.addOp(lookupOp("Placeholder")!, [], {
      dtype: t.dtype,
      shape: t.staticShape,
    }).outputs;
    inputs.push(input);
    return input;
  });
  const outputs = withScope(
    { opName: null, device: null },
    () =>
      graph.asDefault(() =>
        withRecorders(
          [],
          () => expansion(given, op.attrs).map((t) => graph.convertInput(t, lookupOp("Identity")!)),
        )
      ),
  );
  return { graph, inputs, outputs, operations: needed(outputs, new Set(inputs)) };
}

/** Returns the operations that results depend on, in order of their creation. */
function needed(
  outputs: readonly SymbolicTensor[],
  given: ReadonlySet<SymbolicTensor | null>,
): Operation[] {
  const found = new Set<Operation>();
  const visit = (t: SymbolicTensor): void => {
    if (given.has(t) || found.has(t.operation)) return;
    found.add(t.operation);
    t.operation.inputs.forEach(visit);
  };
  outputs.forEach(visit);
  return outputs.length === 0 ? [] : outputs[0].graph.operations.filter((o) => found.has(o));
}
