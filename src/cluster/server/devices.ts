/** The devices of a task, as masters see them. */
import type { GraphDefJson, NodeDefJson } from "../../engine/graph/graph_def_json.ts";
import { listDevices } from "../../engine/runtime/devices/devices.ts";
import { type TaskName, taskText } from "./cluster_spec.ts";

/** A device as messages describe it. */
export interface TaskDevice {
  readonly name: string;
  readonly deviceType: string;
  readonly memoryLimit: bigint;
  readonly incarnation: bigint;
  readonly physicalDeviceDesc: string;
}

/** Memory limit that TensorFlow reports for its processors. */
const MEMORY_LIMIT = 1n << 28n;

/**
 * Names the devices of this process for other tasks. Each has a number that a later process at the same address does
 * not share.
 */
export class TaskDevices {
  readonly #task: TaskName;
  readonly #incarnations = new Map<string, bigint>();

  constructor(task: TaskName) {
    this.#task = task;
  }

  /** Lists all devices. A GPU is a `WEBGPU`, for which TensorFlow has no kernels: it places nothing there by itself. */
  list(): TaskDevice[] {
    return listDevices().map(({ type, description }) => {
      const deviceType = type === "GPU" ? "WEBGPU" : type;
      const name = `${taskText(this.#task)}/device:${deviceType}:0`;
      return {
        name,
        deviceType,
        memoryLimit: MEMORY_LIMIT,
        incarnation: this.incarnation(name),
        physicalDeviceDesc: description,
      };
    });
  }

  /** Returns the number of a device. */
  incarnation(name: string): bigint {
    let known = this.#incarnations.get(name);
    if (known === undefined) {
      known = crypto.getRandomValues(new BigUint64Array(1))[0];
      this.#incarnations.set(name, known);
    }
    return known;
  }
}

/** Copies the graph and its functions, and maps the devices that nodes name. */
export function onDevices(
  def: GraphDefJson,
  deviceOf: (device: string, node: NodeDefJson) => string,
): GraphDefJson {
  const placed = (node: NodeDefJson): NodeDefJson =>
    node.device ? { ...node, device: deviceOf(node.device, node) } : node;
  const functions = (def.library?.function ?? []).map((f) => ({
    ...f,
    nodeDef: f.nodeDef.map(placed),
  }));
  return { ...def, node: def.node.map(placed), library: { function: functions } };
}
