/**
 * The service of a task that masters and other tasks call: it registers and runs partitions of graphs, and hands
 * tensors over.
 */
import { toBinary } from "@bufbuild/protobuf";
import {
  AbortedError,
  CancelledError,
  InvalidArgumentError,
  UnimplementedError,
} from "../../engine/core/errors.ts";
import { DTYPES } from "../../engine/core/dtype.ts";
import { NdArray } from "../../engine/core/nd_array.ts";
import { GraphResources } from "../../tensorflow/graph/resources.ts";
import { RunContext, RunLimit } from "../../engine/runtime/run/run_context.ts";
import { graphDefOf } from "../../tensorflow/files/from_message.ts";
import type { NamedTensorProto } from "../../tensorflow/proto/cluster_pb.ts";
import { type GraphDef, GraphDefSchema } from "../../tensorflow/proto/graph_pb.ts";
import {
  type CreateWorkerSessionRequest,
  type RecvTensorRequest,
  type RegisterGraphRequest,
  type RunGraphRequest,
  WorkerService,
} from "../../tensorflow/proto/worker_pb.ts";
import { arrayOf, tensorParts } from "../wire/element_wire.ts";
import { field, numberField } from "../wire/fields.ts";
import { serviceOf } from "../wire/rpc.ts";
import { checkScriptHashes } from "../script_hashes.ts";
import { type Handler, type Parts, statusOf } from "../wire/transport.ts";
import { type ClusterSpec, taskOf, taskText, withinTask } from "./cluster_spec.ts";
import { checkOutside } from "../outside_ops.ts";
import { onDevices } from "./devices.ts";
import { PartitionRun } from "./partition_run.ts";
import { type CutPartition, cutPartition } from "./pieces.ts";
import { DrawsByName } from "./program.ts";
import { parseKey, Rendezvous, type Sent } from "./rendezvous.ts";
import type { TaskHost } from "./task_host.ts";

interface WorkerSession {
  readonly cluster: ClusterSpec | null;
  readonly resources: GraphResources;
  /** The master that opened the session; null for calls without a session. */
  readonly master: { readonly task: string; readonly incarnation: bigint } | null;
}

interface Registered {
  /** The graph as it came, for masters that ask for it. */
  readonly def: GraphDef;
  readonly cut: CutPartition;
  readonly draws: DrawsByName;
  readonly session: WorkerSession;
}

/** The runs of one step, and its exchange of tensors. */
interface Step {
  readonly rendezvous: Rendezvous;
  readonly running: Set<RunContext>;
}

/** Number of ended steps that are remembered, as they may still be asked for. */
const MOST_ENDED = 1000;

/** The worker's side of a task. */
export class Worker {
  /** Answers calls of `tensorflow.WorkerService`. */
  readonly handler: Handler;
  readonly #host: TaskHost;
  readonly #sessions = new Map<string, WorkerSession>();
  readonly #graphs = new Map<string, Registered>();
  readonly #steps = new Map<bigint, Step>();
  readonly #ended = new Set<bigint>();
  #count = 0;

