/** gRPC's unary calls over HTTP/2, the transport of TensorFlow's services. */
import { type AddressInfo, connect, createServer, isIP, type Server, type Socket } from "node:net";
import { connect as connectTls, createServer as createTlsServer } from "node:tls";
import { Error } from "../../engine/core/throwing/builtin_errors.ts";
import {
  DeadlineExceededError,
  UnauthenticatedError,
  UnavailableError,
  ValueError,
} from "../../engine/core/errors.ts";
import { after, deferred } from "../../engine/runtime/run/timers.ts";
import type { Headers } from "./hpack.ts";
import { decodeStatus, encodeStatus, headOf, Message } from "./grpc_message.ts";
import { Http2Connection, LOST } from "./http2.ts";
import type { ByteBudget } from "../../library/io/bytes.ts";
import { heldBytes } from "./http2_limits.ts";
import { OpenConnections } from "./open_connections.ts";
import { InputTurns } from "./sliced_input.ts";
import type { Http2Stream, StreamEvents } from "./http2_stream.ts";
import {
  type CallOptions,
  type Channel,
  checkSecret,
  errorOf,
  type Handler,
  type Listener,
  MAX_MESSAGE_BYTES,
  networkOf,
  sameSecret,
  SECRET_HEADER,
  statusOf,
  targetOf,
  type TlsOptions,
  type Transport,
  type TransportOptions,
} from "./transport.ts";

/** HTTP/2 error code of a stream that ends without an error. */
const NO_ERROR = 0;
/** Name of the protocol in TLS. */
const ALPN = ["h2"];

/** The gRPC transport. */
export const grpcTransport: Transport = {
  listen,
  connect: (target, o) => new GrpcChannel(target, o),
};

function listen(
  { host, port }: { readonly host: string; readonly port: number },
  handler: Handler,
  options: TransportOptions = {},
): Promise<Listener> {
  checkSecret(options);
  const connections = new OpenConnections<Http2Connection>(MOST_CONNECTIONS),
    held = messageBytes(options);
  const turns = new InputTurns();
  const accept = (stream: Http2Stream): StreamEvents =>
    new Answering(stream, handler, options, held);
  const server = serverOf(options.tls, (socket) => {
    const connection: Http2Connection = new Http2Connection(socket, {
      accept,
      turns,
      gone: (_, isLost) => isLost && connections.delete(connection),
    });
    connections.add(connection);
  });
  // Those beyond are in a handshake, and have seconds for it.
  server.maxConnections = 2 * MOST_CONNECTIONS;
  // Sockets that never finish the TLS handshake are closed too.
  const sockets = new Set<Socket>();
  server.on("connection", (socket: Socket) => {
    sockets.add(socket);
    socket.on("close", () => sockets.delete(socket));
  });
  const close = async ({ graceMs = 0 }: { readonly graceMs?: number } = {}): Promise<void> => {
    const closed = new Promise<void>((resolve) => server.close(() => resolve()));
    for (const connection of connections) connection.goAway();
    const end = Date.now() + graceMs;
    while ([...connections].some((c) => c.open > 0) && Date.now() < end) {
      await new Promise((resolve) => setTimeout(resolve, GRACE_STEP_MS));
    }
    for (const connection of connections) connection.destroy();
    for (const socket of sockets) socket.destroy();
    await closed;
  };
  return new Promise((resolve, reject) => {
    server.once(
      "error",
      (e) => reject(new UnavailableError(`Cannot listen on ${host}:${port}: ${e.message}`)),
    );
    server.listen(port, host, () => {
      // An error of one connection does not concern the others.
      server.on("error", () => {});
      const bound = (server.address() as AddressInfo).port;
      resolve({ address: `${host}:${bound}`, close });
    });
  });
}

/** Most connections of a server: each takes a descriptor, of which processes have few thousand. */
const MOST_CONNECTIONS = 4096;
/** Milliseconds that a client has for the handshake of TLS. */
const HANDSHAKE_MS = 10_000;
/** Longest messages that calls may hold together while they come. */
const MESSAGES_HELD = 4;

function messageBytes({ maxMessageBytes = MAX_MESSAGE_BYTES }: TransportOptions): ByteBudget {
  return heldBytes(MESSAGES_HELD * maxMessageBytes);
}

/** Milliseconds between two checks of a closing server for open calls. */
const GRACE_STEP_MS = 20;

