/** A socket that speaks HTTP/1.1 for a handler of web-standard requests. */
import http, { type IncomingMessage, type ServerResponse, STATUS_CODES } from "node:http";
import https from "node:https";
import type { AddressInfo, Socket } from "node:net";
import { UnavailableError } from "../engine/core/errors.ts";
import { concatBytes } from "../library/io/bytes.ts";
import { deferred } from "../engine/runtime/run/timers.ts";
import type { CrossOrigin } from "./cross_origin.ts";
import { errorResponse, HttpError } from "./http_error.ts";
import { PiecewiseInput, Turns } from "./piecewise_input.ts";

/** Milliseconds for the headers of a request: a client that takes longer holds a socket for nothing. */
const HEADERS_MS = 10_000;
/** Milliseconds that a connection stays open without a request. */
const IDLE_MS = 75_000;
/** Milliseconds that a client has to stop sending a body that is answered already. */
const LINGER_MS = 1000;
/** Milliseconds that a client has to take the next bytes of an answer: one that is not taken holds its memory. */
const TAKING_MS = 30_000;
/** Bytes of an answer that are handed to the system at a time. */
const SENT_BYTES = 1 << 18;
/** Milliseconds between two looks for connections whose headers are late. */
const CHECKING_MS = 5000;
/** Most header fields of a request: engines take milliseconds for some hundred, and seconds for a thousand. */
const MOST_FIELDS = 100;
/** Says that a client has left, the same to all: a stack for each costs more than to answer for health. */
const LEFT = new UnavailableError("The client went away");
/** Bytes of a body that are read before they are asked for. */
const AHEAD_BYTES = 1 << 16;