  constructor(host: TaskHost) {
    this.#host = host;
    this.handler = serviceOf(WorkerService, {
      getStatus: () => ({ deviceAttributes: host.devices.list() }),
      createWorkerSession: (request) => {
        this.#open(request);
        return {};
      },
      deleteWorkerSession: ({ sessionHandle }) => {
        this.#forget(sessionHandle);
        return {};
      },
      registerGraph: async (request) => ({ graphHandle: await this.#register(request) }),
      deregisterGraph: ({ graphHandle }) => {
        this.#drop(graphHandle);
        return {};
      },
      runGraph: (request, { signal }) => this.#run(request, signal),
      cleanupGraph: ({ stepId }) => {
        this.#cleanUp(stepId);
        return {};
      },
      cleanupAll: ({ container }) => {
        host.resources.clear(container);
        return {};
      },
      recvTensor: (request, { signal }) => this.#give(request, signal),
      markRecvFinished: () => ({}),
      logging: ({ enableRpcLogging, fetchStepId }) => {
        if (!enableRpcLogging && fetchStepId.length === 0) return {};
        throw new UnimplementedError("Cannot log calls: this task keeps no logs of steps");
      },
      tracing: () => {
        throw new UnimplementedError("Cannot trace: use tf.profiler in the process of this task");
      },
      getStepSequence: () => {
        throw new UnimplementedError("Cannot number steps: this task runs no collectives");
      },
    });
  }

  /** Number of steps that masters run or callers wait for. */
  get steps(): number {
    return this.#steps.size;
  }

  /** Ends all runs and frees the registered graphs. */
  stop(): void {
    for (const id of [...this.#steps.keys()]) this.#cleanUp(id);
    for (const handle of [...this.#graphs.keys()]) this.#drop(handle);
  }

  #open(request: CreateWorkerSessionRequest): void {
    const { sessionHandle, serverDef, isolateSessionState, masterTask, masterIncarnation } =
      request;
    if (this.#sessions.has(sessionHandle)) return;
    // A restarted master does not come back for its earlier sessions.
    for (const [handle, { master }] of this.#sessions) {
      const isSame = masterTask !== "" && master?.task === masterTask;
      if (isSame && master?.incarnation !== masterIncarnation) this.#forget(handle);
    }
    const jobs = serverDef?.cluster?.job ?? [];
    this.#sessions.set(sessionHandle, {
      cluster: jobs.length === 0
        ? null
        : Object.fromEntries(jobs.map(({ name, tasks }) => [name, tasks])),
      resources: isolateSessionState ? new GraphResources() : this.#host.resources,
      master: { task: masterTask, incarnation: masterIncarnation },
    });
  }

  #session(handle: string): WorkerSession {
    if (handle === "") return { cluster: null, resources: this.#host.resources, master: null };
    const session = this.#sessions.get(handle);
    if (session !== undefined) return session;
    throw new AbortedError(
      `Session handle is not found: ${handle}. Possibly this worker ("${
        taskText(this.#host.task)
      }") just restarted.`,
    );
  }

  #forget(handle: string): void {
    const session = this.#sessions.get(handle);
    this.#sessions.delete(handle);
    for (const [name, graph] of this.#graphs) if (graph.session === session) this.#drop(name);
    if (session !== undefined && session.resources !== this.#host.resources) {
      session.resources.clear();
    }
  }

  async #register(request: RegisterGraphRequest): Promise<string> {
    const { graphDef, sessionHandle, createWorkerSessionCalled } = request;
    const session = this.#session(createWorkerSessionCalled ? sessionHandle : "");
    if (graphDef === undefined) {
      throw new InvalidArgumentError("Cannot register a graph: it has none");
    }
    const def = graphDefOf(graphDef);
    checkOutside(def, this.#host.allowOps);
    await checkScriptHashes(def, this.#host.scripts);
    // Masters of TensorFlow place nothing on a WEBGPU: nodes that they place on the processor may be meant for it.
    const placed = onDevices(def, (device) => this.#host.deviceFor(withinTask(device)));
    const cut = cutPartition(placed, { resources: session.resources, scripts: this.#host.scripts });
    const handle = `${(this.#count++).toString(16).padStart(16, "0")}`;
    this.#graphs.set(handle, { def: graphDef, cut, draws: new DrawsByName(), session });
    return handle;
  }

  #drop(handle: string): void {
    for (const { program } of this.#graphs.get(handle)?.cut.items ?? []) program?.release();
    this.#graphs.delete(handle);
  }

  /** Finds or creates a step. Another task may ask for a tensor before the master runs anything. */
  #step(id: bigint): Step {
    if (this.#ended.has(id)) throw new AbortedError(`Step ${id} was cleaned up`);
    let step = this.#steps.get(id);
    if (step === undefined) {
      this.#steps.set(id, step = { rendezvous: new Rendezvous(), running: new Set() });
    }
    return step;
  }

  #cleanUp(id: bigint): void {
    const step = this.#steps.get(id), error = new AbortedError(`Step ${id} was cleaned up`);
    this.#steps.delete(id);
    for (const context of step?.running ?? []) context.abort(error);
    step?.rendezvous.abort(error);
    this.#ended.add(id);
    if (this.#ended.size > MOST_ENDED) this.#ended.delete(this.#ended.values().next().value!);
  }

  async #run(request: RunGraphRequest, signal: AbortSignal): Promise<Parts> {
    try {
      return await this.#runGraph(request, signal);
    } catch (error) {
      if (!request.storeErrorsInResponseBody) throw error;
      const { code, message } = statusOf(error);
      return [...numberField(5, code), ...field(6, [new TextEncoder().encode(message)])];
    }
  }

  async #runGraph(request: RunGraphRequest, signal: AbortSignal): Promise<Parts> {
    const { graphHandle, stepId, send, recvKey, execOpts } = request;
    const graph = this.#graphs.get(graphHandle);
    if (graph === undefined) {
      throw new AbortedError(
        `Graph handle is not found: ${graphHandle}. Possibly, this worker just restarted.`,
      );
    }
    if (request.isPartial) {
      throw new UnimplementedError("Cannot run a part of a step: partial runs are not supported");
    }
    const { rendezvous, running } = this.#step(stepId);
    const context = new RunContext(null, RunLimit.of({ signal }));
    const cancel = (): void =>
      context.abort(new CancelledError(`Step ${stepId} was cancelled by its master`));
    signal.addEventListener("abort", cancel, { once: true });
    running.add(context);
    try {
      if (signal.aborted) cancel();
      for (const { name, tensor } of send) rendezvous.send(name, tensorOf(name, tensor));
      await new PartitionRun(graph.cut, {
        context,
        draws: graph.draws,
        send: (key, value) => rendezvous.send(key, value),
        receive: (key) => this.#take(key, { graph, stepId, rendezvous, signal: context.signal }),
      }).run();
      const parts: Uint8Array[] = [];
      for (const key of recvKey) {
        const value = await rendezvous.receive(key, context.signal);
        if (value === null) {
          throw new InvalidArgumentError(`The tensor returned for ${key} was not valid.`);
        }
        parts.push(...field(1, namedTensorParts(key, value)));
      }
      if (execOpts?.recordPartitionGraphs) {
        parts.push(...field(4, [toBinary(GraphDefSchema, graph.def)]));
      }
      return parts;
    } catch (error) {
      rendezvous.abort(error);
      throw error;
    } finally {
      running.delete(context);
      signal.removeEventListener("abort", cancel);
      // A master that is gone does not come back to clean up.
      if (signal.aborted) this.#cleanUp(stepId);
    }
  }

  /** A tensor for a `_Recv` of this task, from this one or another. */
  #take(
    key: string,
    { graph, stepId, rendezvous, signal }: {
      readonly graph: Registered;
      readonly stepId: bigint;
      readonly rendezvous: Rendezvous;
      readonly signal: AbortSignal;
    },
  ): Promise<Sent> | Sent {
    const { job, task } = this.#host.task, from = taskOf(parseKey(key).from, this.#host.task);
    if (from.job === job && from.task === task) return rendezvous.receive(key, signal);
    return this.#host.receive(from, { key, stepId, signal, cluster: graph.session.cluster });
  }

  /** Hands a tensor over to another task. */
  async #give(request: RecvTensorRequest, signal: AbortSignal): Promise<Parts> {
    const { from, incarnation } = parseKey(request.rendezvousKey);
    const own = this.#host.devices.list().find(({ name }) => name === from)?.incarnation;
    if (incarnation !== own) {
      throw new AbortedError(
        `RecvTensor expects a different device incarnation: ${incarnation} vs. ${own}. Your worker job ("${
          taskText(this.#host.task)
        }") was probably restarted. Check your worker job for the reason why it was restarted.`,
      );
    }
    const step = this.#step(request.stepId), { rendezvous, running } = step;
    let value: Sent;
    try {
      value = await rendezvous.receive(request.rendezvousKey, signal);
    } catch (error) {
      // A step that no master has run is forgotten with its last caller.
      const isOpen = running.size > 0 || !rendezvous.isUnused;
      if (!isOpen && this.#steps.get(request.stepId) === step) this.#steps.delete(request.stepId);
      throw error;
    }
    if (value === null) return [...field(1, tensorParts(NOTHING)), ...numberField(2, 1)];
    return field(1, sendableParts(request.rendezvousKey, value));
  }
}

const NOTHING = NdArray.zeros("float32", [0]);

function tensorOf(name: string, tensor: NamedTensorProto["tensor"]): NdArray {
  if (tensor !== undefined) return arrayOf(tensor);
  throw new InvalidArgumentError(`Cannot feed "${name}": it has no tensor`);
}

/** Encodes a tensor. Throws `UnimplementedError` for a handle, which is valid in its own task alone. */
function sendableParts(name: string, value: NdArray): Uint8Array[] {
  if (DTYPES[value.dtype].kind !== "handle") return tensorParts(value);
  throw new UnimplementedError(`Cannot send "${name}" to another task: it is a ${value.dtype}`);
}

/** Encodes a tensor as a `NamedTensorProto`. */
export function namedTensorParts(name: string, value: NdArray): Uint8Array[] {
  return [
    ...field(1, [new TextEncoder().encode(name)]),
    ...field(2, sendableParts(name, value)),
  ];
}
