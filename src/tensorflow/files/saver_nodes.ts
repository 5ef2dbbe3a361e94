/** The nodes with which a graph of version 1 saves, restores and initialises its variables. */
import type { NodeDefJson, ShapeJson, TensorJson } from "../../engine/graph/graph_def_json.ts";

/** The fields of a SaverDef, which name these nodes. */
export const SAVER = {
  filenameTensorName: "save/Const:0",
  saveTensorName: "save/control_dependency:0",
  restoreOpName: "save/restore_all",
} as const;

export interface SavedVariableSpec {
  readonly name: string;
  /** Its key in the checkpoint. */
  readonly key: string;
  readonly handle: string;
  readonly type: string;
  readonly shape: ShapeJson;
}

const encoder = new TextEncoder();

function strings(name: string, values: readonly string[]): NodeDefJson {
  return constant(name, {
    dtype: "DT_STRING",
    tensorShape: { dim: [{ size: String(values.length) }] },
    stringVal: values.map((v) => encoder.encode(v)),
  });
}

function constant(name: string, tensor: TensorJson): NodeDefJson {
  return { name, op: "Const", attr: { dtype: { type: tensor.dtype }, value: { tensor } } };
}

export function saverNodes(variables: readonly SavedVariableSpec[]): NodeDefJson[] {
  const keys = variables.map((v) => v.key);
  const dtypes = { list: { type: variables.map((v) => v.type) } };
  const reads = variables.map((v): NodeDefJson => ({
    name: `${v.name}/Read/ReadVariableOp`,
    op: "ReadVariableOp",
    input: [v.handle],
    attr: { dtype: { type: v.type } },
  }));
  const whole = keys.map(() => "");
  return [
    ...variables.flatMap(initializer),
    ...reads,
    constant("save/Const", {
      dtype: "DT_STRING",
      tensorShape: {},
      stringVal: [encoder.encode("model")],
    }),
    strings("save/SaveV2/tensor_names", keys),
    strings("save/SaveV2/shape_and_slices", whole),
    {
      name: "save/SaveV2",
      op: "SaveV2",
      input: [
        "save/Const",
        "save/SaveV2/tensor_names",
        "save/SaveV2/shape_and_slices",
        ...reads.map((r) => r.name),
      ],
      attr: { dtypes },
    },
    {
      name: "save/control_dependency",
      op: "Identity",
      input: ["save/Const", "^save/SaveV2"],
      attr: { T: { type: "DT_STRING" } },
    },
    strings("save/RestoreV2/tensor_names", keys),
    strings("save/RestoreV2/shape_and_slices", whole),
    {
      name: "save/RestoreV2",
      op: "RestoreV2",
      input: ["save/Const", "save/RestoreV2/tensor_names", "save/RestoreV2/shape_and_slices"],
      attr: { dtypes },
    },
    ...variables.flatMap(restored),
    {
      name: "save/restore_all",
      op: "NoOp",
      input: variables.map((_, i) => `^save/AssignVariableOp_${i}`),
    },
  ];
}

/** Makes an initializer of zeros, for graphs that are not restored. */
function initializer(v: SavedVariableSpec): NodeDefJson[] {
  const value = `${v.name}/Initializer/zeros`;
  return [
    constant(value, { dtype: v.type, tensorShape: v.shape }),
    {
      name: `${v.name}/Assign`,
      op: "AssignVariableOp",
      input: [v.handle, value],
      attr: { dtype: { type: v.type } },
    },
  ];
}

function restored(v: SavedVariableSpec, i: number): NodeDefJson[] {
  const value = `save/Identity_${i}`;
  return [
    {
      name: value,
      op: "Identity",
      input: [`save/RestoreV2:${i}`],
      attr: { T: { type: v.type } },
    },
    {
      name: `save/AssignVariableOp_${i}`,
      op: "AssignVariableOp",
      input: [v.handle, value],
      attr: { dtype: { type: v.type } },
    },
  ];
}
