/** Requests of sockets: no more of a body is read than is asked for. */
import type { IncomingMessage } from "node:http";
import { concatBytes } from "../library/io/bytes.ts";
import { deferred } from "../engine/runtime/run/timers.ts";
import { type AskedHeaders, FlatHeaders, LEFT, type ReadableRequest } from "./asked_request.ts";

/** Bytes of a body that are read before they are asked for. */
const AHEAD_BYTES = 1 << 16;

/** The URL of a request; a text that is none where its host is none, or where it names two, and where its path has a backslash. */
function urlOf({ url = "/", headers, rawHeaders }: IncomingMessage): string {
  // The standard of URLs reads them as slashes, and proxies do not: what these let pass would be another path here.
  if (url.includes("\\")) return "";
  // An absolute form names its host itself.
  if (!url.startsWith("/")) return url;
  const hosts = rawHeaders.filter((name, i) => i % 2 === 0 && name.toLowerCase() === "host");
  const { host = "localhost" } = headers;
  // Characters of a path would make another request of it.
  return hosts.length > 1 || !/^[^/\\?#@\s]+$/.test(host) ? "" : `http://${host}${url}`;
}

/** A request of a socket. */
export class SocketRequest implements ReadableRequest {
  readonly method: string;
  readonly url: string;
  readonly headers: AskedHeaders;
  readonly signal: AbortSignal;
  readonly isAlone: boolean;
  readonly client: string;
  readonly givesParts = true;
  readonly #message: IncomingMessage;
  #body: ReadableStream<Uint8Array<ArrayBuffer>> | null = null;

  constructor(
    message: IncomingMessage,
    signal: AbortSignal,
    { isAlone, client }: Required<Pick<ReadableRequest, "isAlone" | "client">>,
  ) {
    this.method = message.method ?? "GET";
    this.url = urlOf(message);
    this.headers = new FlatHeaders(
      message.rawHeaders.map((text, i) => i % 2 === 0 ? text.toLowerCase() : text),
    );
    this.signal = signal;
    this.isAlone = isAlone;
    this.client = client;
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
    message.once("end", () => resolve(joined(parts).buffer));
    message.once("close", () => reject(LEFT));
    return promise;
  }
}

/** Concatenates chunks to bytes with memory of their own: a chunk that has its own is that. */
function joined(chunks: readonly Uint8Array[]): Uint8Array<ArrayBuffer> {
  const [{ buffer, length } = new Uint8Array()] = chunks;
  const isOwn = chunks.length === 1 && buffer instanceof ArrayBuffer &&
    buffer.byteLength === length;
  return isOwn ? new Uint8Array(buffer) : concatBytes(chunks);
}

/** Returns the body as a stream. Bytes that come between two pulls are one part, however many chunks the client sends. */
function bodyOf(message: IncomingMessage): ReadableStream<Uint8Array<ArrayBuffer>> {
  let isOver = false, isWanted = false, bytes = 0, parts: Uint8Array[] = [];
  const flush = (to: ReadableStreamDefaultController<Uint8Array<ArrayBuffer>>): void => {
    if (bytes === 0) return;
    to.enqueue(joined(parts));
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
