/** A socket that speaks HTTP/1.1 for a handler of web-standard requests. */
import http, { type IncomingMessage, type ServerResponse } from "node:http";
import https from "node:https";
import type { AddressInfo, Socket } from "node:net";
import { UnavailableError } from "../engine/core/errors.ts";
import { concatBytes } from "../library/io/bytes.ts";
import { deferred } from "../engine/runtime/run/timers.ts";
import { errorResponse, HttpError } from "./http_error.ts";
import { PiecewiseInput, type Spent } from "./piecewise_input.ts";

/** Milliseconds for the headers of a request: a client that takes longer holds a socket for nothing. */
const HEADERS_MS = 10_000;
/** Milliseconds that a connection stays open without a request. */
const IDLE_MS = 75_000;
/** Milliseconds that a client has to stop sending a body that is answered already. */
const LINGER_MS = 1000;
/** Milliseconds between two looks at what a client has taken of an answer. */
const TAKING_MS = 30_000;
/** Bytes that it takes meanwhile at least: an answer that nobody reads holds its memory. */
const LEAST_TAKEN = 1 << 16;
/** Milliseconds between two looks for connections whose headers are late. */
const CHECKING_MS = 5000;
/** Most header fields of a request: engines take milliseconds for some hundred, and seconds for a thousand. */
const MOST_FIELDS = 100;
/** Bytes of a body that are read ahead of who asks for it. */
const AHEAD_BYTES = 1 << 16;

/** Options of {@linkcode listen}. */
export interface ListenOptions {
  readonly hostname: string;
  readonly port: number;
  /** Certificate and private key in PEM form; HTTPS with them. */
  readonly cert?: string;
  readonly key?: string;
}

/** A socket that listens. */
export interface Listener {
  readonly port: number;
  /** Takes no more connections, and resolves when those that are there have ended. */
  close(): Promise<void>;
}

/** Answers a request; `from` names its connection. */
type Answer = (request: AskedRequest, from: string) => Promise<Response>;

/**
 * Answers the requests of a socket by HTTP/1.1 alone: an engine reads HTTP/2 in one go, however many frames a client sends, and no
 * other request has a turn meanwhile. Rejects where the port cannot be had.
 */
export async function listen(
  { hostname, port, cert, key }: ListenOptions,
  answer: Answer,
): Promise<Listener> {
  const spent: Spent = { ms: 0 }, inputs = new WeakMap<Socket, PiecewiseInput>();
  const on = (message: IncomingMessage, response: ServerResponse): void => {
    const input = inputs.get(message.socket);
    input?.began();
    response.once("close", () => input?.ended());
    void exchange(message, response, answer);
  };
  const options = {
    headersTimeout: HEADERS_MS,
    connectionsCheckingInterval: CHECKING_MS,
    keepAliveTimeout: IDLE_MS,
    // A body takes as long as its request may, which the handler sees to.
    requestTimeout: 0,
  };
  const isSecure = cert !== undefined && key !== undefined;
  const server = isSecure
    ? https.createServer({ ...options, cert, key }, on)
    : http.createServer(options, on);
  // One more than are taken tells a request with too many.
  server.maxHeadersCount = MOST_FIELDS + 1;
  server.prependListener(
    isSecure ? "secureConnection" : "connection",
    (socket: Socket) => inputs.set(socket, new PiecewiseInput(socket, spent)),
  );
  const begun = deferred<void>(), ended = deferred<void>();
  server.on("error", begun.reject);
  server.once("close", ended.resolve);
  server.listen({ host: hostname, port }, begun.resolve);
  await begun.promise;
  return {
    port: (server.address() as AddressInfo).port,
    close() {
      server.close();
      server.closeIdleConnections();
      return ended.promise;
    },
  };
}

async function exchange(
  message: IncomingMessage,
  response: ServerResponse,
  answer: Answer,
): Promise<void> {
  const { socket } = message, gone = new AbortController();
  // What goes wrong with a connection closes it, and its body and answer end so.
  message.on("error", () => {});
  response.on("error", () => {});
  response.once("close", () => {
    if (!response.writableFinished) gone.abort();
  });
  try {
    if (message.rawHeaders.length > 2 * MOST_FIELDS) {
      throw new HttpError(431, `Cannot read a request of more than ${MOST_FIELDS} header fields`);
    }
    const given = await answer(
      new SocketRequest(message, gone.signal),
      `${socket.remoteAddress} ${socket.remotePort}`,
    ).catch(errorResponse);
    await send(message, response, given);
  } catch (error) {
    // An answer that cannot be sent ends its connection and no other.
    if (response.headersSent) socket.destroy();
    else await send(message, response, errorResponse(error)).catch(() => socket.destroy());
  }
}

