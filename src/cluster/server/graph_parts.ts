/**
 * A graph cut for several tasks: where an edge leads from one to another, both get an end of it. Follows TensorFlow's `graph_partition.cc`.
 */
import { UnimplementedError } from "../../engine/core/errors.ts";
import { type DType, DTYPES } from "../../engine/core/dtype.ts";
import { NdArray } from "../../engine/core/nd_array.ts";
import type {
  AttrValueJson,
  FunctionDefJson,
  GraphDefJson,
  NodeDefJson,
} from "../../engine/graph/graph_def_json.ts";
import { base64Text, tensorToJson } from "../../tensorflow/graph_def/values.ts";
import { isScriptOp } from "../../tensorflow/graph/missing.ts";
import { type TaskName, taskOf, taskText, withinTask } from "./cluster_spec.ts";
import { onDevices } from "./devices.ts";
import { fullName, isControl, operationOf } from "./node_names.ts";

/** The processor of a task, which edges name. */
export interface TaskDevice {
  readonly name: string;
  readonly incarnation: bigint;
}

/** A task's part of the graph. */
export interface GraphPart {
  readonly def: GraphDefJson;
  /** Keys of tensors that are fed to it, by their number among the feeds. */
  readonly feeds: Map<number, string>;
  /** Keys of tensors that are fetched from it, by their number among the fetches. */
  readonly fetches: Map<number, string>;
}

/** A request to cut a graph. */
export interface PartsRequest {
  /** The nodes that the step needs, without control flow of version 1 and references. */
  readonly def: GraphDefJson;
  /** Tensors, as `node:0`. */
  readonly feeds: readonly string[];
  readonly fetches: readonly string[];
  /** The task of each node, by name. */
  readonly tasks: ReadonlyMap<string, string>;
  /** The processor of each task. */
  readonly devices: ReadonlyMap<string, TaskDevice>;
  dtypeOf(tensor: string): DType;
}

/**
 * Finds the task of each node: the one that it names; that of the variable it uses; else `home`. Functions, branches
 * and loops run as a whole: where their scripts are, else where their nodes ask to be.
 */
export function placeNodes(def: GraphDefJson, home: TaskName): Map<string, string> {
  const functions = new Map((def.library?.function ?? []).map((f) => [f.signature.name, f]));
  const byName = new Map(def.node.map((n) => [n.name, n]));
  const own = ({ device }: NodeDefJson): string[] => device ? [taskText(taskOf(device, home))] : [];
  const out = new Map<string, string>();
  for (const node of def.node) {
    const nodes = called(node, functions).flatMap((f) => f.nodeDef);
    const bound = nodes.filter((n) => isScriptOp(n.op));
    const inside = new Set((bound.length > 0 ? bound : nodes).flatMap(own));
    if (inside.size > 1) {
      throw new UnimplementedError(
        `Cannot cut the graph: functions of node "${node.name}" name devices of several tasks, ${
          [
            ...inside,
          ].join(" and ")
        }`,
        { op: node.op, node: node.name },
      );
    }
    const first = byName.get(operationOf(node.input?.[0] ?? ""));
    const handle = first?.op === "VarHandleOp" ? own(first) : [];
    out.set(node.name, [...inside, ...handle, ...own(node), taskText(home)][0]);
  }
  return out;
}

/** Functions that a node calls, directly or not. */
function called(
  node: NodeDefJson,
  library: ReadonlyMap<string, FunctionDefJson>,
): FunctionDefJson[] {
  const seen = new Set<FunctionDefJson>(), open = [node];
  for (let n = open.pop(); n !== undefined; n = open.pop()) {
    for (const { func, list } of Object.values(n.attr ?? {})) {
      for (const { name } of [func ?? [], list?.func ?? []].flat()) {
        const f = library.get(name);
        if (f === undefined || seen.has(f)) continue;
        seen.add(f);
        open.push(...f.nodeDef);
      }
    }
  }
  return [...seen];
}

export function cutForTasks(request: PartsRequest): Map<string, GraphPart> {
  const cutter = new Cutter(request);
  request.def.node.forEach((node) => cutter.add(node));
  request.fetches.forEach((tensor, i) => cutter.fetch(tensor, i));
  return cutter.parts;
}

class Cutter {
  readonly parts = new Map<string, GraphPart>();
  readonly #request: PartsRequest;
  readonly #library: GraphDefJson["library"];
  /** Names of the nodes at which edges end, by tensor and task. */
  readonly #ends = new Map<string, string>();

  constructor(request: PartsRequest) {
    this.#request = request;
    this.#library = onDevices({ ...request.def, node: [] }, (d) => withinTask(d)).library;
  }

