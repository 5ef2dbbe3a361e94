/** The service of a task that clients call: sessions, whose graphs run here. */
import { create } from "@bufbuild/protobuf";
import {
  AbortedError,
  InvalidArgumentError,
  UnimplementedError,
} from "../../engine/core/errors.ts";
import type { NdArray } from "../../engine/core/nd_array.ts";
import { askedFromElsewhere } from "../../engine/runtime/run/timers.ts";
import { graphDefOf } from "../../tensorflow/files/from_message.ts";
import type { ConfigProto, DeviceAttributes } from "../../tensorflow/proto/cluster_pb.ts";
import { GraphDefSchema } from "../../tensorflow/proto/graph_pb.ts";
import { MasterService, type RunStepRequest } from "../../tensorflow/proto/master_pb.ts";
import type { TensorProto } from "../../tensorflow/proto/tensor_pb.ts";
import { WorkerService } from "../../tensorflow/proto/worker_pb.ts";
import { arrayOf, tensorParts } from "../wire/element_wire.ts";
import { field, numberField } from "../wire/fields.ts";
import { call, serviceOf } from "../wire/rpc.ts";
import { type Channel, type Handler, type Parts, statusOf } from "../wire/transport.ts";
import { MasterSession, type SessionConfig, type StepNames } from "./master_session.ts";
import type { TaskHost } from "./task_host.ts";
import { namedTensorParts } from "./worker_service.ts";

/** The master's side of a task. */
export class Master {
  /** Answers calls of `tensorflow.MasterService`. */
  readonly handler: Handler;
  readonly #sessions = new Map<string, MasterSession>();
  /** Steps that run now. */
  #steps = 0;
  #callables = 0n;

  constructor(host: TaskHost) {
    const session = (handle: string): MasterSession => this.#session(handle);
    this.handler = serviceOf(MasterService, {
      createSession: ({ graphDef, config }) => {
        const def = graphDefOf(graphDef ?? create(GraphDefSchema));
        const sessionHandle = crypto.randomUUID().replaceAll("-", "").slice(0, 16);
        const made = new MasterSession(host, def, configOf(config));
        this.#sessions.set(sessionHandle, made);
        return { sessionHandle, graphVersion: made.version };
      },
      extendSession: ({ sessionHandle, graphDef, currentGraphVersion }) => {
        const extended = session(sessionHandle);
        if (graphDef !== undefined) extended.extend(graphDefOf(graphDef), currentGraphVersion);
        return { newGraphVersion: extended.version };
      },
      partialRunSetup: () => {
        throw new UnimplementedError(
          "Cannot set up a partial run: TensorFlow has deprecated it, fetch what is needed in steps of their own",
        );
      },
      runStep: (request, { signal }) => this.#runStep(request, signal),
      closeSession: ({ sessionHandle }) => {
        session(sessionHandle).close();
        this.#sessions.delete(sessionHandle);
        return {};
      },
      listDevices: async ({ sessionHandle }) => {
        session(sessionHandle);
        const others = await Promise.all(host.others().map(devicesOf));
        return { localDevice: host.devices.list(), remoteDevice: others.flat() };
      },
      reset: ({ container }) => {
        this.stop();
        host.resources.clear(container);
        return {};
      },
      makeCallable: ({ sessionHandle, options }) => {
        if (options === undefined || options.tensorConnection.length > 0) {
          throw new UnimplementedError("Cannot make a callable with tensor connections");
        }
        const { feed: feeds, fetch: fetches, target: targets } = options;
        const handle = ++this.#callables;
        session(sessionHandle).callables.set(handle, { feeds, fetches, targets });
        return { handle };
      },
      runCallable: async ({ sessionHandle, handle, feed }, { signal }) => {
        const owner = session(sessionHandle), names = callableOf(owner, handle);
        const values = await owner.run(names, feed.map(arrayOf), { signal, timeoutMs: 0 });
        return values.flatMap((v) => field(1, tensorParts(v)));
      },
      releaseCallable: ({ sessionHandle, handle }) => {
        const owner = session(sessionHandle);
        callableOf(owner, handle);
        owner.callables.delete(handle);
        return {};
      },
    });
  }

  /** Closes all sessions. */
  stop(): void {
    for (const session of this.#sessions.values()) session.close();
    this.#sessions.clear();
  }

  #session(handle: string): MasterSession {
    const session = this.#sessions.get(handle);
    if (session !== undefined) return session;
    throw new AbortedError(`Session ${handle} is not found.`);
  }

  async #runStep(request: RunStepRequest, signal: AbortSignal): Promise<Parts> {
    const { sessionHandle, feed, fetch: fetches, target: targets, options } = request;
    const session = this.#session(sessionHandle);
    if (request.partialRunHandle !== "") {
      throw new UnimplementedError("Cannot run a part of a step: partial runs are not supported");
    }
    if (this.#steps++ > 0) askedFromElsewhere();
    try {
      const feeds = feed.map((f) => f.name);
      const given = feed.map(({ name, tensor }) => fedTensor(name, tensor));
      const timeoutMs = Math.max(0, Number(options?.timeoutInMs ?? 0));
      const values = await session.run({ feeds, fetches, targets }, given, { signal, timeoutMs });
      return fetches.flatMap((name, i) => field(1, namedTensorParts(name, values[i])));
    } catch (error) {
      if (!request.storeErrorsInResponseBody) throw error;
      const { code, message } = statusOf(error);
      return [...numberField(3, code), ...field(4, [new TextEncoder().encode(message)])];
    } finally {
      this.#steps--;
    }
  }
}

/** Devices of another task; none where it does not answer. */
async function devicesOf(channel: Channel): Promise<DeviceAttributes[]> {
  try {
    const { method } = WorkerService, timeoutMs = LISTING_MS;
    return (await call(channel, method.getStatus, {}, { timeoutMs })).deviceAttributes;
  } catch {
    return [];
  }
}

/** Time that other tasks have to report their devices. */
const LISTING_MS = 1000;

function callableOf(session: MasterSession, handle: bigint): StepNames {
  const names = session.callables.get(handle);
  if (names !== undefined) return names;
  throw new InvalidArgumentError(`Attempted to run callable after handle was released: ${handle}`);
}

function fedTensor(name: string, tensor: TensorProto | undefined): NdArray {
  if (tensor !== undefined) return arrayOf(tensor);
  throw new InvalidArgumentError(`Cannot feed "${name}": it has no tensor`);
}

function configOf(config: ConfigProto | undefined): SessionConfig {
  return {
    isolated: config?.isolateSessionState ?? false,
    softPlacement: config?.allowSoftPlacement ?? false,
    timeoutMs: Math.max(0, Number(config?.operationTimeoutInMs ?? 0)),
  };
}
