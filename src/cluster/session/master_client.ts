/** A session of a master, TensorFlow's or ours: the graph there grows as the one here does. */
import { create, fromBinary, toBinary } from "@bufbuild/protobuf";
import {
  AbortedError,
  CancelledError,
  type ErrorDetails,
  OpError,
  UnavailableError,
} from "../../engine/core/errors.ts";
import type { NdArray } from "../../engine/core/nd_array.ts";
import type { NodeDefJson } from "../../engine/graph/graph_def_json.ts";
import { PRODUCER } from "../../tensorflow/graph_def/graph_def.ts";
import type { Graph } from "../../engine/graph/graph.ts";
import { placeText } from "../../engine/runtime/run/run_errors.ts";
import type { SessionDevice } from "../../engine/runtime/run/targets.ts";
import {
  MasterService,
  RunStepRequestSchema,
  RunStepResponseSchema,
} from "../../tensorflow/proto/master_pb.ts";
import { graphDefMessage } from "../../tensorflow/files/to_message.ts";
import { arrayOf, tensorParts } from "../wire/element_wire.ts";
import { field } from "../wire/fields.ts";
import type { RemoteStep } from "./remote_cut.ts";
import type { RemoteGraph } from "./remote_graph.ts";
import { call } from "../wire/rpc.ts";
import { joinParts } from "../wire/fields.ts";
import { type Channel, errorOf, type Parts } from "../wire/transport.ts";

const RUN_STEP = "/tensorflow.MasterService/RunStep";
/** Time that a master has to confirm the end of a session. */
const CLOSE_MS = 2000;

export interface MasterSessionOptions {
  /** The graph, which places errors. */
  readonly graph: Graph;
  /** The nodes that are sent. */
  readonly sent: RemoteGraph;
  /** True: an op may run on another device than it asks for. */
  readonly allowSoftPlacement: boolean;
}

/** A session as the master knows it. */
interface Opened {
  readonly handle: string;
  readonly version: bigint;
  readonly functions: Set<string>;
}

/** Reusable parts of a step's requests: the encoded beginning, and the fields of the names of fed tensors. */
interface StepHead {
  readonly sessionHandle: string;
  readonly bytes: Uint8Array;
  readonly names: readonly Parts[];
}

/** A session at a master, opened when it is first needed, and anew where the master has lost it. */
export class MasterClient {
  readonly #channel: Channel;
  readonly #options: MasterSessionOptions;
  readonly #ended = new AbortController();
  readonly #heads = new WeakMap<RemoteStep, StepHead>();
  #opened: Promise<Opened> | null = null;
  /** Number of the graph's nodes that the session has. */
  #nodes = 0;

  /** Creates a session on a channel, which stays the caller's. */
  constructor(channel: Channel, options: MasterSessionOptions) {
    this.#channel = channel;
    this.#options = options;
  }

  /** Runs a step. Rejects with the error of the node that failed there. */
  async run(step: RemoteStep, values: readonly NdArray[], signal: AbortSignal): Promise<NdArray[]> {
    const opened = this.#ready(), { handle } = await opened;
    signal.throwIfAborted();
    const { bytes: head, names } = this.#headOf(step, handle);
    const feeds = names.flatMap((name, i) =>
      field(2, [...name, ...field(2, tensorParts(values[i]))])
    );
    try {
      const bytes = await this.#channel.call(RUN_STEP, joinParts([head, ...feeds]), { signal });
      const { statusCode, statusErrorMessage, tensor } = fromBinary(RunStepResponseSchema, bytes);
      if (statusCode !== 0) throw errorOf(statusCode, statusErrorMessage);
      const found = new Map(tensor.map((t) => [t.name, t.tensor]));
      return step.fetches.map((name) => {
        const message = found.get(name);
        if (message === undefined) {
          throw new UnavailableError(`Cannot run a step: the answer has no "${name}"`);
        }
        return arrayOf(message);
      });
    } catch (e) {
      this.#forgetLost(e, opened);
      throw this.#located(e);
    }
  }

  /** The devices of the cluster. */
  async listDevices(): Promise<SessionDevice[]> {
    const { handle } = await this.#ready();
    const { localDevice, remoteDevice } = await call(
      this.#channel,
      MasterService.method.listDevices,
      { sessionHandle: handle },
    );
    return [...localDevice, ...remoteDevice].map(({ name, deviceType }) => ({
      name,
      type: deviceType,
    }));
  }