  add(node: NodeDefJson): void {
    const task = this.#request.tasks.get(node.name)!;
    const within = withinTask(node.device ?? "") || "/device:CPU:0";
    const input = (node.input ?? []).map((i) => this.#input(i, task));
    this.#part(task).def.node.push({ ...node, input, device: `${task}${within}` });
  }

  fetch(tensor: string, number: number): void {
    const task = this.#request.tasks.get(operationOf(tensor));
    if (this.#request.feeds.includes(tensor) || task === undefined) return;
    const name = `fetch/${number}`, part = this.#part(task);
    const T = { type: DTYPES[this.#request.dtypeOf(tensor)].tfEnum };
    part.def.node.push(this.#end(name, "_Send", [tensor], { T }, [task, task, true]));
    part.fetches.set(number, this.#key(task, task, name));
  }

  #part(task: string): GraphPart {
    let part = this.parts.get(task);
    if (part === undefined) {
      const { def: { versions } } = this.#request;
      const def = { node: [], versions, ...(this.#library && { library: this.#library }) };
      this.parts.set(task, part = { def, feeds: new Map(), fetches: new Map() });
    }
    return part;
  }

  /** Returns an input's name in the part of a task. */
  #input(input: string, task: string): string {
    const tensor = fullName(input), fed = this.#request.feeds.indexOf(tensor);
    if (fed >= 0) return this.#fed(fed, task);
    const from = this.#request.tasks.get(operationOf(input))!;
    if (from === task) return input;
    if (!isControl(input)) return this.#edge(tensor, from, task);
    const done = `${this.#ends.size}/done`, id = `${input} in ${from}`;
    let name = this.#ends.get(id);
    if (name === undefined) {
      this.#ends.set(id, name = `edge/${done}`);
      const value = { tensor: tensorToJson(NdArray.zeros("float32", [])) };
      const attr = { dtype: { type: "DT_FLOAT" }, value };
      const device = this.#request.devices.get(from)!.name;
      this.#part(from).def.node.push({ name, op: "Const", input: [input], device, attr });
    }
    return `^${this.#edge(`${name}:0`, from, task)}`;
  }

  #fed(number: number, task: string): string {
    const id = `feed ${number} to ${task}`, known = this.#ends.get(id);
    if (known !== undefined) return known;
    const name = `feed/${this.#ends.size}`, part = this.#part(task);
    const type = DTYPES[this.#request.dtypeOf(this.#request.feeds[number])].tfEnum;
    this.#ends.set(id, name);
    part.def.node.push(
      this.#end(name, "_Recv", [], { tensor_type: { type } }, [task, task, true]),
    );
    part.feeds.set(number, this.#key(task, task, name));
    return name;
  }

  #edge(tensor: string, from: string, to: string): string {
    const id = `${tensor} to ${to}`, known = this.#ends.get(id);
    if (known !== undefined) return known;
    const name = `edge/${this.#ends.size}`, ends = [from, to, false] as const;
    const isDone = tensor.endsWith("/done:0");
    const dtype = isDone ? "float32" : this.#request.dtypeOf(tensor);
    const { tfEnum: type, kind } = DTYPES[dtype];
    if (kind === "handle") {
      throw new UnimplementedError(
        `Cannot cut the graph: the ${dtype} "${tensor}" is made on ${from} and read on ${to}, and is of use in its task alone`,
        { node: operationOf(tensor) },
      );
    }
    this.#ends.set(id, `${name}/in`);
    this.#part(from).def.node.push(
      this.#end(name, "_Send", [tensor], { T: { type } }, ends, `${name}/out`),
    );
    this.#part(to).def.node.push(
      this.#end(name, "_Recv", [], { tensor_type: { type } }, ends, `${name}/in`),
    );
    return `${name}/in`;
  }

  #end(
    tensorName: string,
    op: "_Send" | "_Recv",
    input: string[],
    type: Record<string, AttrValueJson>,
    [from, to, isClient]: readonly [string, string, boolean],
    name: string = tensorName,
  ): NodeDefJson {
    const { devices } = this.#request, sender = devices.get(from)!, receiver = devices.get(to)!;
    return {
      name,
      op,
      input,
      device: (op === "_Send" ? sender : receiver).name,
      attr: {
        ...type,
        tensor_name: { s: base64Text(tensorName) },
        send_device: { s: base64Text(sender.name) },
        send_device_incarnation: { i: String(BigInt.asIntN(64, sender.incarnation)) },
        recv_device: { s: base64Text(receiver.name) },
        client_terminated: { b: isClient },
      },
    };
  }

  #key(from: string, to: string, name: string): string {
    const { devices } = this.#request, sender = devices.get(from)!;
    const incarnation = sender.incarnation.toString(16).padStart(16, "0");
    return `${sender.name};${incarnation};${devices.get(to)!.name};${name};0:0`;
  }
}
