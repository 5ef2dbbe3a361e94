/**
 * gRPC's unary calls over HTTP/2, on Node's own module: what TensorFlow's services speak.
 */
import {
  type ClientHttp2Session,
  type ClientHttp2Stream,
  connect,
  createSecureServer,
  createServer,
  type IncomingHttpHeaders,
  type ServerHttp2Session,
  type ServerHttp2Stream,
} from "node:http2";
import type { AddressInfo } from "node:net";
import {
  DeadlineExceededError,
  ResourceExhaustedError,
  UnauthenticatedError,
  UnavailableError,
  ValueError,
} from "../core/errors.ts";
import {
  type CallOptions,
  type Channel,
  errorOf,
  type Handler,
  type Listener,
  MAX_MESSAGE_BYTES,
  type Parts,
  sameSecret,
  SECRET_HEADER,
  statusOf,
  targetOf,
  type TlsOptions,
  type Transport,
  type TransportOptions,
} from "./transport.ts";

/** A message's head: whether it is compressed, and its length. */
const HEAD = 5;
/** Bytes that may be on their way before the reader says that it has read: a batch of images should not wait for that. */
const WINDOW = 8 << 20;
/** What a server that goes is left to end the calls on their way. */
const GOING_MS = 500;
/** gRPC's clients refuse trailers of more than 8 KiB, and percent-encoding takes up to three bytes for one. */
const MAX_STATUS_TEXT = 2000;

/** gRPC. */
export const grpcTransport: Transport = {
  listen,
  connect: (target, o) => new Http2Channel(target, o),
};

function listen(
  { host, port }: { readonly host: string; readonly port: number },
  handler: Handler,
  { maxMessageBytes = MAX_MESSAGE_BYTES, secret, tls }: TransportOptions = {},
): Promise<Listener> {
  const settings = { initialWindowSize: WINDOW };
  const server = tls === undefined ? createServer({ settings }) : createSecureServer({
    settings,
    ...checkCertificate(tls),
    // Whoever is asked for a certificate must have one.
    requestCert: tls.ca !== undefined,
  });
  const sessions = new Set<ServerHttp2Session>();
  let open = 0, drained = (): void => {};
  server.on("session", (session) => {
    sessions.add(session);
    // What goes wrong with a connection is told to the calls on it.
    session.on("error", () => {});
    whenCut(session.socket, () => {
      sessions.delete(session);
      session.destroy();
    });
    session.on("close", () => sessions.delete(session));
  });
  server.on("stream", (stream, headers) => {
    open++;
    const work = answer(stream, headers, { handler, maxMessageBytes, secret });
    void work.catch(() => {}).finally(() => {
      if (--open === 0) drained();
    });
  });
  const close = async ({ graceMs = 0 }: { readonly graceMs?: number } = {}): Promise<void> => {
    const closed = new Promise<void>((resolve) => server.close(() => resolve()));
    if (open > 0 && graceMs > 0) {
      let timer: ReturnType<typeof setTimeout> | undefined;
      await new Promise<void>((resolve) => {
        drained = resolve;
        timer = setTimeout(resolve, graceMs);
      });
      clearTimeout(timer);
    }
    for (const session of sessions) session.destroy();
    await closed;
  };
  return new Promise((resolve, reject) => {
    server.once(
      "error",
      (e) => reject(new UnavailableError(`Cannot listen on ${host}:${port}: ${e.message}`)),
    );
    server.listen(port, host, () => {
      const bound = (server.address() as AddressInfo).port;
      resolve({ address: `${host}:${bound}`, close });
    });
  });
}

/** Throws `ValueError` where a server does not have what it must show. */
function checkCertificate(tls: TlsOptions): TlsOptions {
  if (tls.cert !== undefined && tls.key !== undefined) return tls;
  throw new ValueError(
    "Cannot listen with tls: a server needs cert and key, as texts of PEM files",
  );
}

