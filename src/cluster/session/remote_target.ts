/** Sessions that run on a cluster: the meaning of `target: "grpc://…"`. */
import { wantObject } from "../../engine/core/arguments.ts";
import type { Graph } from "../../engine/graph/graph.ts";
import type { IrGraph, IrRequest } from "../../engine/graph/ir.ts";
import {
  makeTarget,
  type RemoteRuns,
  type SessionDevice,
  type SessionTarget,
  sessionTargets,
} from "../../engine/runtime/run/targets.ts";
import { grpcTransport } from "../wire/grpc_transport.ts";
import { ScriptOffers } from "../../engine/script/offered.ts";
import { MasterClient } from "./master_client.ts";
import { cut } from "./remote_cut.ts";
import { RemoteGraph } from "./remote_graph.ts";
import type { Channel, Transport, TransportOptions } from "../wire/transport.ts";

/** Options of {@linkcode remoteTarget}. */
export interface RemoteTargetOptions extends TransportOptions {
  /** The network. Default gRPC. */
  readonly transport?: Transport;
}

/**
 * A target of sessions: a task of a cluster of TensorFlow's servers or ours, for `new tf.Session({ graph, target })`.
 * A text `"grpc://host:port"` there means the same without options, and `"grpcs://host:port"` TLS with a server whose
 * certificate an authority of the platform signed.
 *
 * TensorFlow's ops run there, variables included; functions of this program run here, between steps: their arguments come home in one
 * step, their results go there with the next. A script whose node asks for a task (`tf.device("/job:script/task:0", …)`)
 * runs at that task, which must know its name where it is another process. Follows TensorFlow `tf.compat.v1.Session(target)`.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * import { remoteTarget } from "@weft/weft/distribute";
 * const graph = new tf.Graph();
 * const y = graph.asDefault(() => tf.add(tf.placeholder("float32", [], "x"), 1));
 * const target = remoteTarget("grpc://127.0.0.1:2222", { secret: "ours" });
 * await using session = new tf.Session({ graph, target });
 * console.log(target.address); // grpc://127.0.0.1:2222
 * // await session.run(y, { feeds: { "x:0": 1 } }) is 2 where such a server runs.
 * ```
 */
export function remoteTarget(
  address: string,
  options: RemoteTargetOptions = {},
): SessionTarget {
  wantObject(options, "options", "remoteTarget");
  const { transport = grpcTransport, ...further } = options;
  return makeTarget(address, (graph, { allowSoftPlacement }) =>
    new RemoteSession(graph, {
      channel: transport.connect(address, further),
      allowSoftPlacement,
    }));
}

sessionTargets.provide((target) => /^grpcs?:\/\//.test(target) ? remoteTarget(target) : null);

interface RemoteSessionOptions {
  readonly channel: Channel;
  readonly allowSoftPlacement: boolean;
}

class RemoteSession implements RemoteRuns {
  readonly #graph: Graph;
  readonly #options: RemoteSessionOptions;
  readonly #offers = new ScriptOffers();
  #generation = 0;
  #sent: RemoteGraph;
  /** Sessions at the master, the current graph's last; running plans may use earlier ones. */
  readonly #sessions: MasterClient[] = [];

  constructor(graph: Graph, options: RemoteSessionOptions) {
    this.#graph = graph;
    this.#options = options;
    this.#sent = this.#begin();
  }

  get generation(): number {
    if (!this.#sent.update()) {
      this.#generation++;
      this.#sent = this.#begin();
      this.#sent.update();
    }
    return this.#generation;
  }

  cut(request: IrRequest): IrGraph {
    const session = this.#sessions.at(-1)!;
    return cut(request, this.#sent, (...step) => session.run(...step));
  }

  async listDevices(): Promise<SessionDevice[]> {
    return await this.#sessions.at(-1)!.listDevices();
  }

  async close(): Promise<void> {
    this.#offers.withdraw();
    await Promise.all(this.#sessions.map((s) => s.close()));
    this.#options.channel.close();
  }

  #begin(): RemoteGraph {
    const { channel, allowSoftPlacement } = this.#options;
    const graph = this.#graph, sent = new RemoteGraph(graph, this.#offers);
    this.#sessions.push(new MasterClient(channel, { graph, sent, allowSoftPlacement }));
    return sent;
  }
}
