/**
 * A step that several tasks run together: each has its part of the graph; this task, their master, starts them and
 * cleans up.
 */
import { asDType, type DType } from "../../engine/core/dtype.ts";
import { AbortedError, NotFoundError, UnavailableError } from "../../engine/core/errors.ts";
import type { NdArray } from "../../engine/core/nd_array.ts";
import { Graph } from "../../engine/graph/graph.ts";
import type { GraphDefJson } from "../../engine/graph/graph_def_json.ts";
import { tensorToJson, text } from "../../tensorflow/graph_def/values.ts";
import { raiseVersion1 } from "../../tensorflow/graph_def/version_1.ts";
import { placeholder } from "../../engine/ops/graph_ops.ts";
import { importTensors } from "../../tensorflow/graph/import_graph_def.ts";
import { isScriptOp } from "../../tensorflow/graph/missing.ts";
import type { RunContext } from "../../engine/runtime/run/run_context.ts";
import { WorkerService } from "../../tensorflow/proto/worker_pb.ts";
import { graphDefMessage, tensorMessage } from "../../tensorflow/files/to_message.ts";
import { arrayOf } from "../wire/element_wire.ts";
import { call } from "../wire/rpc.ts";
import { type Channel, errorOf } from "../wire/transport.ts";
import { cutForTasks, type GraphPart, placeNodes, type TaskDevice } from "./graph_parts.ts";
import type { ProgramInput } from "./program.ts";
import type { TaskHost } from "./task_host.ts";

const { method } = WorkerService;

interface Part extends GraphPart {
  readonly task: string;
  readonly channel: Channel;
  readonly graphHandle: string;
}

/** Contents of a step: the graph, its inputs and its results. */
export interface ClusterProgramParts {
  readonly def: GraphDefJson;
  readonly inputs: readonly ProgramInput[];
  /** Names of tensors, as `node:0`. */
  readonly fetches: readonly string[];
}

export class ClusterProgram {
  /** True where a task has gone, or has restarted without its part. */
  isLost = false;
  readonly dtypes: readonly DType[];
  readonly #fed: readonly string[];
  readonly #fetches: readonly string[];
  readonly #parts: readonly Part[];

  private constructor(
    { inputs, fetches }: ClusterProgramParts,
    parts: readonly Part[],
    dtypes: readonly DType[],
  ) {
    this.#fed = inputs.map((i) => i.name);
    this.#fetches = fetches;
    this.#parts = parts;
    this.dtypes = dtypes;
  }

  /** Cuts the graph and registers its parts. Rejects with `UnavailableError` where a task does not answer. */
  static async make(host: TaskHost, given: ClusterProgramParts): Promise<ClusterProgram> {
    const def = raiseVersion1(given.def), tasks = placeNodes(def, host.task);
    const dtypeOf = dtypesOf(def, given.inputs);
    const devices = new Map<string, TaskDevice>(), channels = new Map<string, Channel>();
    for (const task of new Set(tasks.values())) {
      const channel = host.taskChannel(task);
      const { deviceAttributes } = await call(channel, method.getStatus, {});
      const cpu = deviceAttributes.find((d) => d.deviceType === "CPU");
      if (cpu === undefined) throw new UnavailableError(`${task} has no processor`);
      devices.set(task, cpu);
      channels.set(task, channel);
    }
    const feeds = given.inputs.map((i) => i.name);
    const cut = cutForTasks({ def, feeds, fetches: given.fetches, tasks, devices, dtypeOf });
    const parts: Part[] = [];
    for (const [task, part] of cut) {
      const channel = channels.get(task)!;
      const { graphHandle } = await call(channel, method.registerGraph, {
        graphDef: graphDefMessage(part.def),
      });
      parts.push({ ...part, task, channel, graphHandle });
    }
    return new ClusterProgram(given, parts, given.fetches.map(dtypeOf));
  }

  /** Runs all parts. Rejects with the first error, which names its task. */
  async run(values: readonly NdArray[], context: RunContext): Promise<NdArray[]> {
    const stepId = crypto.getRandomValues(new BigUint64Array(1))[0] >> 9n;
    const stop = new AbortController(), out: NdArray[] = [];
    context.onAbort((reason) => stop.abort(reason));
    const running = this.#parts.map((part) => this.#runPart(part, values, { stepId, stop, out }));
    try {
      await Promise.all(running);
    } catch (error) {
      this.isLost = error instanceof AbortedError || error instanceof UnavailableError;
      throw context.aborted ? context.reason : error;
    } finally {
      stop.abort();
      await Promise.allSettled(running);
      await Promise.allSettled(
        this.#parts.map(({ channel }) => call(channel, method.cleanupGraph, { stepId })),
      );
    }
    this.#fetches.forEach((name, i) => out[i] ??= values[this.#fed.indexOf(name)]);
    return out;
  }

  async #runPart(
    { channel, graphHandle, feeds, fetches, task }: Part,
    values: readonly NdArray[],
    { stepId, stop, out }: {
      readonly stepId: bigint;
      readonly stop: AbortController;
      readonly out: NdArray[];
    },
  ): Promise<void> {
    const { recv, statusCode, statusErrorMessage } = await call(channel, method.runGraph, {
      graphHandle,
      stepId,
      send: [...feeds].map(([i, name]) => ({
        name,
        tensor: tensorMessage(tensorToJson(values[i])),
      })),
      recvKey: [...fetches.values()],
      storeErrorsInResponseBody: true,
      requestId: crypto.getRandomValues(new BigInt64Array(1))[0],
    }, { signal: stop.signal });
    if (statusCode !== 0) throw errorOf(statusCode, `From ${task}:\n${statusErrorMessage}`);
    const byKey = new Map(recv.map(({ name, tensor }) => [name, tensor]));
    for (const [i, key] of fetches) {
      const tensor = byKey.get(key);
      if (tensor === undefined) throw new NotFoundError(`${task} did not give ${key}`);
      out[i] = arrayOf(tensor);
    }
  }

  /** Deregisters the parts at their tasks. */
  release(): void {
    for (const { channel, graphHandle } of this.#parts) {
      call(channel, method.deregisterGraph, { graphHandle }).catch(() => {});
    }
  }
}

/** Returns the dtypes of tensors by Weft's names; scripts of other tasks need not exist here. */
function dtypesOf(
  def: GraphDefJson,
  inputs: readonly ProgramInput[],
): (tensor: string) => DType {
  const nodes = [def.node, ...(def.library?.function ?? []).map((f) => f.nodeDef)].flat();
  const tokens = nodes.filter((n) => isScriptOp(n.op)).map((n) => text(n.attr?.token?.s ?? ""));
  const fed = new Map(inputs.map(({ name, dtype }) => [name, asDType(dtype)]));
  const tensor = new Graph().asDefault(() =>
    importTensors(def, {
      prefix: "",
      inputMap: Object.fromEntries(
        inputs.map(({ name, dtype }) => [name, placeholder(asDType(dtype), null, "fed")]),
      ),
      scripts: Object.fromEntries(tokens.map((token) => [token, () => null])),
    })
  );
  return (name) => fed.get(name) ?? tensor(name).dtype;
}
