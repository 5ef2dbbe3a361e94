/** A socket that speaks HTTP/1.1 for a handler of web-standard requests. */
import http, { type IncomingMessage, type ServerResponse, STATUS_CODES } from "node:http";
import https from "node:https";
import type { AddressInfo, Socket } from "node:net";
import { deferred } from "../engine/runtime/run/timers.ts";
import { type Answer, answerOf } from "./answer.ts";
import { Pipeline, Places } from "./connections.ts";
import type { CrossOrigin } from "./cross_origin.ts";
import { clientOf } from "./fair_queue.ts";
import { failure, HttpError } from "./http_error.ts";
import { PiecewiseInput } from "./piecewise_input.ts";
import { LEFT, type ReadableRequest } from "./asked_request.ts";
import { SocketRequest } from "./socket_request.ts";
import { type ClientTurns, Turns } from "./turns.ts";

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
/** Most connections of one client: a proxy has that of many. */
const MOST_CONNECTIONS = 1024;
/** Most header fields of a request: engines take milliseconds for some hundred, and seconds for a thousand. */
const MOST_FIELDS = 100;

/** Options of {@linkcode listen}. */
export interface ListenOptions {
  readonly hostname: string;
  readonly port: number;
  /** Certificate and private key in PEM form; HTTPS with them. */
  readonly cert?: string;
  readonly key?: string;
  /** Milliseconds that a client has to take 256 KiB of an answer. Default 30,000. */
  readonly takingMs?: number;
  /** Most connections that one client has, and begins within a second; more are ended at once. Default 1,024. */
  readonly mostConnections?: number;
  /** Pages that may read the answers, those to what is no request among them. Default: none of other origins. */
  readonly origins?: CrossOrigin;
}

/** A socket that listens. */
export interface Listener {
  readonly port: number;
  /** Takes no more connections, and resolves when those that are there have ended. */
  close(): Promise<void>;
}

/** Answers a request. */
type Answering = (request: ReadableRequest) => Promise<Response | Answer>;

/**
 * Answers the requests of a socket by HTTP/1.1 alone: an engine reads HTTP/2 in one go, however many frames a client sends, and no
 * other request has a turn meanwhile. Rejects where the port cannot be had.
 */
