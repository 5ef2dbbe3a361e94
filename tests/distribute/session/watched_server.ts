/** A server of Weft's with a proxy before it, which notes the calls and makes them fail. */
import { fromBinary } from "@bufbuild/protobuf";
import { MemoryTransport, Server, type ServerOptions, type Transport } from "@weft/weft/distribute";
import {
  CreateSessionRequestSchema,
  ExtendSessionRequestSchema,
} from "../../../src/tensorflow/proto/master_pb.ts";
import type { GraphDef } from "../../../src/tensorflow/proto/graph_pb.ts";

/** A local server and what it has been asked. */
export class WatchedServer implements AsyncDisposable {
  /** The network on which it is watched. */
  readonly transport: Transport;
  /** Names of the calls so far. */
  readonly calls: string[] = [];
  /** Graphs that were sent. */
  readonly graphs: GraphDef[] = [];
  /** Called before each call. */
  before: (call: string, signal?: AbortSignal) => void | Promise<void> = () => {};
  #server: Server;
  readonly #network: MemoryTransport;
  readonly #options: ServerOptions;

  private constructor(server: Server, network: MemoryTransport, options: ServerOptions) {
    this.#server = server;
    this.#network = network;
    this.#options = options;
    this.transport = {
      listen: (...args) => network.listen(...args),
      connect: (target, options) => {
        const channel = network.connect(target, options);
        return {
          close: () => channel.close(),
          call: async (path, request, options) => {
            const name = path.split("/").at(-1)!;
            this.calls.push(name);
            if (name === "CreateSession") {
              this.graphs.push(fromBinary(CreateSessionRequestSchema, request).graphDef!);
            } else if (name === "ExtendSession") {
              this.graphs.push(fromBinary(ExtendSessionRequestSchema, request).graphDef!);
            }
            await this.before(name, options?.signal);
            return await channel.call(path, request, options);
          },
        };
      },
    };
  }

  /** A started one. */
  static async start(options: ServerOptions = {}): Promise<WatchedServer> {
    const network = new MemoryTransport(), given = { ...options, transport: network };
    return new WatchedServer(await Server.createLocal(given), network, given);
  }

  /** Where it is. */
  get target(): string {
    return this.#server.target;
  }

  /** Number of steps. */
  get steps(): number {
    return this.calls.filter((c) => c === "RunStep").length;
  }

  /** Loses all that it has. */
  async restart(): Promise<void> {
    const { target } = this;
    await this.#server.stop();
    const server = new Server({
      ...this.#options,
      cluster: { localhost: [target.replace("grpc://", "")] },
      host: "localhost",
    });
    await server.start();
    this.#server = server;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#server.stop();
  }
}
