/** Handlers in a worker: one thread computes, and another answers for its health meanwhile. */
import { FailedPreconditionError, UnavailableError, ValueError } from "../engine/core/errors.ts";
import { optionCheck, wantObject, wrongArgument } from "../engine/core/arguments.ts";
import { RecentMap } from "../engine/core/collections/recent_map.ts";
import { after, deferred } from "../engine/runtime/run/timers.ts";
import { errorResponse, HttpError } from "./http_error.ts";
import { get, type Handler, timeoutOf } from "./handler.ts";

/** A request on its way to the worker, more of its body, or the word that its client went away. */
type Question =
  | {
    readonly kind: "request";
    readonly id: number;
    readonly url: string;
    readonly method: string;
    readonly headers: readonly [string, string][];
    /** All of the body; "later" where the worker must ask for it. */
    readonly body: ArrayBuffer | "later" | null;
  }
  | { readonly kind: "part"; readonly id: number; readonly part: BodyPart }
  | { readonly kind: "abort"; readonly id: number };

/** The next bytes of a body, its end, or why there are none. */
type BodyPart = Uint8Array<ArrayBuffer> | null | { readonly failed: string };

/** An answer of the worker, its wish for the next bytes of a body, or the word that it has begun. */
type Reply =
  | {
    readonly kind: "response";
    readonly id: number;
    readonly status: number;
    readonly headers: readonly [string, string][];
    readonly body: Uint8Array<ArrayBuffer>;
  }
  | { readonly kind: "pull"; readonly id: number }
  | { readonly kind: "begun" }
  | { readonly kind: "failed"; readonly message: string };

/** The used part of a worker's global scope: the library's types know pages only. */
interface WorkerScope {
  postMessage(reply: Reply, transfer?: Transferable[]): void;
  addEventListener(
    type: "message",
    listener: (event: { readonly data: Question }) => void,
  ): void;
}

/** Most requests that a worker has at a time: while it computes it reads none of them. */
const MOST_WAITING = 4096;

/** Longest body that goes to the worker with its request: what it asks for takes more messages, each of which waits for what is computed. */
const WHOLE_BYTES = 1 << 14;

/** Paths that ask whether a model is ready. */
const MODEL_READY = /^\/v2\/models\/[^/]+(?:\/versions\/[^/]+)?\/ready$/;
/** Milliseconds after which whether a model is ready is what it was when the worker said so last. */
const PROBE_MS = 50;
/** Most answers of that kind that are kept. */
const MOST_KNOWN = 1024;

/** Milliseconds that a worker has to answer by itself that a request is late. */
const GRACE_MS = 100;

/** Options of {@linkcode workerHandler}. */
export interface WorkerHandlerOptions {
  /** Milliseconds after which a request is answered 504: those of the worker's handler. Default 30,000. */
  readonly timeoutMs?: number;
}

const check = optionCheck<WorkerHandlerOptions>("workerHandler", { timeoutMs: true });

/**
 * Answers requests by the handler of a worker, which calls {@linkcode answerFrom}. Health is answered at once, whatever
 * the worker computes, and says when the worker has ended; so is whether a model is ready, by the worker's last word. Its `drain` ends the worker. Rejects with `UnavailableError`
 * where the worker fails to begin.
 *
 * @example
 * ```ts
 * import { workerHandler } from "@weft/weft/serve";
 * import { assertEquals } from "@std/assert";
 * const code = `
 *   import * as tf from "${import.meta.resolve("@weft/weft")}";
 *   import { answerFrom, createHandler } from "${import.meta.resolve("@weft/weft/serve")}";
 *   answerFrom(createHandler({ models: {
 *     square: tf.function((x) => ({ y: tf.square(x) }), {
 *       inputSignature: [tf.TensorSpec([null], "float32", "x")],
 *     }),
 *   } }));`;
 * const url = URL.createObjectURL(new Blob([code], { type: "text/javascript" }));
 * const { fetch, drain } = await workerHandler(new Worker(url, { type: "module" }));
 * const answer = await fetch(
 *   new Request("http://localhost/v1/models/square:predict", {
 *     method: "POST",
 *     body: JSON.stringify({ instances: [1, 2, 3] }),
 *   }),
 * );
 * assertEquals(await answer.json(), { predictions: [1, 4, 9] });
 * await drain();
 * ```
 */
export async function workerHandler(
  worker: Worker,
  options: WorkerHandlerOptions = {},
): Promise<Handler> {
  check(options);
  // Node has no class Worker in its global scope.
  if (typeof worker?.addEventListener !== "function") {
    throw wrongArgument(worker, "worker", "workerHandler", "a Worker");
  }
  const { timeoutMs = 30_000 } = options;
  if (!(timeoutMs > 0)) {
    throw new ValueError(`Cannot serve with timeoutMs ${timeoutMs}: wanted a number above 0`);
  }
  const front = new Front(worker, timeoutMs);
  await front.begun;
  return { fetch: (request) => front.answer(request), drain: () => front.drain() };
}

