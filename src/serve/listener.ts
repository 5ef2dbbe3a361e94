/** A socket that speaks HTTP/1.1 for a handler of web-standard requests. */
import http, { type IncomingMessage, type ServerResponse } from "node:http";
import https from "node:https";
import type { AddressInfo } from "node:net";
import { UnavailableError } from "../engine/core/errors.ts";
import { concatBytes } from "../library/io/bytes.ts";
import { deferred } from "../engine/runtime/run/timers.ts";
import { errorResponse } from "./http_error.ts";

/** Milliseconds for the headers of a request: a client that takes longer holds a socket for nothing. */
const HEADERS_MS = 10_000;
/** Milliseconds that a connection stays open without a request. */
const IDLE_MS = 75_000;
/** Milliseconds that a client has to stop sending a body that is answered already. */
const LINGER_MS = 1000;

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
  const on = (message: IncomingMessage, response: ServerResponse): void =>
    void exchange(message, response, answer);
  // A body takes as long as its request may, which the handler sees to.
  const options = { headersTimeout: HEADERS_MS, keepAliveTimeout: IDLE_MS, requestTimeout: 0 };
  const isSecure = cert !== undefined && key !== undefined;
  const server = isSecure
    ? https.createServer({ ...options, cert, key }, on)
    : http.createServer(options, on);
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
    const { method = "GET", url = "/", rawHeaders } = message;
    this.method = method;
    // An absolute form names its host itself.
    this.url = url.startsWith("/") ? `http://${message.headers.host ?? "localhost"}${url}` : url;
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

function bodyOf(message: IncomingMessage): ReadableStream<Uint8Array<ArrayBuffer>> {
  let isOver = false;
  return new ReadableStream({
    start(controller) {
      const end = (act: () => void): void => {
        if (!isOver) act();
        isOver = true;
      };
      message.on("data", (chunk: Uint8Array<ArrayBuffer>) => {
        if (isOver) return;
        controller.enqueue(chunk);
        message.pause();
      });
      message.once("end", () => end(() => controller.close()));
      message.once("close", () => end(() => controller.error(left())));
    },
    pull: () => void message.resume(),
    cancel: () => void (isOver = true),
  });
}

const left = (): UnavailableError => new UnavailableError("The client went away");
