/**
 * A product of one row that also writes columns of its result to a row of a variable, as plans make it of a product and a
 * ResourceScatterUpdate: keys and values of a token go where they are kept in the dispatch that computes them.
 */
import type { OpInput } from "../../core/apply.ts";
import type { HostCall, HostResults } from "../../core/contract/host_op.ts";
import { fusionOf } from "../../core/fusion.ts";
import type { Attrs, OpDef } from "../../core/op.ts";
import { slice } from "../../ops/array/slice.ts";
import { reshape } from "../../ops/array/view.ts";
import { expandFusion } from "../../ops/fused/fused.ts";
import { defineEffect } from "../../ops/host/effect.ts";
import { executeOn, onDevice } from "../eager/eager.ts";
import { isolated } from "../eager/isolated.ts";
import { findLaunch } from "../eager/launch_cache.ts";
import { Storage } from "../eager/storage.ts";
import { EagerTensor, tidy } from "../eager/tensor.ts";
import { stateOf } from "./variable_ops.ts";
import type { VariableState } from "./variable_state.ts";

/** A product, whose inputs are its own and those of its epilogue. */
interface ProductWrite {
  readonly def: OpDef;
  /** Attributes of the product alone. */
  readonly alone: Attrs;
  /** Attributes of the product that writes: the index and the variable's value are further inputs. */
  readonly writing: Attrs;
}

/** Writes rows, inputs 0 being their indices, to a variable. */
type WriteRows = (state: VariableState, given: readonly OpInput[]) => void;

/** Defines the op; `writeRows` writes where the product cannot. */
export function defineProductWrite(writeRows: WriteRows): OpDef {
  const run = ({ inputs: [handle, ...given], attrs: { form } }: HostCall): HostResults => {
    const state = stateOf(handle), { device } = state.value.storage;
    return isolated({ device: device.name }, () =>
      tidy(() => {
        const [index, ...own] = given.map((x) => onDevice(x, device));
        const both = writtenAtOnce(state, form, [...own, index]);
        if (both !== null) return [both];
        const [y] = executeOn(form.def, own, form.alone, { device, expandFusion });
        const { from, width } = writeOf(form), [, ...row] = state.valueShape;
        const columns = slice(reshape(y, [-1]), [from], [width]);
        writeRows(state, [index, reshape(columns, [...index.shape, ...row]) as EagerTensor]);
        return [y];
      }));
  };
  return defineEffect({
    name: "_ProductWrite",
    portable: { never: "only plans make it" },
    inputs: ["resource: resource", "index: int32", "input: Tin"],
    outputs: ["product: T"],
    attrs: ["T: type", "Tin: list(type)", "shape: shape", "form: form"],
    infer: (_, { shape }) => [shape],
    host: { run, local: true },
  });
}

const writeOf = ({ writing }: ProductWrite) => fusionOf(writing)!.epilogue!.write!;

/** Returns the product that wrote; null where the memory has other holders, or the device no such kernel. */
function writtenAtOnce(
  state: VariableState,
  { def, writing }: ProductWrite,
  inputs: readonly EagerTensor[],
): EagerTensor | null {
  const { value } = state, { storage } = value, all = [...inputs, value];
  if (storage.refs !== 1) return null;
  const { device, kernel, outputs: [spec] } = findLaunch(def, storage.device, all, writing);
  if (device !== storage.device || kernel?.changes?.includes(inputs.length) !== true) return null;
  state.change();
  const [buffer] = kernel.run(all.map((t) => t.storage.buffer));
  return new EagerTensor(spec.dtype, spec.shape, new Storage(device, buffer, spec));
}