/** Answers the requests of a {@linkcode workerHandler} in the worker that it was given. */
export function answerFrom(handler: Handler): void {
  wantObject(handler, "handler", "answerFrom", "a handler of createHandler()");
  const scope = globalThis as unknown as WorkerScope;
  if (typeof scope.postMessage !== "function") {
    throw new FailedPreconditionError("Cannot answer requests: answerFrom() is called in a worker");
  }
  const running = new Map<number, AbortController>();
  const wanted = new Map<number, (part: BodyPart) => void>();
  /** The body of a request. A request that is refused before it is read costs two messages. */
  const bodyOf = (id: number): ReadableStream<Uint8Array<ArrayBuffer>> =>
    new ReadableStream({
      async pull(controller) {
        const { promise, resolve } = deferred<BodyPart>();
        wanted.set(id, resolve);
        scope.postMessage({ kind: "pull", id });
        const part = await promise;
        if (part === null) controller.close();
        else if (part instanceof Uint8Array) controller.enqueue(part);
        else controller.error(new UnavailableError(part.failed));
      },
    }, { highWaterMark: 0 });
  scope.addEventListener("message", async ({ data }) => {
    const { id } = data;
    if (data.kind === "abort") return running.get(id)?.abort();
    if (data.kind === "part") {
      wanted.get(id)?.(data.part);
      wanted.delete(id);
      return;
    }
    const { url, method } = data, controller = new AbortController();
    const headers = [...data.headers], body = data.body === "later" ? bodyOf(id) : data.body;
    running.set(id, controller);
    // A body that is a stream wants this member, which not all types of requests know.
    const init = { method, headers, body, signal: controller.signal, duplex: "half" };
    // Nothing that one request says may end the worker, which answers all.
    const answer = await answerOf(() => handler.fetch(requestOf(url, init as RequestInit)))
      .catch((error) => answerOf(() => errorResponse(error)));
    running.delete(id);
    wanted.delete(id);
    scope.postMessage({ kind: "response", id, ...answer }, [answer.body.buffer]);
  });
  scope.postMessage({ kind: "begun" });
}

/** Makes a request. Throws `HttpError` 400 for what the standard forbids, such as the method TRACE. */
function requestOf(url: string, init: RequestInit): Request {
  try {
    return new Request(url, init);
  } catch (error) {
    throw new HttpError(400, `Cannot read the request: ${textOf(error)}`);
  }
}

/** The answer that `respond` gives, with its whole body. */
async function answerOf(respond: () => Promise<Response> | Response) {
  const response = await respond(), { status, headers } = response;
  const body = new Uint8Array(await response.arrayBuffer());
  return { status, headers: [...headers], body };
}

/** Tells a {@linkcode workerHandler} why its worker has no handler to give. */
export function failFrom(error: unknown): void {
  const message = textOf(error);
  (globalThis as unknown as WorkerScope).postMessage({ kind: "failed", message });
}

const textOf = (error: unknown): string => error instanceof Error ? error.message : String(error);

/** An answer to whether a model is ready. */
interface Known {
  readonly status: number;
  readonly text: string;
}

/** A request that the worker has not answered. */
interface Waiting {
  readonly request: Request;
  readonly resolve: (answer: Response) => void;
  /** Its body, once the worker has asked for it. */
  reader: ReadableStreamDefaultReader<Uint8Array<ArrayBuffer>> | null;
}

/** The side that has the requests. */
class Front {
  readonly #worker: Worker;
  readonly #timeoutMs: number;
  readonly #waiting = new Map<number, Waiting>();
  /** Last answers to requests for the readiness of models. */
  readonly #known = new RecentMap<string, Known>(MOST_KNOWN);
  readonly #began = deferred<void>();
  #next = 0;
  /** Why the worker answers no more; null while it does. */
  #ended: string | null = null;
  #drained: Promise<void> | null = null;
  #idle: (() => void) | null = null;

