/** Converts the attributes of an imported node: values, functions, variables, tables and scripts. */
import type { DType } from "../../engine/core/dtype.ts";
import { ValueError } from "../../engine/core/errors.ts";
import { resourceOf } from "../../engine/core/graph_node.ts";
import type { Attrs, OpDef } from "../../engine/core/op.ts";
import type { AttrDef } from "../../engine/core/signature.ts";
import type { Spec } from "../../engine/core/tensor_spec.ts";
import { UNSEEN } from "../../engine/autodiff/unseen.ts";
import { outermostGraph } from "../../engine/graph/current_graph.ts";
import { effectAttrs } from "../../engine/graph/func_graph.ts";
import { checkCall, OWN_ARGUMENTS, whileAttrs } from "../graph_def/calls.ts";
import { structureOfText } from "../../engine/script/structure_text.ts";
import type { Budget } from "../graph_def/check.ts";
import type { AttrValueJson, NodeDefJson } from "../../engine/graph/graph_def_json.ts";
import { isLoop } from "../graph_def/nodes.ts";
import { attrFromJson, text } from "../graph_def/values.ts";
import { constantValue, type SymbolicTensor } from "../../engine/graph/operation.ts";
import type { Branch } from "../../engine/runtime/control/branch.ts";
import { ConcreteFunction } from "../../engine/runtime/functions/concrete_function.ts";
import { ACCUMULATOR, ACCUMULATOR_V1 } from "../../engine/ops/host/accumulators.ts";
import { GradientAccumulator } from "../../engine/runtime/variables/gradient_accumulator.ts";
import { VariableState } from "../../engine/runtime/variables/variable_state.ts";
import { makesTable } from "../../engine/ops/host/lookup.ts";
import { LookupTable } from "../../engine/ops/host/lookup_table.ts";
import { isScriptOp } from "./missing.ts";
import { boundScript, type ScriptSources } from "./scripts.ts";
import { GraphResources, type ResourceName } from "./resources.ts";

/** The objects that a node's attributes may name. */
export interface AttributeContext {
  readonly inputs: readonly SymbolicTensor[];
  readonly library: {
    readonly budget: Budget;
    get(name: string, given: readonly Spec[]): ConcreteFunction;
  };
  readonly options: ScriptSources & {
    readonly narrowIntegers?: boolean;
    readonly resources?: GraphResources;
  };
}

