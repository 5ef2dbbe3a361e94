/**
 * Writes a loop over rows for TensorFlow: a `While` that counts, picks a row, calls the body and writes the results
 * into tensor lists.
 */
import { DTYPES } from "../../engine/core/dtype.ts";
import { NdArray } from "../../engine/core/nd_array.ts";
import type { PartialShape } from "../../engine/core/shape.ts";
import type {
  AttrValueJson,
  FunctionDefJson,
  NodeDefJson,
} from "../../engine/graph/graph_def_json.ts";
import { constantAttrs } from "./nodes.ts";
import type { Operation, SymbolicTensor } from "../../engine/graph/operation.ts";
import { type Place, resultNode } from "./portable.ts";

interface ScanContext {
  readonly place: Place;
  readonly body: string;
  readonly taken: (name: string) => boolean;
}

const INT: AttrValueJson = { type: "DT_INT32" };

export function scanNodes(
  op: Operation,
  { place, body, taken }: ScanContext,
): { nodes: NodeDefJson[]; functions: FunctionDefJson[] } {
  const scope = place.scope(op);
  const { elems, states, reverse } = op.attrs as {
    elems: number;
    states: number;
    reverse: boolean;
  };
  const stacked = visible(op).slice(states);
  const nodes: NodeDefJson[] = [];
  const controls = op.controlInputs.map((c) => `^${place.name(c)}`);
  const add = (
    name: string,
    [type, arg]: readonly [string, string],
    input: string[],
    attr: Record<string, AttrValueJson>,
  ): string => {
    nodes.push(place.node(op, { name: scope + name, type, input: [...input, ...controls], attr }));
    return place.output(scope + name, { index: 0, arg: `${arg}:0` });
  };
  const inputs = op.inputs.map((t) => place.input(t));
  const zero = add("zero", CONST, [], constant([0], []));
  const shape = add("shape", ["Shape", "output"], [inputs[0]], {
    T: type(op.inputs[0]),
    out_type: INT,
  });
  const count = add("count", ["GatherV2", "output"], [shape, zero, zero], {
    batch_dims: { i: "0" },
    Tparams: INT,
    Tindices: INT,
    Taxis: INT,
  });
  const { f } = op.attrs.body as { readonly f: { readonly outputs: readonly SymbolicTensor[] } };
  const shapes = stacked.map((t, k) => {
    const row = t.staticShape && rowShape(t.staticShape);
    const state = f.outputs.indexOf(f.outputs[states + k]);
    // A state keeps its shape: without rows nothing else tells it.
    if (state < states && !(row && row.every((d) => d >= 0))) {
      const attr = { T: type(t), out_type: INT };
      return add(`row_shape_${k}`, ["Shape", "output"], [inputs[elems + state]], attr);
    }
    return add(`row_shape_${k}`, CONST, [], row ? constant(row, [row.length]) : constant([-1], []));
  });
  const lists = stacked.map((t, k) =>
    add(`list_${k}`, ["TensorListReserve", "handle"], [shapes[k], count], {
      element_dtype: type(t),
      shape_type: INT,
    })
  );
  // The loop's variables come first, then the values it only reads: elements and captures of the body.
  const variables = [zero, count, ...inputs.slice(elems, elems + states), ...lists];
  const read = [...inputs.slice(0, elems), ...inputs.slice(elems + states)];
  const types = [
    "DT_INT32",
    "DT_INT32",
    ...op.inputs.slice(elems, elems + states).map(typeName),
    ...stacked.map(() => "DT_VARIANT"),
    ...[...op.inputs.slice(0, elems), ...op.inputs.slice(elems + states)].map(typeName),
  ];
  const stateful = op.attrs._ordered === true;
  const name = (role: string): string => {
    const wanted = `${body}_${role}`;
    let found = wanted;
    for (let n = 1; taken(found); n++) found = `${wanted}_${n}`;
    return found;
  };
  const cond = condition(name("rows_cond"), types);
  const turn = iteration(op, { name: name("rows_body"), body, types, stateful, stacked, reverse });
  add("while", [stateful ? "While" : "StatelessWhile", ""], [...variables, ...read], {
    T: { list: { type: types } },
    _loop_vars: { i: String(variables.length) },
    body: { func: { name: turn.signature.name } },
    cond: { func: { name: cond.signature.name } },
  });
  const out = (k: number): string =>
    place.output(`${scope}while`, { index: k, arg: `output:${k}` });
  const results = stacked.map((t, k) =>
    add(`stack_${k}`, ["TensorListStack", "tensor"], [out(2 + states + k), shapes[k]], {
      element_dtype: type(t),
      num_elements: { i: "-1" },
    })
  );
  const last = Array.from({ length: states }, (_, k) => out(2 + k));
  nodes.push(resultNode(op, { place, results: [...last, ...results] }));
  return { nodes, functions: [cond, turn] };
}