  constructor(worker: Worker, timeoutMs: number) {
    this.#worker = worker;
    this.#timeoutMs = timeoutMs;
    worker.addEventListener("message", ({ data }: MessageEvent<Reply>) => this.#receive(data));
    worker.addEventListener("error", (event) => {
      event.preventDefault();
      this.#end(`its worker has failed: ${event.message}`);
    });
  }

  /** Resolves when the worker has a handler. */
  get begun(): Promise<void> {
    return this.#began.promise;
  }

  async answer(request: Request): Promise<Response> {
    try {
      if (!URL.canParse(request.url)) throw new HttpError(400, "Cannot read the request's URL");
      const { pathname } = new URL(request.url);
      const isLive = this.#ended === null, isReady = isLive && this.#drained === null;
      if (pathname === "/v2/health/live") return get(request, { live: isLive }, isLive ? 200 : 503);
      if (pathname === "/v2/health/ready") {
        return get(request, { ready: isReady }, isReady ? 200 : 503);
      }
      if (isLive && MODEL_READY.test(pathname)) return await this.#modelReady(request, pathname);
      return await this.#ask(request);
    } catch (error) {
      return errorResponse(error);
    }
  }

  drain(): Promise<void> {
    return this.#drained ??= new Promise<void>((resolve) => {
      this.#idle = resolve;
      if (this.#waiting.size === 0) resolve();
    }).then(() => this.#worker.terminate());
  }

  /** Asks whether a model is ready. A worker that computes has no time to answer: its last answer to the same question counts. */
  async #modelReady(request: Request, path: string): Promise<Response> {
    // Requests of another authorization have answers of their own.
    const key = [request.method, path, request.headers.get("authorization") ?? ""].join("\n");
    const known = this.#known.get(key);
    const asked = this.#ask(request).then(async (answer) => {
      const now = { status: answer.status, text: await answer.clone().text() };
      if (now.status === 200 || now.status === 503) this.#known.set(key, now);
      return answer;
    });
    if (known === undefined) return await asked;
    let clear = (): void => {};
    const late = new Promise<Response>((resolve) => {
      clear = after(PROBE_MS, () => {
        const headers = { "content-type": "application/json" };
        resolve(new Response(known.text, { status: known.status, headers }));
      });
    });
    // One that comes later is kept, one that fails is not heard.
    asked.catch(() => {});
    return await Promise.race([asked, late]).finally(clear);
  }

  async #ask(request: Request): Promise<Response> {
    if (this.#ended !== null) throw new HttpError(503, `Cannot answer: ${this.#ended}`);
    if (this.#drained !== null) {
      throw new HttpError(503, "Cannot take requests: it is shutting down");
    }
    if (this.#waiting.size >= MOST_WAITING) {
      throw new HttpError(429, `Cannot take more than ${MOST_WAITING} requests at a time`);
    }
    const { signal } = request;
    if (signal.aborted) throw new HttpError(499, "The client went away");
    const timeoutMs = Math.min(this.#timeoutMs, timeoutOf(request));
    const id = this.#next++, { promise, resolve } = deferred<Response>();
    const abandon = (status: number, message: string): void => {
      this.#worker.postMessage({ kind: "abort", id } satisfies Question);
      this.#settle(id, errorResponse(new HttpError(status, message)));
    };
    const abort = (): void => abandon(499, "The client went away");
    const clear = after(
      timeoutMs + GRACE_MS,
      () => abandon(504, `The request took longer than ${timeoutMs} ms`),
    );
    this.#waiting.set(id, { request, resolve, reader: null });
    signal.addEventListener("abort", abort);
    void this.#send(id, request);
    try {
      return await promise;
    } finally {
      clear();
      signal.removeEventListener("abort", abort);
    }
  }

  /** Hands a request to the worker, unless it is answered before its body has come. */
  async #send(id: number, request: Request): Promise<void> {
    const { url, method } = request, headers = [...request.headers];
    const length = Number(request.headers.get("content-length") ?? NaN);
    let body: ArrayBuffer | "later" | null = method === "GET" || method === "HEAD" ? null : "later";
    try {
      // Hosts of requests see to it that a body has its declared length.
      if (body !== null && length <= WHOLE_BYTES) body = await request.arrayBuffer();
    } catch (error) {
      const text = `Cannot read the request: ${textOf(error)}`;
      this.#settle(id, errorResponse(new HttpError(400, text)));
    }
    if (!this.#waiting.has(id)) return;
    const question: Question = { kind: "request", id, url, method, headers, body };
    this.#worker.postMessage(question, body instanceof ArrayBuffer ? [body] : []);
  }

  /** Hands the worker the next bytes of a body. */
  async #pull(id: number): Promise<void> {
    const waiting = this.#waiting.get(id);
    if (waiting === undefined) return;
    let part: BodyPart = null;
    try {
      const body = waiting.request.body as ReadableStream<Uint8Array<ArrayBuffer>> | null;
      waiting.reader ??= body?.getReader() ?? null;
      part = (await waiting.reader?.read())?.value ?? null;
    } catch (error) {
      part = { failed: textOf(error) };
    }
    this.#worker.postMessage({ kind: "part", id, part } satisfies Question);
  }

  #receive(reply: Reply): void {
    if (reply.kind === "begun") this.#began.resolve();
    else if (reply.kind === "pull") void this.#pull(reply.id);
    else if (reply.kind === "failed") this.#end(reply.message);
    else {
      const { id, status, headers, body } = reply;
      this.#settle(id, new Response(body, { status, headers: [...headers] }));
    }
  }

  #settle(id: number, answer: Response): void {
    const waiting = this.#waiting.get(id);
    if (waiting === undefined) return;
    this.#waiting.delete(id);
    const { request, reader, resolve } = waiting;
    resolve(answer);
    // What is left of the body is not wanted.
    if (reader !== null) reader.cancel().catch(() => {});
    else if (!request.bodyUsed) request.body?.cancel().catch(() => {});
    if (this.#waiting.size === 0) this.#idle?.();
  }

  #end(reason: string): void {
    this.#ended ??= reason;
    this.#began.reject(new UnavailableError(reason));
    // Before it has begun the caller learns it, later these requests do.
    this.#began.promise.catch(() => {});
    for (const id of [...this.#waiting.keys()]) {
      this.#settle(id, errorResponse(new HttpError(503, `Cannot answer: ${reason}`)));
    }
  }
}