/** Options of {@linkcode listen}. */
export interface ListenOptions {
  readonly hostname: string;
  readonly port: number;
  /** Certificate and private key in PEM form; HTTPS with them. */
  readonly cert?: string;
  readonly key?: string;
  /** Milliseconds that a client has to take 256 KiB of an answer. Default 30,000. */
  readonly takingMs?: number;
  /** Pages that may read the answers, those to what is no request among them. Default: none of other origins. */
  readonly origins?: CrossOrigin;
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
  { hostname, port, cert, key, takingMs = TAKING_MS, origins }: ListenOptions,
  answer: Answer,
): Promise<Listener> {
  const turns = new Turns(), lines = new WeakMap<Socket, Line>();
  const on = (message: IncomingMessage, response: ServerResponse): void => {
    const line = lines.get(message.socket)!, before = line.sent, sent = deferred<void>();
    line.sent = sent.promise;
    // What goes wrong with a connection closes it, and its body and answer end so.
    message.on("error", () => {});
    response.on("error", () => {});
    const isAlone = line.input.began(Number(message.headers["content-length"] ?? 0));
    const given = { message, response, line, before, takingMs, origins };
    turns.take(() => void exchange(given, answer).finally(sent.resolve), isAlone);
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
    (socket: Socket) => {
      const gone = new AbortController();
      socket.once("close", () => gone.abort());
      lines.set(socket, {
        input: new PiecewiseInput(socket, turns),
        gone,
        sent: Promise.resolve(),
      });
    },
  );
  server.on("clientError", (error: NodeError, socket: Socket) => {
    const line = lines.get(socket);
    // TLS has errors before there is a connection, and the parser one for each of the next bytes.
    if (line === undefined) socket.destroy();
    else if (line.input.leave()) void refuse(error, socket, origins);
  });
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

/** A connection. */
interface Line {
  readonly input: PiecewiseInput;
  /** Aborts when its client has gone. */
  readonly gone: AbortController;
  /** Resolves when the client has taken the answers to all requests so far. */
  sent: Promise<void>;
}

/** A request and its answer to be. */
interface Exchange {
  readonly message: IncomingMessage;
  readonly response: ServerResponse;
  readonly line: Line;
  /** Resolves when the client has taken the answers to all requests before. */
  readonly before: Promise<void>;
  readonly takingMs: number;
  readonly origins: CrossOrigin | undefined;
}

async function exchange(given: Exchange, answer: Answer): Promise<void> {
  const { message, response, line, before } = given, { socket } = message;
  try {
    // Its client may have left before its turn.
    if (line.gone.signal.aborted) return;
    if (message.rawHeaders.length > 2 * MOST_FIELDS) {
      throw new HttpError(431, `Cannot read a request of more than ${MOST_FIELDS} header fields`);
    }
    const answered = await answer(
      new SocketRequest(message, line.gone.signal),
      `${socket.remoteAddress} ${socket.remotePort}`,
    ).catch(errorResponse);
    await before;
    await send(given, answered);
  } catch (error) {
    await before;
    // An answer that cannot be sent ends its connection and no other.
    if (response.headersSent) socket.destroy();
    else await send(given, errorResponse(error)).catch(() => socket.destroy());
  } finally {
    line.input.ended();
  }
}

/** An error of Node's, with its name. */
type NodeError = Error & { readonly code?: string };

/** Statuses for what the parser of HTTP refuses; 400 for all else. */
const REFUSALS: Readonly<Record<string, number>> = {
  HPE_HEADER_OVERFLOW: 431,
  HPE_CHUNK_EXTENSIONS_OVERFLOW: 413,
  ERR_HTTP_REQUEST_TIMEOUT: 408,
};

/** Answers what is no request, where no other answer has begun, and ends the connection. */
async function refuse(
  { code = "", message }: NodeError,
  socket: Socket & { readonly _httpMessage?: ServerResponse | null },
  origins: CrossOrigin | undefined,
): Promise<void> {
  const status = REFUSALS[code] ?? 400;
  const refusal = errorResponse(new HttpError(status, `Cannot read the request: ${message}`));
  // Its origin is not known: pages may read this where those of all may.
  const asking = { method: "GET", headers: new Headers({ origin: "null" }) };
  const answer = origins?.admit(asking, refusal) ?? refusal, text = await answer.text();
  if (!socket.writable || socket._httpMessage?.headersSent) return void socket.destroy();
  const lines = [
    `HTTP/1.1 ${status} ${STATUS_CODES[status]}`,
    ...[...answer.headers].map(([name, value]) => `${name}: ${value}`),
    `content-length: ${text.length}`,
    "connection: close",
  ];
  socket.end(`${lines.join("\r\n")}\r\n\r\n${text}`, () => socket.destroy());
}

/** Sends an answer, and resolves when the client has taken it. Rejects where it has gone, or takes too long. */
async function send(
  { message, response, line, takingMs, origins }: Exchange,
  answer: Response,
): Promise<void> {
  const { socket } = message, { origin } = message.headers;
  const asking = {
    method: message.method ?? "GET",
    headers: new Headers(origin === undefined ? {} : { origin }),
  };
  const given = origins?.admit(asking, answer) ?? answer;
  const body = new Uint8Array(await given.arrayBuffer());
  if (line.gone.signal.aborted) return;
  // Node sends what was said of a body that has none.
  const headers: Record<string, string> = { "content-length": `${body.length}` };
  for (const [name, value] of given.headers) headers[name] = value;
  // After such a request HTTP reads no other one of the connection.
  if (message.headers.upgrade !== undefined) headers.connection = "close";
  if (!message.complete) {
    headers.connection = "close";
    message.resume();
    const timer = setTimeout(() => socket.destroy(), LINGER_MS);
    response.once("close", () => clearTimeout(timer));
  }
  response.writeHead(given.status, headers);
  const told = message.method === "HEAD" ? new Uint8Array() : body;
  for (let at = 0; at < told.length || at === 0; at += SENT_BYTES) {
    const { promise, resolve, reject } = deferred<void>();
    const close = (): void => reject(LEFT);
    response.once("close", close);
    const timer = setTimeout(() => socket.destroy(), takingMs);
    const piece = told.subarray(at, at + SENT_BYTES);
    if (at + SENT_BYTES < told.length) response.write(piece, () => resolve());
    else response.end(piece, resolve);
    await promise.finally(() => {
      clearTimeout(timer);
      response.off("close", close);
    });
  }
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

  /** The body as a stream, which reads from the socket on demand. */
  get body(): ReadableStream<Uint8Array<ArrayBuffer>> | null {
    if (this.method === "GET" || this.method === "HEAD") return null;
    return this.#body ??= bodyOf(this.#message);
  }

  arrayBuffer(): Promise<ArrayBuffer> {
    const message = this.#message, parts: Uint8Array[] = [];
    const { promise, resolve, reject } = deferred<ArrayBuffer>();
    message.on("data", (part: Uint8Array) => void parts.push(part));
    message.once("end", () => resolve(concatBytes(parts).buffer));
    message.once("close", () => reject(LEFT));
    return promise;
  }
}

/** Returns the body as a stream. Bytes that come between two pulls are one part, however many chunks the client sends. */
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
      message.once("close", () => end(() => controller.error(LEFT)));
    },
    pull(controller) {
      isWanted = true;
      flush(controller);
      message.resume();
    },
    cancel: () => void (isOver = true),
  }, { highWaterMark: 0 });
}
