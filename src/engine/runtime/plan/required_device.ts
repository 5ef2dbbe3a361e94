/** Device constraints of nodes: requested devices, and what devices can run. */
import type { Device } from "../../core/device.ts";
import { InvalidArgumentError } from "../../core/errors.ts";
import { runsOnComplex, runsOnDevices } from "../../core/op.ts";
import { type IrGraph, type IrNode, isConstant } from "../../graph/ir.ts";
import { devicesText, gpuDevice, isHere, isThisProcess, parseDevice } from "../devices/devices.ts";
import { type DeviceType, needsHost } from "./place.ts";

/** Returns the device where a node must run: the requested one if able, the CPU if no other can; null for any. */
export function requiredDevice(node: IrNode): DeviceType | null {
  const gpu = gpuDevice();
  const able = gpu !== null && canRunOnGpu(node, gpu);
  if (node.device !== "") {
    const spec = parseDevice(node.device);
    if (spec.type === "GPU" && able && isHere(spec)) return "GPU";
    if (spec.type !== undefined) return "CPU";
  }
  // A device whose reads must be awaited cannot serve a synchronous read.
  return able && (gpu.canReadSync || node.def.host?.readsAtOnce?.(node.attrs) !== true)
    ? null
    : "CPU";
}

function canRunOnGpu(node: IrNode, gpu: Device): boolean {
  if (node.def.host) {
    // Function-valued and eager-style script ops run where their tensors are; the others run on the host.
    const takesTensors = node.def.hostInputs === undefined
      ? node.def.signature.inputArgs.length > 0
      : node.inputs.some((_, i) => !needsHost(node, i));
    return takesTensors &&
      node.inputs.every((v) =>
        v.dtype === "resource" || v.dtype === "variant" || gpu.supports(v.dtype)
      ) &&
      node.outputs.every((v) => v.dtype === "variant" || gpu.supports(v.dtype));
  }
  if (!runsOnDevices(node.def)) return false;
  const isComplex = [...node.inputs, ...node.outputs].some((v) => v.dtype === "complex64");
  if (isComplex && !runsOnComplex(node.def)) return false;
  return node.inputs.every((v, i) => needsHost(node, i) || gpu.supports(v.dtype)) &&
    node.outputs.every((v) => gpu.supports(v.dtype) && v.shape !== undefined);
}

/**
 * Checks before any computation that no node names another process and, unless placement is `soft`, that every node can
 * run on the device it names. Throws `InvalidArgumentError` otherwise.
 */
export function checkPlacement({ nodes }: IrGraph, soft: boolean): void {
  const gpu = gpuDevice();
  for (const node of nodes) {
    // Constants are wherever they are read.
    if (node.device === "" || node.feed >= 0 || isConstant(node)) continue;
    const spec = parseDevice(node.device);
    if (soft && isThisProcess(spec)) continue;
    const able = spec.type !== "GPU" || (gpu !== null && canRunOnGpu(node, gpu));
    if (able && isHere(spec)) continue;
    throw new InvalidArgumentError(
      `Cannot assign a device for operation ${node.name}: {{node ${node.name}}} was explicitly assigned to ${node.device} but available devices are ${devicesText()}, or the op has no kernel there. Make sure the device specification refers to a valid device.`,
      { op: node.def.name, node: node.name },
    );
  }
}