async function answer(
  stream: ServerHttp2Stream,
  headers: IncomingHttpHeaders,
  { handler, maxMessageBytes, secret }: {
    readonly handler: Handler;
    readonly maxMessageBytes: number;
    readonly secret: string | undefined;
  },
): Promise<void> {
  const gone = new AbortController();
  stream.on("error", () => gone.abort());
  stream.on("close", () => gone.abort());
  let parts: Parts | null = null, status = { code: 0, message: "" };
  try {
    if (secret !== undefined && !sameSecret(secret, String(headers[SECRET_HEADER] ?? ""))) {
      throw new UnauthenticatedError("Cannot answer: the call does not have the shared secret");
    }
    const request = await readMessage(stream, maxMessageBytes);
    parts = await handler(String(headers[":path"]), request, { signal: gone.signal });
  } catch (error) {
    status = statusOf(error);
  }
  if (gone.signal.aborted || stream.destroyed) return;
  const trailers = {
    "grpc-status": String(status.code),
    "grpc-message": encodeStatus(status.message),
  };
  stream.respond({ ":status": 200, "content-type": "application/grpc" }, { waitForTrailers: true });
  stream.on("wantTrailers", () => stream.sendTrailers(trailers));
  if (parts !== null) {
    for (const part of withoutSmall([headOf(parts), ...parts])) {
      for (let at = 0; at < part.length; at += CHUNK) {
        await write(stream, part.subarray(at, at + CHUNK));
      }
    }
  }
  if (stream.destroyed) return;
  await new Promise<void>((resolve) => {
    stream.once("close", resolve);
    stream.end();
  });
}

function headOf(parts: Parts): Uint8Array {
  const head = new Uint8Array(HEAD);
  new DataView(head.buffer).setUint32(1, parts.reduce((n, p) => n + p.length, 0));
  return head;
}

/**
 * Bytes of one write. Messages of 5 MB to gRPC's own client took 145 ms of processor time for 100 MB written whole, and 95 ms in
 * pieces of this size.
 */
const CHUNK = 1 << 18;

/** Writes, and waits while the other end does not read. */
function write(stream: ServerHttp2Stream, part: Uint8Array): Promise<void> | void {
  if (stream.destroyed || stream.write(part)) return;
  return new Promise((resolve) => {
    const done = (): void => {
      stream.off("drain", done);
      stream.off("close", done);
      resolve();
    };
    stream.on("drain", done);
    stream.on("close", done);
  });
}

/** Parts that are cheaper to copy than to write by themselves. */
const SMALL = 4096;

/** The same bytes with small parts joined to their neighbours. */
function* withoutSmall(parts: Parts): Generator<Uint8Array> {
  let waiting: Uint8Array[] = [], length = 0;
  const joined = (): Uint8Array => {
    const out = new Uint8Array(length);
    let at = 0;
    for (const part of waiting) {
      out.set(part, at);
      at += part.length;
    }
    waiting = [];
    length = 0;
    return out;
  };
  for (const part of parts) {
    if (part.length < SMALL) {
      waiting.push(part);
      length += part.length;
      if (length < 16 * SMALL) continue;
    }
    if (length > 0) yield joined();
    if (part.length >= SMALL) yield part;
  }
  if (length > 0) yield joined();
}

/** The one message of a stream. Nothing is kept of one that is too long. */
function readMessage(
  stream: ServerHttp2Stream | ClientHttp2Stream,
  maxMessageBytes: number,
): Promise<Uint8Array> {
  return new Promise((resolve, reject) => {
    const head = new Uint8Array(HEAD);
    let seen = 0, body: Uint8Array | null = null;
    stream.on("data", (chunk: Uint8Array) => {
      let at = 0;
      while (seen < HEAD && at < chunk.length) head[seen++] = chunk[at++];
      if (seen < HEAD) return;
      if (body === null) {
        const length = new DataView(head.buffer).getUint32(1);
        if (length > maxMessageBytes || head[0] !== 0) {
          reject(
            new ResourceExhaustedError(
              head[0] !== 0
                ? "Cannot read a message: it is compressed, wanted a plain one"
                : `Cannot read a message of ${length} bytes: at most ${maxMessageBytes} are taken`,
            ),
          );
          stream.resume();
          stream.removeAllListeners("data");
          return;
        }
        body = new Uint8Array(length);
      }
      const rest = chunk.subarray(at, at + body.length - (seen - HEAD));
      body.set(rest, seen - HEAD);
      seen += rest.length;
    });
    const end = (): void => {
      if (body !== null && seen - HEAD === body.length) resolve(body);
      else reject(new UnavailableError("The connection ended within a message"));
    };
    stream.on("end", end);
    stream.on("error", end);
    stream.on("close", end);
  });
}

/** Text as `grpc-message` has it: percent-encoded, and shortened to what clients take. */
function encodeStatus(message: string): string {
  const short = message.length > MAX_STATUS_TEXT
    ? `${message.slice(0, MAX_STATUS_TEXT)}…`
    : message;
  const text = new TextEncoder().encode(short);
  return Array.from(
    text,
    (b) =>
      b >= 0x20 && b <= 0x7e && b !== 0x25
        ? String.fromCharCode(b)
        : `%${b.toString(16).toUpperCase().padStart(2, "0")}`,
  ).join("");
}