/** Returns the attributes of a node for Weft's op: values, functions, and the process's objects. */
export function nodeAttributes(
  op: OpDef,
  def: NodeDefJson,
  { inputs, library, options }: AttributeContext,
): Record<string, unknown> {
  const { resources = new GraphResources() } = options;
  // A file reader's shared name is not a session's.
  const ofGraph = options.resources === undefined && outermostGraph() !== null;
  const given = isLoop(op.name) ? whileAttrs(def, inputs) : def.attr;
  const out: Record<string, unknown> = {};
  for (const a of op.signature.attrDefs) {
    const value = given?.[a.name];
    if (value === undefined) {
      if (
        a.default === undefined && a.type !== "type" && !a.name.startsWith("_") && a.name !== "N"
      ) {
        throw new ValueError(
          `NodeDef missing attr '${a.name}' from Op<name=${op.name}; signature=${
            op.inputs.join(", ")
          } -> ${op.outputs.join(", ")}> at node "${def.name}"`,
        );
      }
    } else if (a.type !== "func" && !isList(op, a, value, inputs)) {
      out[a.name] = attrFromJson(a, value, library.budget);
    }
  }
  // The shapes of a loop's or branch's inputs may change.
  const isCall = /^(Stateful)?PartitionedCall$/.test(op.name);
  const specs = inputs.map((t): Spec => ({
    dtype: t.dtype,
    shape: isCall ? t.staticShape : null,
  }));
  for (const a of op.signature.attrDefs.filter((a) => a.type === "func")) {
    const called = given![a.name].func?.name;
    if (typeof called !== "string") {
      throw new ValueError(`attribute "${a.name}" is no function, wanted { func: { name } }`);
    }
    const isIf = /^(Stateless)?If$/.test(op.name);
    const f = library.get(called, isIf ? specs.slice(1) : specs);
    const isNarrow = options.narrowIntegers === true;
    // TensorArrays, handles in the file, have their rows' dtype here.
    if (a.name !== "cond") {
      out.Tout = (out.Tout as DType[] | undefined)?.map((t, i) =>
        t === "variant" ? f.outputs[i]?.dtype ?? t : t
      );
    }
    checkCall(f, { op, attr: a.name, inputs, results: out.Tout as DType[], isNarrow });
    const own = OWN_ARGUMENTS[op.name.replace(/^Stateless/, "")]?.(out, inputs.length);
    out[a.name] = own === undefined ? f : branchOf(f, op, { inputs: inputs.length, own });
    if (own !== undefined) Object.assign(out, effectAttrs(f.graph));
  }
  const { _script_args: args, _script_structure: structure } = def.attr ?? {};
  const isScript = op.signature.attrDefs.some((a) => a.name === "_script");
  if (isScript && (args !== undefined || structure !== undefined)) {
    for (const name of ["_unordered", "_vectorized", "_batched"]) {
      if (def.attr?.[name]?.b) out[name] = true;
    }
    const read = (attr: typeof args, name: string, dtypes: unknown): unknown =>
      structureOfText(text(attr?.s), { name, leaves: (dtypes as DType[]).length });
    out._script_args = read(args, "_script_args", out.Tin);
    out._script_structure = read(structure, "_script_structure", out.Tout);
  }
  for (const { numberAttr } of op.signature.outputArgs) {
    if (numberAttr !== undefined) library.budget.outputs(out[numberAttr] as number);
  }
  const resource = inputs.length > 0 ? resourceOf(inputs[0]) : undefined;
  if (resource !== undefined && out.dtype !== undefined && out.dtype !== resource.dtype) {
    throw new ValueError(
      `the variable '${resource.sharedName}' is ${resource.dtype}, attribute "dtype" is ${out.dtype}`,
    );
  }
  const named = (kind: string): ResourceName => ({
    kind,
    container: out.container as string ?? "",
    name: out.shared_name as string || def.name,
  });
  if (isScriptOp(op.name)) out._script = boundScript(out, options);
  if (op.name === "VarHandleOp") {
    const { resource } = UNSEEN;
    out._resource = out.dtype === resource.dtype
      ? resource
      : variableOf(named("variable"), { ...out, ofGraph }, resources);
  }
  if (makesTable(op.name)) {
    const name = named("table"), { key_dtype, value_dtype, value_shape: valueShape } = out as Attrs;
    const make = () =>
      new LookupTable(name.name, [key_dtype, value_dtype], {
        isMutable: op.name.startsWith("Mutable"),
        ofGraph,
        valueShape,
        // Keys that a dense table never holds.
        reserved: inputs.flatMap((key) => constantValue(key) ?? []),
      });
    out._table = resources.get(name, make);
  }
  if (op === ACCUMULATOR.handle || op === ACCUMULATOR_V1.handle) {
    const name = named("accumulator"), { dtype, shape, reduction_type: reduction } = out as Attrs;
    const make = () => new GradientAccumulator(name.name, { dtype, shape, reduction }, ofGraph);
    out._accumulator = resources.get(name, make);
  }
  if (op.name === "ReadVariableOp" && out._shape === undefined) {
    const handle = inputs[0]?.operation;
    // The argument's shape is the handle's.
    out._shape = handle?.type === "VarHandleOp" ? handle.attrs.shape ?? null : null;
  }
  return out;
}

function variableOf(name: ResourceName, attrs: Attrs, resources: GraphResources): VariableState {
  const { dtype, shape = null, ofGraph } = attrs;
  const init = { dtype, shape, sharedName: name.name, trainable: true, ofGraph };
  const state = resources.get(name, () => new VariableState(null, init));
  if (state.dtype === dtype) return state;
  throw new ValueError(
    `the variable '${name.name}' is ${state.dtype}, attribute "dtype" is ${dtype}`,
  );
}

/**
 * True for the dtypes of inputs that may be TensorArrays, which are stacked tensors here: the input tells the dtype.
 */
function isList(
  op: OpDef,
  { name }: AttrDef,
  { type, list }: AttrValueJson,
  inputs: readonly SymbolicTensor[],
): boolean {
  if (op.name === "Identity" && type !== undefined) return true;
  const isBound = op.signature.inputArgs.some((a) =>
    a.typeAttr === name || a.typeListAttr === name
  );
  return isBound && (type === "DT_VARIANT" || list?.type?.includes("DT_VARIANT") === true) &&
    inputs.length > 0 && !inputs.some((t) => t.dtype === "variant");
}

/** A function from a file takes all inputs of its op as arguments and captures nothing. */
function branchOf(
  f: ConcreteFunction,
  op: OpDef,
  { inputs, own }: { readonly inputs: number; readonly own: number },
): Branch {
  const total = own < 0 ? inputs - 1 : inputs;
  const from = Array.from({ length: total }, (_, i) => i).slice(Math.max(own, 0));
  // The body of a While also returns the values that it only reads.
  if (!isLoop(op.name) || f.outputs.length <= own) return { f, from };
  return { f: new ConcreteFunction(f.graph, f.outputs.slice(0, own)), from };
}
