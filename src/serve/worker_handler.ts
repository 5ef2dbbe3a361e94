/** Handlers in a worker: one thread computes, and another answers for its health meanwhile. */
import { FailedPreconditionError, UnavailableError, ValueError } from "../engine/core/errors.ts";
import { optionCheck, wantObject, wrongArgument } from "../engine/core/arguments.ts";
import { RecentMap } from "../engine/core/collections/recent_map.ts";
import { after, deferred } from "../engine/runtime/run/timers.ts";
import { type Answer, jsonAnswer, responseOf } from "./answer.ts";
import { failure, HttpError } from "./http_error.ts";
import { allow, type Answering, answeringOf, type Handler, timeoutOf } from "./handler.ts";
import { type AskedRequest, listOf, type ReadableRequest } from "./asked_request.ts";
import { Turns } from "./turns.ts";
import { type BodyPart, type RequestMessage, WorkerRequest } from "./worker_request.ts";

/** A request on its way to the worker, more of its body, or the word that its client went away. */
type Question =
  | RequestMessage
  | { readonly kind: "part"; readonly id: number; readonly part: BodyPart }
  | { readonly kind: "abort"; readonly id: number };

/** An answer of the worker, its wish for the next bytes of a body, or the word that it has begun. */
type Reply =
  | {
    readonly kind: "response";
    readonly id: number;
    readonly answer: Answer;
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

/** The answer to a client that has left, the same to all: a stack for each costs more than to answer for health. */
const GONE = failure(new HttpError(499, "The client went away"));

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
 * console.log(await answer.json()); // { predictions: [1, 4, 9] }
 * await drain();
 * ```
 */
export async function workerHandler(
  worker: Worker,
  options: WorkerHandlerOptions = {},
): Promise<Handler> {
  const front = await frontOf(worker, options);
  return {
    fetch: async (request) => responseOf(await front.answer(request)),
    drain: () => front.drain(),
  };
}

/** Like {@linkcode workerHandler}, with answers that are no web-standard responses. */
export async function frontOf(worker: Worker, options: WorkerHandlerOptions): Promise<Front> {
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
  return front;
}

/**
 * Answers the requests of a {@linkcode workerHandler} in the worker that it was given.
 *
 * @example
 * ```ts ignore
 * import * as tf from "@weft/weft";
 * import { answerFrom, createHandler } from "@weft/weft/serve";
 * const double = tf.function((x: tf.Tensor) => ({ y: tf.mul(x, 2) }), {
 *   inputSignature: [tf.TensorSpec([null], "float32", "x")],
 * });
 * answerFrom(createHandler({ models: { double } }));
 * console.log("ready");
 * ```
 */
export function answerFrom(handler: Handler): void {
  wantObject(handler, "handler", "answerFrom", "a handler of createHandler()");
  const scope = globalThis as unknown as WorkerScope;
  if (typeof scope.postMessage !== "function") {
    throw new FailedPreconditionError("Cannot answer requests: answerFrom() is called in a worker");
  }
  const running = new Map<number, WorkerRequest>(), turns = new Turns();
  const answer = answeringOf(handler);
  scope.addEventListener("message", ({ data }) => {
    const { id } = data, known = running.get(id);
    if (data.kind === "abort") return known?.abort();
    if (data.kind === "part") return known?.take(data.part);
    const request = new WorkerRequest(data, () => scope.postMessage({ kind: "pull", id }));
    running.set(id, request);
    turns.of(data.client).take(async () => {
      // Its client may have left before its turn.
      if (!request.signal.aborted) {
        const answered = await answerOrFailure(answer, request);
        scope.postMessage({ kind: "response", id, answer: answered }, [answered.body.buffer]);
      }
      running.delete(id);
    }, data.isAlone);
  });
  scope.postMessage({ kind: "begun" });
}

/** Answers a request. Nothing that one says may end the worker, which answers all. */
async function answerOrFailure(answer: Answering, request: AskedRequest): Promise<Answer> {
  try {
    return await answer(request);
  } catch (error) {
    return failure(error);
  }
}

/** Tells a {@linkcode workerHandler} why its worker has no handler to give. */
export function failFrom(error: unknown): void {
  const message = textOf(error);
  (globalThis as unknown as WorkerScope).postMessage({ kind: "failed", message });
}

const textOf = (error: unknown): string => error instanceof Error ? error.message : String(error);

/** A request that the worker has not answered. */
interface Waiting {
  readonly request: ReadableRequest;
  readonly resolve: (answer: Answer) => void;
  /** Its body, once the worker has asked for it. */
  reader: ReadableStreamDefaultReader<Uint8Array<ArrayBuffer>> | null;
}

/** The side that has the requests. */
export class Front {
  readonly #worker: Worker;
  readonly #timeoutMs: number;
  readonly #waiting = new Map<number, Waiting>();
  /** Last answers to requests for the readiness of models. */
  readonly #known = new RecentMap<string, Answer>(MOST_KNOWN);
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

  async answer(request: ReadableRequest): Promise<Answer> {
    try {
      const path = pathOf(request.url);
      const isLive = this.#ended === null, isReady = isLive && this.#drained === null;
      if (path === "/v2/health/live") return health(request, "live", isLive);
      if (path === "/v2/health/ready") return health(request, "ready", isReady);
      if (isLive && MODEL_READY.test(path)) return await this.#modelReady(request, path);
      return await this.#ask(request);
    } catch (error) {
      return failure(error);
    }
  }

  drain(): Promise<void> {
    return this.#drained ??= new Promise<void>((resolve) => {
      this.#idle = resolve;
      if (this.#waiting.size === 0) resolve();
    }).then(() => this.#worker.terminate());
  }

  /** Asks whether a model is ready. A worker that computes has no time to answer: its last answer to the same question counts. */
  async #modelReady(request: ReadableRequest, path: string): Promise<Answer> {
    // Requests of another authorization have answers of their own.
    const key = [request.method, path, request.headers.get("authorization") ?? ""].join("\n");
    const known = this.#known.get(key);
    const asked = this.#ask(request).then((answer) => {
      if (answer.status === 200 || answer.status === 503) this.#known.set(key, answer);
      return answer;
    });
    if (known === undefined) return await asked;
    let clear = (): void => {};
    const late = new Promise<Answer>((resolve) => clear = after(PROBE_MS, () => resolve(known)));
    // One that comes later is kept, one that fails is not heard.
    asked.catch(() => {});
    return await Promise.race([asked, late]).finally(clear);
  }

  async #ask(request: ReadableRequest): Promise<Answer> {
    if (this.#ended !== null) throw new HttpError(503, `Cannot answer: ${this.#ended}`);
    if (this.#drained !== null) {
      throw new HttpError(503, "Cannot take requests: it is shutting down");
    }
    if (this.#waiting.size >= MOST_WAITING) {
      throw new HttpError(429, `Cannot take more than ${MOST_WAITING} requests at a time`);
    }
    const { signal } = request;
    if (signal.aborted) return GONE;
    const timeoutMs = Math.min(this.#timeoutMs, timeoutOf(request));
    const id = this.#next++, { promise, resolve } = deferred<Answer>();
    const abandon = (answer: Answer): void => {
      this.#worker.postMessage({ kind: "abort", id } satisfies Question);
      this.#settle(id, answer);
    };
    const abort = (): void => abandon(GONE);
    const clear = after(timeoutMs + GRACE_MS, () => {
      const late = new HttpError(504, `The request took longer than ${timeoutMs} ms`);
      abandon(failure(late));
    });
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
  async #send(id: number, request: ReadableRequest): Promise<void> {
    const { url, method, isAlone = true, client = "" } = request, headers = listOf(request.headers);
    const length = Number(request.headers.get("content-length") ?? NaN);
    let body: ArrayBuffer | "later" | null = method === "GET" || method === "HEAD" ? null : "later";
    try {
      // Hosts of requests see to it that a body has its declared length.
      if (body !== null && length <= WHOLE_BYTES) body = await request.arrayBuffer();
    } catch (error) {
      const text = `Cannot read the request: ${textOf(error)}`;
      this.#settle(id, failure(new HttpError(400, text)));
    }
    if (!this.#waiting.has(id)) return;
    const question: Question = { kind: "request", id, url, method, headers, isAlone, client, body };
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
    // A copy of each part would have the thread collect its garbage twice as often.
    const given = waiting.request.givesParts && part instanceof Uint8Array ? [part.buffer] : [];
    this.#worker.postMessage({ kind: "part", id, part } satisfies Question, given);
  }

  #receive(reply: Reply): void {
    if (reply.kind === "begun") this.#began.resolve();
    else if (reply.kind === "pull") void this.#pull(reply.id);
    else if (reply.kind === "failed") this.#end(reply.message);
    else this.#settle(reply.id, reply.answer);
  }

  #settle(id: number, answer: Answer): void {
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
      this.#settle(id, failure(new HttpError(503, `Cannot answer: ${reason}`)));
    }
  }
}

/** Returns the path of a URL. Throws `HttpError` 400 for what is none. */
function pathOf(url: string): string {
  if (!URL.canParse(url)) throw new HttpError(400, "Cannot read the request's URL");
  return new URL(url).pathname;
}

function health(request: ReadableRequest, name: "live" | "ready", is: boolean): Answer {
  allow(request, "GET");
  return jsonAnswer({ [name]: is }, is ? 200 : 503);
}
