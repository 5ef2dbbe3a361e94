/**
 * The smallest master that clients can be tested with: it runs what it gets in sessions of its own, and fails where it is told to.
 */
import * as tf from "@weft/weft";
import { MemoryTransport } from "@weft/weft/distribute";
import { graphDefOf } from "../../src/tf/from_message.ts";
import { MasterService } from "../../src/tf/proto/master_pb.ts";
import type { GraphDef } from "../../src/tf/proto/graph_pb.ts";
import { serviceOf } from "../../src/distribute/rpc.ts";
import { arrayOf } from "../../src/distribute/element_wire.ts";
import { tensorMessage } from "../../src/tf/to_message.ts";
import { attrToJson } from "../../src/graph/graph_def/values.ts";

const VALUE = { name: "value", type: "tensor" };

interface Held {
  readonly graph: tf.Graph;
  readonly session: tf.Session;
  version: number;
}

/** A master and what it has seen. */
export class SmallMaster {
  /** The network that it is on. */
  readonly transport: MemoryTransport = new MemoryTransport();
  /** Names of the calls so far. */
  readonly calls: string[] = [];
  /** Graphs that arrived. */
  readonly graphs: GraphDef[] = [];
  /** Called before each call is answered. */
  before: (call: string) => void | Promise<void> = () => {};
  readonly #sessions = new Map<string, Held>();
  #number = 0;

  /** Where it is. */
  readonly target = "master:1";

  /** Begins to answer. */
  async start(secret?: string): Promise<this> {
    const seen = async (name: string): Promise<void> => {
      this.calls.push(name);
      await this.before(name);
    };
    const handler = serviceOf(MasterService, {
      createSession: async ({ graphDef }) => {
        await seen("CreateSession");
        const graph = new tf.Graph(), sessionHandle = `s${this.#number++}`;
        this.#extend(graph, graphDef);
        this.#sessions.set(sessionHandle, {
          graph,
          session: new tf.Session({ graph }),
          version: 1,
        });
        return { sessionHandle, graphVersion: 1n };
      },
      extendSession: async ({ sessionHandle, graphDef, currentGraphVersion }) => {
        await seen("ExtendSession");
        const held = this.#held(sessionHandle);
        if (currentGraphVersion !== BigInt(held.version)) {
          throw new tf.errors.AbortedError(`Current version is ${held.version}`);
        }
        this.#extend(held.graph, graphDef);
        return { newGraphVersion: BigInt(++held.version) };
      },
      runStep: async ({ sessionHandle, feed, fetch, target }, { signal }) => {
        await seen("RunStep");
        const { session } = this.#held(sessionHandle);
        const feeds = Object.fromEntries(feed.map((f) => [f.name, arrayOf(f.tensor!)]));
        try {
          const [given] = await session.run([fetch, target], { feeds, signal }) as [
            unknown[],
            unknown,
          ];
          const tensor = fetch.map((name, i) => {
            const { dtype } = session.graph.getTensorByName(name), value = given[i];
            const array = value instanceof tf.NdArray
              ? value
              : tf.constant(value as number, dtype).ndarraySync();
            return { name, tensor: tensorMessage(attrToJson(VALUE as never, array).tensor!) };
          });
          return { tensor };
        } catch (e) {
          if (!(e instanceof tf.errors.OpError)) throw e;
          return { statusCode: e.code, statusErrorMessage: e.message };
        }
      },
      listDevices: async () => {
        await seen("ListDevices");
        return {
          localDevice: [{ name: "/job:small/replica:0/task:0/device:CPU:0", deviceType: "CPU" }],
        };
      },
      closeSession: async ({ sessionHandle }) => {
        await seen("CloseSession");
        await this.#held(sessionHandle).session.close();
        this.#sessions.delete(sessionHandle);
        return {};
      },
    });
    await this.transport.listen(
      { host: "master", port: 1 },
      handler,
      secret === undefined ? {} : { secret },
    );
    return this;
  }

  /** Forgets its sessions, as one does that has restarted. */
  forget(): void {
    this.#sessions.clear();
  }

  /** Sessions that are open. */
  get open(): number {
    return this.#sessions.size;
  }

  #held(handle: string): Held {
    const held = this.#sessions.get(handle);
    if (held) return held;
    throw new tf.errors.AbortedError(`Session ${handle} is not found.`);
  }

  #extend(graph: tf.Graph, message: GraphDef | undefined): void {
    if (message === undefined) return;
    this.graphs.push(message);
    const def = graphDefOf(message);
    const own = new Set(def.node.map((n) => n.name));
    const inputMap: Record<string, tf.Tensor> = {};
    for (const text of def.node.flatMap((n) => n.input ?? [])) {
      const [name, index = "0"] = text.replace(/^\^/, "").split(":");
      if (own.has(name)) continue;
      if (text.startsWith("^")) {
        throw new tf.errors.UnimplementedError(`A control edge from ${name}`);
      }
      inputMap[`${name}:${index}`] = graph.getTensorByName(`${name}:${index}`);
    }
    graph.asDefault(() => tf.importGraphDef(def, { prefix: "", inputMap }));
  }
}