  /** Closes the session at the master, if that can be reached. */
  async close(): Promise<void> {
    this.#ended.abort(new CancelledError("Session has been closed."));
    const opened = await this.#opened?.catch(() => null);
    if (!opened) return;
    const request = { sessionHandle: opened.handle };
    await call(this.#channel, MasterService.method.closeSession, request, { timeoutMs: CLOSE_MS })
      .catch(() => {});
  }

  /** Returns the reusable beginning of a step's requests. */
  #headOf(step: RemoteStep, sessionHandle: string): StepHead {
    const known = this.#heads.get(step);
    if (known?.sessionHandle === sessionHandle) return known;
    const bytes = toBinary(
      RunStepRequestSchema,
      create(RunStepRequestSchema, {
        sessionHandle,
        fetch: [...step.fetches],
        target: [...step.targets],
        storeErrorsInResponseBody: true,
      }),
    );
    const names = step.feeds.map((name) => field(1, [new TextEncoder().encode(name)]));
    const head = { sessionHandle, bytes, names };
    this.#heads.set(step, head);
    return head;
  }

  /**
   * Returns the session with the whole graph. All runs share one promise, so that the end of a run cannot cancel it.
   */
  #ready(): Promise<Opened> {
    const { nodes } = this.#options.sent, before = this.#opened;
    if (before !== null && this.#nodes === nodes.length) return before;
    const added = nodes.slice(before === null ? 0 : this.#nodes);
    const next = before === null
      ? this.#create(added)
      : before.then((opened) => this.#extend(opened, added));
    this.#opened = next;
    this.#nodes = nodes.length;
    next.catch(() => this.#forget(next));
    return next;
  }

  #forget(opened: Promise<Opened>): void {
    if (this.#opened === opened) this.#opened = null;
  }

  async #create(nodes: NodeDefJson[]): Promise<Opened> {
    const functions = new Set<string>();
    const { sessionHandle, graphVersion } = await call(
      this.#channel,
      MasterService.method.createSession,
      {
        graphDef: this.#graphDef(nodes, functions),
        // A function's body may ask for any device of the cluster.
        config: {
          allowSoftPlacement: this.#options.allowSoftPlacement,
          shareClusterDevicesInSession: true,
        },
      },
      { signal: this.#ended.signal },
    );
    return { handle: sessionHandle, version: graphVersion, functions };
  }

  async #extend(opened: Opened, nodes: NodeDefJson[]): Promise<Opened> {
    const { newGraphVersion } = await call(
      this.#channel,
      MasterService.method.extendSession,
      {
        sessionHandle: opened.handle,
        graphDef: this.#graphDef(nodes, opened.functions),
        currentGraphVersion: opened.version,
      },
      { signal: this.#ended.signal },
    );
    return { ...opened, version: newGraphVersion };
  }

  #graphDef(nodes: NodeDefJson[], known: Set<string>): ReturnType<typeof graphDefMessage> {
    const functions = this.#options.sent.functionsOf(nodes)
      .filter(({ signature: { name } }) => !known.has(name));
    for (const { signature: { name } } of functions) known.add(name);
    return graphDefMessage({
      node: nodes,
      versions: { producer: PRODUCER },
      library: { function: functions },
    });
  }

  /** Forgets the session where the master has restarted or cannot be reached: the next run opens another. */
  #forgetLost(e: unknown, opened: Promise<Opened>): void {
    const isLost = e instanceof AbortedError || e instanceof UnavailableError;
    if (isLost) this.#forget(opened);
  }

  /** Adds to an error the place here that made the node which it names. */
  #located(e: unknown): unknown {
    if (!(e instanceof OpError)) return e;
    const name = /\{\{node ([^}]+)\}\}/.exec(e.message)?.[1];
    const op = name === undefined ? undefined : this.#options.graph.findOperation(name);
    const site = op === undefined
      ? ""
      : placeText(op.name, op.definitionSite).replace(/^[^\n]*\n[^\n]*/, "");
    const Class = e.constructor as new (message: string, details: ErrorDetails) => OpError;
    return new Class(e.message + site, { op: op?.type, node: name ?? "" });
  }
}