export async function listen(
  { hostname, port, cert, key, takingMs = TAKING_MS, mostConnections = MOST_CONNECTIONS, origins }:
    ListenOptions,
  answer: Answering,
): Promise<Listener> {
  const turns = new Turns(), places = new Places(mostConnections);
  const lines = new WeakMap<Socket, Line>();
  const on = (message: IncomingMessage, response: ServerResponse): void => {
    const line = lines.get(message.socket)!, before = line.sent, sent = deferred<void>();
    Object.assign(line, { last: message, before, sent: sent.promise });
    // What goes wrong with a connection closes it, and its body and answer end so.
    message.on("error", () => {});
    response.on("error", () => {});
    const isAlone = line.input.began(Number(message.headers["content-length"] ?? 0));
    const given = { message, response, line, before, isAlone, takingMs, origins };
    line.pipeline.begin(() => void exchange(given, answer).finally(sent.resolve), isAlone);
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
  let isClosing = false;
  const adopt = (socket: Socket): void => {
    const client = clientOf(socket.remoteAddress ?? ""), shared = turns.of(client);
    const gone = new AbortController();
    // A reason of its own would cost a stack for each.
    socket.once("close", () => gone.abort(LEFT));
    const input = new PiecewiseInput(socket, shared), pipeline = new Pipeline(shared);
    lines.set(socket, { input, pipeline, client, turns: shared, gone, ...NOTHING_ASKED });
    // Node makes a parser for each.
    shared.take(() => {
      if (isClosing) socket.destroy();
      else if (!socket.destroyed) begin(socket);
    }, true);
  };
  const accepted = replaceListener(server, "connection", (socket) => {
    const client = clientOf(socket.remoteAddress ?? "");
    // An error before its turn ends it, and nothing else.
    socket.on("error", () => {});
    if (!places.take(client)) return void socket.destroy();
    socket.once("close", () => places.leave(client));
    if (isSecure) accepted(socket);
    else adopt(socket);
  });
  const begin = isSecure ? replaceListener(server, "secureConnection", adopt) : accepted;
  server.on("clientError", (error: NodeError, socket: Socket) => {
    const line = lines.get(socket);
    // TLS has errors before there is a connection, and the parser one for each of the next bytes.
    if (line === undefined) socket.destroy();
    else if (line.input.leave()) {
      // Clients take what comes first for the answer to their first request.
      const isInLast = line.last !== null && !line.last.complete;
      void (isInLast ? line.before : line.sent).then(() => refuse(error, socket, origins));
    }
  });
  const begun = deferred<void>(), ended = deferred<void>();
  server.on("error", begun.reject);
  server.once("close", ended.resolve);
  server.listen({ host: hostname, port }, begun.resolve);
  await begun.promise;
  return {
    port: (server.address() as AddressInfo).port,
    close() {
      isClosing = true;
      server.close();
      server.closeIdleConnections();
      return ended.promise;
    },
  };
}

/** Replaces the listener that Node has for connections, and returns it. */
function replaceListener(
  server: http.Server,
  event: "connection" | "secureConnection",
  listener: (socket: Socket) => void,
): (socket: Socket) => void {
  const [begin] = server.listeners(event);
  server.removeAllListeners(event);
  server.on(event, listener);
  return (socket) => void begin.call(server, socket);
}

/** A connection. */
interface Line {
  readonly input: PiecewiseInput;
  readonly pipeline: Pipeline;
  /** The client, see {@linkcode clientOf}, and its turns. */
  readonly client: string;
  readonly turns: ClientTurns;
  /** Aborts when its client has gone. */
  readonly gone: AbortController;
  /** The last request; null before the first. */
  last: IncomingMessage | null;
  /** Resolves when the client has taken the answers to all requests before that. */
  before: Promise<void>;
  /** Resolves when the client has taken the answers to all requests so far. */
  sent: Promise<void>;
}

const NOTHING_ASKED: Pick<Line, "last" | "before" | "sent"> = {
  last: null,
  before: Promise.resolve(),
  sent: Promise.resolve(),
};

/** A request and its answer to be. */
interface Exchange {
  readonly message: IncomingMessage;
  readonly response: ServerResponse;
  readonly line: Line;
  /** Resolves when the client has taken the answers to all requests before. */
  readonly before: Promise<void>;
  /** True where its connection had no other request when it began. */
  readonly isAlone: boolean;
  readonly takingMs: number;
  readonly origins: CrossOrigin | undefined;
}

async function exchange(given: Exchange, answer: Answering): Promise<void> {
  const { line, before, isAlone } = given, sent = deferred<void>();
  try {
    // Its client may have left before its turn.
    if (line.gone.signal.aborted) return;
    const answered = await answerTo(given, answer);
    await before;
    line.turns.take(() => {
      sent.resolve(sendOrEnd(given, answered));
      return sent.promise;
    }, isAlone);
    await sent.promise;
  } finally {
    line.pipeline.ended();
    line.input.ended();
  }
}

async function answerTo(
  { message, line, isAlone }: Exchange,
  answer: Answering,
): Promise<Answer> {
  try {
    if (message.rawHeaders.length > 2 * MOST_FIELDS) {
      throw new HttpError(431, `Cannot read a request of more than ${MOST_FIELDS} header fields`);
    }
    const request = new SocketRequest(message, line.gone.signal, { isAlone, client: line.client });
    return await answerOf(await answer(request));
  } catch (error) {
    return failure(error);
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
function refuse(
  { code = "", message }: NodeError,
  socket: Socket & { readonly _httpMessage?: ServerResponse | null },
  origins: CrossOrigin | undefined,
): void {
  const status = REFUSALS[code] ?? 400;
  const { headers, body } = failure(new HttpError(status, `Cannot read the request: ${message}`));
  // Its origin is not known: pages may read this where those of all may.
  const fields = [...headers, ...origins?.headersFor("null") ?? []];
  if (!socket.writable || socket._httpMessage?.headersSent) return void socket.destroy();
  const lines = [
    `HTTP/1.1 ${status} ${STATUS_CODES[status]}`,
    ...fields.map(([name, value]) => `${name}: ${value}`),
    `content-length: ${body.length}`,
    "connection: close",
  ];
  const text = new TextDecoder().decode(body);
  socket.end(`${lines.join("\r\n")}\r\n\r\n${text}`, () => socket.destroy());
}

/** Sends an answer. One that cannot be sent ends its connection and no other. */
async function sendOrEnd(given: Exchange, answer: Answer): Promise<void> {
  const { response, message: { socket } } = given;
  try {
    await send(given, answer);
  } catch (error) {
    if (response.headersSent) socket.destroy();
    else await send(given, failure(error)).catch(() => socket.destroy());
  }
}

/** Sends an answer, and resolves when the client has taken it. Rejects where it has gone, or takes too long. */
async function send(
  { message, response, line, takingMs, origins }: Exchange,
  answer: Answer,
): Promise<void> {
  const { socket } = message, { body } = answer;
  if (line.gone.signal.aborted) return;
  // Node sends what was said of a body that has none.
  const headers: Record<string, string> = { "content-length": `${body.length}` };
  for (const [name, value] of answer.headers) headers[name] = value;
  const shared = origins?.headersFor(message.headers.origin ?? null) ?? [];
  for (const [name, value] of shared) headers[name] = value;
  // After such a request HTTP reads no other one of the connection.
  if (message.headers.upgrade !== undefined) headers.connection = "close";
  if (!message.complete) {
    headers.connection = "close";
    message.resume();
    const timer = setTimeout(() => socket.destroy(), LINGER_MS);
    response.once("close", () => clearTimeout(timer));
  }
  response.writeHead(answer.status, headers);
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