async function send(
  message: IncomingMessage,
  response: ServerResponse,
  given: Response,
): Promise<void> {
  const { socket } = message, body = new Uint8Array(await given.arrayBuffer());
  // Node sends what was said of a body that has none.
  const headers: Record<string, string> = { "content-length": `${body.length}` };
  for (const [name, value] of given.headers) headers[name] = value;
  if (!message.complete) {
    headers.connection = "close";
    message.resume();
    const timer = setTimeout(() => socket.destroy(), LINGER_MS);
    response.once("close", () => clearTimeout(timer));
  }
  response.writeHead(given.status, headers);
  response.end(message.method === "HEAD" ? undefined : body);
  // Answers of one connection follow each other: this one has the socket when those before it are taken.
  if (response.socket !== null) endUntaken(response);
  else response.once("socket", () => endUntaken(response));
}

/** Ends the connection of an answer that its client does not take. */
function endUntaken(response: ServerResponse): void {
  const socket = response.socket!;
  let before = socket.bytesWritten;
  const timer = setInterval(() => {
    const taken = socket.bytesWritten - before;
    before = socket.bytesWritten;
    if (taken < LEAST_TAKEN) socket.destroy();
  }, TAKING_MS);
  response.once("close", () => clearInterval(timer));
}

/** The URL of a request; a text that is none where its host is none, or where it names two. */
function urlOf({ url = "/", headers, rawHeaders }: IncomingMessage): string {
  // An absolute form names its host itself.
  if (!url.startsWith("/")) return url;
  const hosts = rawHeaders.filter((name, i) => i % 2 === 0 && name.toLowerCase() === "host");
  const { host = "localhost" } = headers;
  // Characters of a path would make another request of it.
  return hosts.length > 1 || !/^[^/\\?#@\s]+$/.test(host) ? "" : `http://${host}${url}`;
}

/** The used members of a request: to make a whole web-standard one takes longer than to answer for health. */
export type AskedRequest = Pick<
  Request,
  "method" | "url" | "headers" | "signal" | "body" | "bodyUsed" | "arrayBuffer"
>;

/** A request of a socket. */
class SocketRequest implements AskedRequest {
  readonly method: string;
  readonly url: string;
  readonly headers = new Headers();
  readonly signal: AbortSignal;
  readonly #message: IncomingMessage;
  #body: ReadableStream<Uint8Array<ArrayBuffer>> | null = null;

  /** Throws `TypeError` for headers that are none. */
  constructor(message: IncomingMessage, signal: AbortSignal) {
    const { method = "GET", rawHeaders } = message;
    this.method = method;
    this.url = urlOf(message);
    for (let i = 0; i + 1 < rawHeaders.length; i += 2) {
      this.headers.append(rawHeaders[i], rawHeaders[i + 1]);
    }
    this.signal = signal;
    this.#message = message;
  }

  get bodyUsed(): boolean {
    return this.#message.readableEnded || this.#message.readableFlowing === true;
  }

  /** The body, of which no more is read than is asked for. */
  get body(): ReadableStream<Uint8Array<ArrayBuffer>> | null {
    if (this.method === "GET" || this.method === "HEAD") return null;
    return this.#body ??= bodyOf(this.#message);
  }

  arrayBuffer(): Promise<ArrayBuffer> {
    const message = this.#message, parts: Uint8Array[] = [];
    const { promise, resolve, reject } = deferred<ArrayBuffer>();
    message.on("data", (part: Uint8Array) => void parts.push(part));
    message.once("end", () => resolve(concatBytes(parts).buffer));
    // Every request closes at last: an error, and its stack, is made for those alone that have not ended.
    message.once("close", () => message.readableEnded || reject(left()));
    return promise;
  }
}

/** The body as a stream: what comes while nobody asks is one part, however many chunks the client makes of it. */
function bodyOf(message: IncomingMessage): ReadableStream<Uint8Array<ArrayBuffer>> {
  let isOver = false, isWanted = false, bytes = 0, parts: Uint8Array[] = [];
  const flush = (to: ReadableStreamDefaultController<Uint8Array<ArrayBuffer>>): void => {
    if (bytes === 0) return;
    to.enqueue(concatBytes(parts));
    isWanted = false;
    bytes = 0;
    parts = [];
  };
  return new ReadableStream<Uint8Array<ArrayBuffer>>({
    start(controller) {
      const end = (act: () => void): void => {
        if (!isOver) act();
        isOver = true;
      };
      message.on("data", (chunk: Uint8Array) => {
        if (isOver) return;
        parts.push(chunk);
        bytes += chunk.length;
        if (isWanted) flush(controller);
        else if (bytes >= AHEAD_BYTES) message.pause();
      });
      message.once("end", () =>
        end(() => {
          flush(controller);
          controller.close();
        }));
      message.once("close", () => end(() => controller.error(left())));
    },
    pull(controller) {
      isWanted = true;
      flush(controller);
      message.resume();
    },
    cancel: () => void (isOver = true),
  }, { highWaterMark: 0 });
}

const left = (): UnavailableError => new UnavailableError("The client went away");