const CONST = ["Const", "output"] as const;

/** Returns the outputs without the tape. */
function visible(op: Operation): readonly SymbolicTensor[] {
  return op.outputs.slice(0, (op.attrs.Tout as readonly unknown[]).length);
}

function rowShape(shape: Exclude<PartialShape, null>): number[] {
  return shape.slice(1).map((d) => d ?? -1);
}

function typeName(t: SymbolicTensor): string {
  return DTYPES[t.dtype].tfEnum;
}

function type(t: SymbolicTensor): AttrValueJson {
  return { type: typeName(t) };
}

function constant(
  values: readonly number[],
  shape: readonly number[],
): Record<string, AttrValueJson> {
  return constantAttrs(new NdArray("int32", shape, Int32Array.from(values)));
}

function signature(name: string, types: readonly string[]): FunctionDefJson["signature"] {
  return { name, inputArg: types.map((type, i) => ({ name: `arg${i}`, type })), outputArg: [] };
}

/** `turn < count`. */
function condition(name: string, types: readonly string[]): FunctionDefJson {
  return {
    signature: { ...signature(name, types), outputArg: [{ name: "out0", type: "DT_BOOL" }] },
    nodeDef: [{ name: "less", op: "Less", input: ["arg0", "arg1"], attr: { T: INT } }],
    ret: { out0: "less:z:0" },
  };
}

/** Writes one turn: the body on a row of each element. */
function iteration(op: Operation, { name, body, types, stateful, stacked, reverse }: {
  readonly name: string;
  readonly body: string;
  readonly types: readonly string[];
  readonly stateful: boolean;
  readonly stacked: readonly SymbolicTensor[];
  readonly reverse: boolean;
}): FunctionDefJson {
  const { elems, states } = op.attrs as { elems: number; states: number };
  const arg = (from: number, n: number): string[] =>
    Array.from({ length: n }, (_, k) => `arg${from + k}`);
  const firstList = 2 + states, firstElem = firstList + stacked.length;
  const captures = op.inputs.length - elems - states;
  const binary = (node: string, type: string, input: string[]): NodeDefJson => ({
    name: node,
    op: type,
    input,
    attr: { T: INT },
  });
  const row = reverse ? "row:z:0" : "arg0";
  const nodeDef: NodeDefJson[] = [
    { name: "one", op: "Const", attr: constant([1], []) },
    { name: "axis", op: "Const", attr: constant([0], []) },
    binary("next", "AddV2", ["arg0", "one:output:0"]),
    ...(reverse ? [binary("row", "Sub", ["arg1", "next:z:0"])] : []),
    ...op.inputs.slice(0, elems).map((t, k): NodeDefJson => ({
      name: `elem_${k}`,
      op: "GatherV2",
      input: [`arg${firstElem + k}`, row, "axis:output:0"],
      attr: { batch_dims: { i: "0" }, Tparams: type(t), Tindices: INT, Taxis: INT },
    })),
    {
      name: "call",
      op: stateful ? "StatefulPartitionedCall" : "PartitionedCall",
      input: [
        ...op.inputs.slice(0, elems).map((_, k) => `elem_${k}:output:0`),
        ...arg(2, states),
        ...arg(firstElem + elems, captures),
      ],
      attr: {
        Tin: { list: { type: op.inputs.map(typeName) } },
        Tout: { list: { type: visible(op).map(typeName) } },
        f: { func: { name: body } },
      },
    },
    ...stacked.map((t, k): NodeDefJson => ({
      name: `set_${k}`,
      op: "TensorListSetItem",
      input: [`arg${firstList + k}`, row, `call:output:${states + k}`],
      attr: { element_dtype: type(t) },
    })),
  ];
  const results = [
    "next:z:0",
    "arg1",
    ...Array.from({ length: states }, (_, k) => `call:output:${k}`),
    ...stacked.map((_, k) => `set_${k}:output_handle:0`),
    ...arg(firstElem, elems + captures),
  ];
  return {
    signature: {
      ...signature(name, types),
      outputArg: types.map((type, i) => ({ name: `out${i}`, type })),
      ...(stateful ? { isStateful: true } : {}),
    },
    nodeDef,
    ret: Object.fromEntries(results.map((r, i) => [`out${i}`, r])),
    ...(stateful ? { controlRet: { call: "call" } } : {}),
  };
}