function decodeStatus(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

/** Deno does not tell a session that its connection is gone: calls on it would wait forever. */
function whenCut(socket: { on(event: "close", then: () => void): void }, then: () => void): void {
  // Not at once: a session may be in the middle of reading what came last.
  socket.on("close", () => void setTimeout(then));
}

class Http2Channel implements Channel {
  readonly #target: string;
  readonly #options: TransportOptions;
  #session: ClientHttp2Session | null = null;
  #closed = false;
  /** Why the last connection ended, or could not be made. */
  #lost = "";

  constructor(target: string, options: TransportOptions = {}) {
    this.#target = targetOf(target);
    this.#options = options;
  }

  async call(path: string, request: Uint8Array, options: CallOptions = {}): Promise<Uint8Array> {
    if (this.#closed) throw new UnavailableError(`The channel to ${this.#target} is closed`);
    const { secret, maxMessageBytes = MAX_MESSAGE_BYTES } = this.#options;
    const session = this.#connected();
    let status: IncomingHttpHeaders | null = null;
    const stream = session.request({
      ":method": "POST",
      ":path": path,
      "content-type": "application/grpc",
      te: "trailers",
      ...(options.timeoutMs === undefined
        ? {}
        : { "grpc-timeout": `${Math.ceil(options.timeoutMs)}m` }),
      ...(secret === undefined ? {} : { [SECRET_HEADER]: secret }),
    });
    stream.on("response", (headers) => {
      if (headers["grpc-status"] !== undefined) status = headers;
    });
    stream.on("trailers", (trailers) => {
      status = trailers;
    });
    const leave = (): void => void stream.destroy();
    options.signal?.addEventListener("abort", leave, { once: true });
    let late = false;
    const timer = options.timeoutMs === undefined ? undefined : setTimeout(() => {
      late = true;
      leave();
    }, options.timeoutMs);
    let failed = "";
    stream.on("error", (e) => {
      failed = e.message;
    });
    const done = new Promise<void>((resolve) => stream.on("close", () => resolve()));
    try {
      for (const part of withoutSmall([headOf([request]), request])) stream.write(part);
      stream.end();
      const [message] = await Promise.all([
        readMessage(stream, maxMessageBytes).catch((e) => {
          stream.destroy();
          return e as Error;
        }),
        done,
      ]);
      options.signal?.throwIfAborted();
      if (late) {
        throw new DeadlineExceededError(
          `${path} at ${this.#target} took more than ${options.timeoutMs} ms`,
        );
      }
      const code = status === null ? -1 : Number(status["grpc-status"]);
      if (code === 0 && !(message instanceof Error)) return message;
      if (code > 0) throw errorOf(code, decodeStatus(String(status!["grpc-message"] ?? "")));
      if (message instanceof ResourceExhaustedError) throw message;
      throw new UnavailableError(
        `Cannot reach ${this.#target} for ${path}: ${
          this.#lost || failed || "the connection was lost"
        }`,
      );
    } finally {
      clearTimeout(timer);
      options.signal?.removeEventListener("abort", leave);
    }
  }

  #connected(): ClientHttp2Session {
    const known = this.#session;
    if (known !== null && !known.closed && !known.destroyed) return known;
    const { tls } = this.#options, settings = { initialWindowSize: WINDOW };
    const session = tls === undefined
      ? connect(`http://${this.#target}`, { settings })
      : connect(`https://${this.#target}`, { settings, ...tls });
    // The window of the connection itself is no setting.
    session.on("connect", (_, socket) => {
      session.setLocalWindowSize?.(WINDOW);
      whenCut(socket, () => {
        forget();
        session.destroy();
      });
    });
    const forget = (): void => {
      if (this.#session === session) this.#session = null;
    };
    session.on("error", (e) => {
      this.#lost = e.message;
      forget();
    });
    session.on("close", forget);
    // Deno ends the process where a session closes itself while it learns that the server goes and calls are on their way:
    // nghttp2 is called while it calls. So it is closed here, when that is over.
    session.close = () => {};
    session.on("goaway", () => {
      forget();
      setTimeout(() => session.destroy(), GOING_MS);
    });
    this.#session = session;
    this.#lost = "";
    return session;
  }

  close(): void {
    this.#closed = true;
    this.#session?.destroy();
    this.#session = null;
  }
}