/** Creates the socket server. Throws `ValueError` where TLS lacks a certificate. */
function serverOf(tls: TlsOptions | undefined, use: (socket: Socket) => void): Server {
  if (tls === undefined) return createServer(use);
  if (tls.cert === undefined || tls.key === undefined) {
    throw new ValueError(
      "Cannot listen with tls: a server needs cert and key, as texts of PEM files",
    );
  }
  // A client must present a certificate where an authority for clients is given.
  const requestCert = tls.ca !== undefined, handshakeTimeout = HANDSHAKE_MS;
  return createTlsServer({ ...tls, ALPNProtocols: ALPN, requestCert, handshakeTimeout }, use);
}

/** The server's side of a call. */
class Answering implements StreamEvents {
  readonly #stream: Http2Stream;
  readonly #handler: Handler;
  readonly #options: TransportOptions;
  readonly #gone = new AbortController();
  readonly #message: Message;
  #path = "";
  #isAnswered = false;

  constructor(
    stream: Http2Stream,
    handler: Handler,
    options: TransportOptions,
    held: ByteBudget,
  ) {
    this.#stream = stream;
    this.#handler = handler;
    this.#options = options;
    this.#message = new Message(options, held);
  }

  headers(headers: ReadonlyMap<string, string>): void {
    if (this.#path !== "") return;
    this.#path = headers.get(":path") ?? "/";
    const { secret } = this.#options;
    const given = decodeURIComponent(headers.get(SECRET_HEADER) ?? "");
    if (secret === undefined || sameSecret(secret, given)) return;
    this.#refuse(
      new UnauthenticatedError("Cannot answer: the call does not have the shared secret"),
    );
  }

  data(chunk: Uint8Array): void {
    try {
      this.#message.add(chunk);
    } catch (error) {
      this.#refuse(error);
    }
  }

  end(): void {
    const { whole } = this.#message;
    if (whole === null) this.#refuse(new UnavailableError("The call ended within its message"));
    else void this.#answer(whole);
  }

  lost(): void {
    this.#gone.abort();
    if (!this.#isAnswered) this.#message.release();
  }

  /** Answers before the request is read; the rest of it is dropped. */
  #refuse(error: unknown): void {
    this.#message.release();
    this.#status(error);
    this.#stream.reset(NO_ERROR);
  }

  async #answer(request: Uint8Array): Promise<void> {
    this.#isAnswered = true;
    try {
      const parts = await this.#handler(this.#path, request, { signal: this.#gone.signal });
      this.#stream.sendHeaders(ANSWER);
      await this.#stream.send([headOf(parts), ...parts]);
      this.#stream.sendHeaders([["grpc-status", "0"]], true);
    } catch (error) {
      this.#status(error);
    } finally {
      this.#message.release();
    }
  }

  #status(error: unknown): void {
    const { code, message } = statusOf(error);
    const status: Headers = [["grpc-status", String(code)], [
      "grpc-message",
      encodeStatus(message),
    ]];
    this.#stream.sendHeaders([...ANSWER, ...status], true);
  }
}

const ANSWER: Headers = [[":status", "200"], ["content-type", "application/grpc"]];

/** The client's side of a call. */
class Asking implements StreamEvents {
  readonly answer: Promise<Uint8Array>;
  readonly #message: Message;
  readonly #settle: { resolve(message: Uint8Array): void; reject(error: unknown): void };
  #status: ReadonlyMap<string, string> = new Map();
  #failed: unknown;

  constructor(options: TransportOptions, held: ByteBudget) {
    this.#message = new Message(options, held);
    const { promise, ...settle } = deferred<Uint8Array>();
    this.answer = promise;
    this.#settle = settle;
  }

  headers(headers: ReadonlyMap<string, string>): void {
    if (headers.has("grpc-status") || headers.get(":status") !== "200") this.#status = headers;
  }

