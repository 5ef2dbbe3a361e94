/** TensorFlow's ops that change rows of variables: in place, unless the memory has other holders. */
import { apply, currentInterpreter, type OpInput } from "../../core/apply.ts";
import { TypeError } from "../../core/throwing/builtin_errors.ts";
import { InvalidArgumentError } from "../../core/errors.ts";
import { hostEffect } from "../../core/contract/host_op.ts";
import type { OpDef } from "../../core/op.ts";
import { compatible, mergeShapes, shapeText } from "../../core/shape.ts";
import { currentGraph } from "../../graph/current_graph.ts";
import type { Operation } from "../../graph/operation.ts";
import { cast } from "../../ops/array/cast.ts";
import { IndexedSlices } from "../../ops/array/indexed_slices.ts";
import { broadcastTo } from "../../ops/array/repeat.ts";
import { tensorScatterAdd, tensorScatterUpdate } from "../../ops/array/scatter.ts";
import { expandDims } from "../../ops/array/view.ts";
import { neg } from "../../ops/pointwise/arithmetic.ts";
import { defineEffect } from "../../ops/host/effect.ts";
import { OntoRows } from "../../ops/state/scatter_rows.ts";
import { isolated } from "../eager/isolated.ts";
import { onDevice } from "../eager/eager.ts";
import { findLaunch } from "../eager/launch_cache.ts";
import { type EagerTensor, tidy } from "../eager/tensor.ts";
import { defineProductWrite } from "./product_write.ts";
import { stateOf } from "./variable_ops.ts";
import type { VariableState } from "./variable_state.ts";

/** The change of the indexed rows. */
type Change = "add" | "sub" | "write";

/** Changes rows of a variable's value. */
export function changeRows(state: VariableState, how: Change, given: readonly OpInput[]): void {
  const { value } = state;
  const { device } = value.storage;
  isolated({ device: device.name }, () =>
    tidy(() => {
      const [at, rows] = placed(state, given).map((x) => onDevice(x, device));
      const signed = how === "sub" ? neg(rows) as EagerTensor : rows;
      changeNow(state, how === "write" ? "write" : "add", [at, signed]);
    }));
}

/**
 * Converts indices and rows to the kernels' dtypes and shapes. Throws `InvalidArgumentError` for rows that do not fit.
 */
function placed(state: VariableState, [indices, rows]: readonly OpInput[]): OpInput[] {
  const { valueShape: [, ...row], dtype, sharedName } = state;
  const wanted = [...indices.shape, ...row], have = rows.shape;
  if (rows.dtype !== dtype || (have.length > 0 && !compatible(have, wanted))) {
    throw new InvalidArgumentError(
      `Cannot change rows of variable '${sharedName}': received ${rows.dtype}${
        shapeText(have)
      }, wanted ${dtype}${shapeText(wanted)}`,
    );
  }
  if (indices.shape.length === 0) {
    const one = have.length === 0 && wanted.length > 0 ? broadcastTo(rows, wanted) : rows;
    return placed(state, [expandDims(indices, 0), expandDims(one, 0)]);
  }
  const isNarrow = indices.dtype === "int32" || state.value.storage.device.type === "CPU";
  return [
    isNarrow ? indices : cast(indices, "int32"),
    have.length === 0 && wanted.length > 0 ? broadcastTo(rows, wanted) : rows,
  ];
}

function changeNow(state: VariableState, how: "add" | "write", inputs: EagerTensor[]): void {
  const { value } = state, { storage } = value;
  // Rows or indices that are the variable's own value must be read whole before it changes.
  if (storage.refs === 1 && !inputs.some((t) => t.storage === storage)) {
    const attrs = { shape: state.valueShape, how };
    const { device, kernel } = findLaunch(OntoRows, storage.device, inputs, attrs);
    if (device === storage.device && kernel?.runInto !== undefined) {
      state.change();
      return kernel.runInto(inputs.map((t) => t.storage.buffer), [storage.buffer]);
    }
  }
  const [at, rows] = inputs;
  const whole = how === "add" ? tensorScatterAdd : tensorScatterUpdate;
  state.assign(whole(value, expandDims(at, -1), rows) as EagerTensor);
}

function scatterOp(name: string, how: Change): OpDef {
  return defineEffect({
    name,
    inputs: ["resource: resource", "indices: Tindices", "updates: dtype"],
    outputs: [],
    attrs: ["dtype: type", "Tindices: index", "_shape: shape = null"],
    infer: ([, { shape: indices }, { shape: updates }], { _shape }) => {
      // One scalar is the value of all rows.
      const fits = updates?.length === 0 || indices === null || _shape === null;
      if (!fits) mergeShapes(updates, [...indices, ..._shape.slice(1)]);
      return [];
    },
    host: hostEffect(([handle, ...given]) => changeRows(stateOf(handle), how, given)),
  });
}

/** Adds to rows of a variable; an index that repeats adds each time. */
const ResourceScatterAdd: OpDef = scatterOp("ResourceScatterAdd", "add");
const ResourceScatterSub: OpDef = scatterOp("ResourceScatterSub", "sub");
const ResourceScatterUpdate: OpDef = scatterOp("ResourceScatterUpdate", "write");

defineProductWrite((state, given) => changeRows(state, "write", given));

const SCATTERS = {
  Add: ResourceScatterAdd,
  Sub: ResourceScatterSub,
  Update: ResourceScatterUpdate,
};

/** Changes rows of a variable; in a graph adds the operation. Throws `TypeError` for values that are no slices. */
export function scatter(
  { sharedName, handle, dtype, shape }: VariableState,
  how: "Add" | "Sub" | "Update",
  slices: IndexedSlices,
): Operation | null {
  if (!(slices instanceof IndexedSlices)) {
    throw new TypeError(`Cannot change rows of '${sharedName}': wanted IndexedSlices`);
  }
  const def = SCATTERS[how];
  const inputs = [handle, slices.indices, slices.values], attrs = { dtype, _shape: shape };
  if (currentInterpreter().symbolic) return currentGraph()!.addOp(def, inputs, attrs);
  apply(def, inputs, attrs);
  return null;
}