  data(chunk: Uint8Array): void {
    if (this.#failed !== undefined) return;
    try {
      this.#message.add(chunk);
    } catch (error) {
      this.fail(this.#failed = error);
    }
  }

  end(): void {
    const code = Number(this.#status.get("grpc-status") ?? -1), { whole } = this.#message;
    if (code > 0) this.fail(errorOf(code, decodeStatus(this.#status.get("grpc-message") ?? "")));
    else if (code === 0 && whole !== null) this.#settle.resolve(whole);
    else {
      const status = this.#status.get(":status");
      this.lost(
        status === undefined ? "the call ended within its message" : `it says HTTP ${status}`,
      );
    }
  }

  lost(why: string): void {
    this.#settle.reject(new Lost(why));
  }

  fail(error: unknown): void {
    this.#settle.reject(error);
  }

  leave(): void {
    this.#message.release();
  }
}

/** Errors of a connection that was made and then lost. */
const NO_ANSWER = new RegExp(`^${LOST}$|ECONNRESET`);
/** Errors where the other end does not speak TLS. */
const NO_TLS = /before secure TLS|corrupt message|wrong version|ECONNRESET/i;

/** The error of a call that could not be made; the channel adds the address. */
class Lost extends Error {}

class GrpcChannel implements Channel {
  readonly #target: string;
  readonly #options: TransportOptions;
  readonly #held: ByteBudget;
  readonly #turns = new InputTurns();
  #connection: Http2Connection | null = null;
  #closed = false;

  constructor(target: string, options: TransportOptions = {}) {
    checkSecret(options);
    this.#target = targetOf(target);
    this.#options = networkOf(target, options);
    this.#held = messageBytes(options);
  }

  async call(path: string, request: Uint8Array, options: CallOptions = {}): Promise<Uint8Array> {
    if (this.#closed) throw new UnavailableError(`The channel to ${this.#target} is closed`);
    const { signal, timeoutMs } = options;
    signal?.throwIfAborted();
    const call = new Asking(this.#options, this.#held), connection = this.#connected();
    const stream = connection.request(this.#headers(path, timeoutMs), call);
    const leave = (): void => call.fail(signal!.reason);
    signal?.addEventListener("abort", leave, { once: true });
    const clear = after(timeoutMs ?? Infinity, () => {
      const text = `${path} at ${this.#target} took more than ${timeoutMs} ms`;
      call.fail(new DeadlineExceededError(text));
    });
    try {
      void stream.send([headOf([request]), request], true);
      return await call.answer;
    } catch (error) {
      if (!(error instanceof Lost)) throw error;
      const why = connection.begun ? "" : this.#disagreement(error.message);
      throw new UnavailableError(
        `Cannot reach ${this.#target} for ${path}: ${error.message}${why}`,
      );
    } finally {
      clear();
      signal?.removeEventListener("abort", leave);
      // Does nothing to a stream that has ended.
      stream.reset();
      call.leave();
    }
  }

  /** Explains a connection that ended before the server sent HTTP/2. */
  #disagreement(message: string): string {
    if (this.#options.tls === undefined) {
      return NO_ANSWER.test(message)
        ? ", as by a server that wants TLS: this call has no option tls, and its target no grpcs://"
        : "";
    }
    if (NO_TLS.test(message)) return ", as by a server without TLS: this call wants it";
    return message === LOST ? ", as by a server that wants another certificate of its callers" : "";
  }

  #headers(path: string, timeoutMs: number | undefined): Headers {
    const { secret, tls } = this.#options;
    return [
      [":method", "POST"],
      [":scheme", tls === undefined ? "http" : "https"],
      [":path", path],
      [":authority", this.#target],
      ["content-type", "application/grpc"],
      ["te", "trailers"],
      ...timeoutHeader(timeoutMs ?? Infinity),
      ...(secret === undefined ? [] : [[SECRET_HEADER, encodeURIComponent(secret)] as const]),
    ];
  }

  #connected(): Http2Connection {
    if (this.#connection !== null) return this.#connection;
    const connection: Http2Connection = new Http2Connection(this.#socket(), {
      turns: this.#turns,
      gone: (_, isLost) => {
        if (this.#connection === connection) this.#connection = null;
        if (isLost) this.#going.delete(connection);
        else this.#going.add(connection);
      },
    });
    return this.#connection = connection;
  }
  /** Connections whose server takes no new calls: open calls continue. */
  readonly #going = new Set<Http2Connection>();

  #socket(): Socket {
    const { host, port } = placeOf(this.#target), { tls } = this.#options;
    if (tls === undefined) return connect({ host, port });
    // IP addresses are no server names; certificates are compared with them all the same.
    const name = isIP(host) === 0 ? { servername: host } : {};
    return connectTls({ ...tls, ...name, host, port, ALPNProtocols: ALPN });
  }

  close(): void {
    this.#closed = true;
    for (const connection of this.#going) connection.destroy();
    this.#connection?.destroy();
    this.#connection = null;
  }
}

/** Host and port of `host:port`, or of `[address]:port`. */
function placeOf(target: string): { host: string; port: number } {
  const at = target.lastIndexOf(":");
  return { host: target.slice(0, at).replace(/^\[|\]$/g, ""), port: Number(target.slice(at + 1)) };
}

/** Units of the header `grpc-timeout`, in milliseconds; its numbers have at most eight digits. */
const TIMEOUT_UNITS = [["m", 1], ["S", 1000], ["H", 3_600_000]] as const;

/** Makes the header of a time limit; none where no unit can express it. */
function timeoutHeader(ms: number): (readonly [string, string])[] {
  const unit = TIMEOUT_UNITS.find(([, length]) => ms / length < 1e8);
  return unit === undefined ? [] : [["grpc-timeout", `${Math.ceil(ms / unit[1])}${unit[0]}`]];
}
