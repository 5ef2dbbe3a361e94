/** createHandler: models behind a web-standard `fetch` handler. */
import { ValueError } from "../engine/core/errors.ts";
import { argumentsCheck, wantObject } from "../engine/core/arguments.ts";
import { after, askedFromElsewhere } from "../engine/runtime/run/timers.ts";
import { type Answer, answerOf, JSON_FIELDS, jsonAnswer, responseOf } from "./answer.ts";
import type { AskedRequest } from "./asked_request.ts";
import type { BatchingOptions } from "./batcher.ts";
import type { ByteBudget } from "../library/io/bytes.ts";
import { bodyBytes, readBody } from "./body.ts";
import { CrossOrigin } from "./cross_origin.ts";
import { failure, HttpError } from "./http_error.ts";
import { infer, JSON_LENGTH, modelJson } from "./inference_protocol.ts";
import { Metrics } from "./metrics.ts";
import { ModelList, type Versions } from "./model_entry.ts";
import type { ServableModel } from "./servable.ts";
import { Slices } from "./slices.ts";
import { metadataJson, predict, statusJson } from "./tensorflow_rest.ts";

/** Options of {@linkcode createHandler}. */
export interface HandlerOptions {
  /** The served models, by their names in URLs. */
  readonly models: Readonly<Record<string, ServableModel | Versions>>;
  /**
   * Joins requests whose inputs and outputs leave their first axis open. For models that treat each row by itself: rows
   * of different clients share a run, and run once more by themselves where it fails. Default: none.
   */
  readonly batching?: BatchingOptions;
  /** Most waiting requests of one signature; further ones are answered 429. Default 256. */
  readonly maxQueued?: number;
  /** Most bytes of a request's body, after decompression; longer ones are answered 413. Default 64 MiB. */
  readonly maxBodyBytes?: number;
  /**
   * Most bytes of the bodies of all requests that are not answered yet, and of the lists, objects and strings in them; further ones are
   * answered 429, and one that takes more by itself 413. Default four of the longest.
   */
  readonly maxBodiesBytes?: number;
  /**
   * Milliseconds after which a request is answered 504. A request may ask for less by its header `x-timeout-ms`. Default 30,000.
   */
  readonly timeoutMs?: number;
  /** A secret that all requests but those of health must present, as `authorization: Bearer SECRET`. Default: none. */
  readonly token?: string;
  /** Origins whose pages may ask, as `"https://example.com"`, or `"*"` for those of all. Default: none but the server's own. */
  readonly origins?: readonly string[];
}

/** A running server: pass `fetch` to `Deno.serve`, or to any other host of such functions. */
export interface Handler {
  /** Answers a request; never rejects. */
  readonly fetch: (request: Request) => Promise<Response>;
  /** Answers 503 from now on, and resolves when all earlier requests are answered. */
  readonly drain: () => Promise<void>;
}

const check = argumentsCheck<HandlerOptions>("createHandler", {
  models: true,
  batching: true,
  maxQueued: true,
  maxBodyBytes: true,
  maxBodiesBytes: true,
  timeoutMs: true,
  token: true,
  origins: true,
});

/** Default limit of a request's body, of the size of KServe's own. */
const MAX_BODY_BYTES = 64 * 2 ** 20;
/** Longest bodies that all requests may have together. */
const BODIES = 4;

/**
 * Serves models by the Open Inference Protocol v2 (`/v2/…`) and TensorFlow Serving's REST interface (`/v1/…`), with
 * health, readiness and Prometheus metrics (`/metrics`). Models are SavedModels of `@weft/weft/tf`, models of
 * `tf.loadGraphModel` and of `loadOnnx`, and functions with named inputs; script ops in them run. Throws `ValueError` and `TypeError` for
 * models that cannot be served.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * import { createHandler } from "@weft/weft/serve";
 * const square = tf.function((x: tf.Tensor) => ({ y: tf.square(x) }), {
 *   inputSignature: [tf.TensorSpec([null], "float32", "x")],
 * });
 * const { fetch } = createHandler({ models: { square } });
 * const answer = await fetch(
 *   new Request("http://localhost/v1/models/square:predict", {
 *     method: "POST",
 *     body: JSON.stringify({ instances: [1, 2, 3] }),
 *   }),
 * );
 * console.log(await answer.json()); // { predictions: [1, 4, 9] }
 * ```
 */
export function createHandler(options: HandlerOptions): Handler {
  check(options);
  wantObject(options.models, "models", "createHandler", "an object of models by their names");
  const server = new ModelServer(options);
  const handler: Handler = {
    fetch: async (request) => responseOf(await server.answer(request)),
    drain: () => server.drain(),
  };
  ANSWERING.set(handler, (request) => server.answer(request));
  return handler;
}

/** Answers a request; never rejects. */
export type Answering = (request: AskedRequest) => Promise<Answer>;

/** Functions by which handlers answer without web-standard requests and responses: to make those takes longer than most answers do. */
const ANSWERING = new WeakMap<Handler, Answering>();

/** Returns how a handler answers a request of any kind. */
export function answeringOf(handler: Handler): Answering {
  return ANSWERING.get(handler) ??
    (async (request) => await answerOf(await handler.fetch(requestOf(request))));
}

/** Makes a web-standard request. Throws `HttpError` 400 for what the standard forbids, such as the method TRACE. */
function requestOf(request: AskedRequest): Request {
  const { url, method, signal } = request;
  const headers = [...request.headers].map(([name, value]): [string, string] => [name, value]);
  const body = request.whole ?? request.body;
  try {
    // A body that is a stream wants this member, which not all types of requests know.
    return new Request(url, { method, headers, body, signal, duplex: "half" } as RequestInit);
  } catch (error) {
    throw new HttpError(400, `Cannot read the request: ${(error as Error).message}`);
  }
}

/** Path of a request, and whether it arrived while the server was draining. */
interface Arrival {
  readonly path: string;
  readonly isDraining: boolean;
}

/** The model, version and action of a request. */
interface Asked {
  readonly isDraining: boolean;
  readonly model: string;
  readonly version: string | undefined;
  readonly what: string;
}

const V1 = /^\/v1\/models\/([^/:]+)(?:\/versions\/([^/:]+))?(\/metadata|:\w+)?$/;
const V2 = /^\/v2\/models\/([^/]+)(?:\/versions\/([^/]+))?(?:\/(ready|infer))?$/;

class ModelServer {
  readonly #models: ModelList;
  readonly #metrics = new Metrics();
  readonly #timeoutMs: number;
  readonly #maxBodyBytes: number;
  readonly #maxBodiesBytes: number;
  readonly #bodies: ByteBudget;
  readonly #token: string | undefined;
  readonly #origins: CrossOrigin;
  #active = 0;
  /** Called when the last request is answered, once draining has begun. */
  #idle: (() => void) | null = null;
  #drained: Promise<void> | null = null;

  constructor(options: HandlerOptions) {
    const { batching, token } = options;
    this.#origins = new CrossOrigin(options.origins);
    this.#timeoutMs = positive("timeoutMs", options.timeoutMs ?? 30_000);
    this.#maxBodyBytes = positive("maxBodyBytes", options.maxBodyBytes ?? MAX_BODY_BYTES);
    this.#maxBodiesBytes = positive(
      "maxBodiesBytes",
      options.maxBodiesBytes ?? BODIES * this.#maxBodyBytes,
    );
    this.#bodies = bodyBytes(this.#maxBodiesBytes);
    const maxQueued = positive("maxQueued", options.maxQueued ?? 256);
    if (token === "") {
      throw new ValueError("Cannot serve with an empty token: wanted one with characters, or none");
    }
    this.#token = token;
    const joined = batching === undefined ? null : {
      maxRows: positive("batching.maxRows", batching.maxRows ?? 32),
      maxDelayMs: Math.max(0, batching.maxDelayMs ?? 1),
    };
    this.#models = new ModelList(options.models, (model) => ({
      batching: joined,
      maxQueued,
      onRun: (rows) => this.#metrics.ran(model, rows),
    }));
  }

  drain(): Promise<void> {
    return this.#drained ??= new Promise((resolve) => {
      this.#idle = resolve;
      if (this.#active === 0) resolve();
    });
  }

  async answer(request: AskedRequest): Promise<Answer> {
    const started = performance.now();
    // Long work need not hurry for one at a time.
    if (this.#active > 0) askedFromElsewhere();
    const isDraining = this.#drained !== null;
    let model: string | undefined;
    this.#active++;
    let answer: Answer;
    try {
      // A header `Host` that is no host makes no URL.
      if (!URL.canParse(request.url)) throw new HttpError(400, "Cannot read the request's URL");
      const path = new URL(request.url).pathname;
      model = nameIn((V1.exec(path) ?? V2.exec(path))?.[1]);
      answer = this.#origins.preflight(request) ??
        await this.#route(request, { path, isDraining });
    } catch (error) {
      answer = failure(error);
    }
    this.#active--;
    if (this.#active === 0) this.#idle?.();
    if (model !== undefined && this.#models.names.includes(model)) {
      this.#metrics.answered(model, answer.status, performance.now() - started);
    }
    return this.#origins.admit(request, answer);
  }

  async #route(request: AskedRequest, { path, isDraining }: Arrival): Promise<Answer> {
    if (path === "/v2/health/live") return get(request, { live: true });
    if (path === "/v2/health/ready") {
      return get(request, { ready: !isDraining }, isDraining ? 503 : 200);
    }
    await this.#authorize(request);
    if (path === "/metrics") {
      allow(request, "GET");
      const text = this.#metrics.text(this.#active - 1, this.#models.queued);
      return {
        status: 200,
        headers: [["content-type", "text/plain; version=0.0.4"]],
        body: new TextEncoder().encode(text),
      };
    }
    if (path === "/v2" || path === "/v2/") {
      return get(request, { name: "weft", version: "2", extensions: ["binary_tensor_data"] });
    }
    if (path === "/v2/models" || path === "/") return get(request, { models: this.#models.names });
    const v1 = V1.exec(path);
    if (v1 !== null) return await this.#tensorflow(request, asked(v1, isDraining));
    const v2 = V2.exec(path);
    if (v2 !== null) return await this.#inference(request, asked(v2, isDraining));
    throw new HttpError(404, `Cannot find ${path}`);
  }

  async #tensorflow(
    request: AskedRequest,
    { model, version, what, isDraining }: Asked,
  ): Promise<Answer> {
    if (what === "") {
      const found = version === undefined
        ? this.#models.versions(model)
        : [this.#models.find(model, version)];
      return get(request, statusJson(found, !isDraining));
    }
    const found = this.#models.find(model, version);
    if (what === "/metadata") return get(request, metadataJson(found));
    if (what !== ":predict") {
      throw new HttpError(
        400,
        `Cannot ${what.slice(1)} with "${model}": its signatures are called by :predict`,
      );
    }
    allow(request, "POST");
    if (isDraining) throw new HttpError(503, "Cannot take requests: it is shutting down");
    return await this.#compute(request, async (body, slices) => {
      const text = await predict(found, body, slices);
      return { status: 200, headers: JSON_FIELDS, body: await text.bytes() };
    });
  }

  async #inference(
    request: AskedRequest,
    { model, version, what, isDraining }: Asked,
  ): Promise<Answer> {
    const found = this.#models.find(model, version);
    if (what === "") return get(request, modelJson(found, this.#models.versions(model)));
    if (what === "ready") {
      const ready = !isDraining && found.isReady;
      return get(request, { name: model, ready }, ready ? 200 : 503);
    }
    allow(request, "POST");
    if (isDraining) throw new HttpError(503, "Cannot take requests: it is shutting down");
    return await this.#compute(
      request,
      (body, slices) =>
        infer(found, body, { jsonLength: request.headers.get(JSON_LENGTH), slices }),
    );
  }

  /** Runs `work` on a request's body within the time limit, and aborts it when the client goes away. */
  async #compute(
    request: AskedRequest,
    work: (body: Uint8Array<ArrayBuffer>, slices: Slices) => Promise<Answer>,
  ): Promise<Answer> {
    const timeoutMs = Math.min(this.#timeoutMs, timeoutOf(request));
    const controller = new AbortController();
    const abort = (): void => controller.abort(new HttpError(499, "The client went away"));
    if (request.signal.aborted) abort();
    request.signal.addEventListener("abort", abort);
    let clear = (): void => {};
    const late = new Promise<never>((_, reject) => {
      clear = after(timeoutMs, () => {
        const error = new HttpError(504, `The request took longer than ${timeoutMs} ms`);
        controller.abort(error);
        reject(error);
      });
    });
    const { signal } = controller, maxBytes = this.#maxBodyBytes;
    let held = 0;
    const took = (bytes: number): void => {
      if (held + bytes > this.#maxBodiesBytes) {
        throw new HttpError(
          413,
          `Cannot read the request: it takes more than ${this.#maxBodiesBytes} bytes`,
        );
      }
      this.#bodies.take(bytes);
      held += bytes;
    };
    const answered = async (): Promise<Answer> =>
      await work(await readBody(request, { maxBytes, took, signal }), new Slices(signal, took));
    try {
      return await Promise.race([answered(), late]);
    } finally {
      this.#bodies.release(held);
      clear();
      request.signal.removeEventListener("abort", abort);
    }
  }

  async #authorize(request: AskedRequest): Promise<void> {
    if (this.#token === undefined) return;
    const given = request.headers.get("authorization") ?? "";
    // The name of the scheme may be written in any case.
    const [, token] = /^bearer +(.*)$/i.exec(given) ?? [];
    if (token !== undefined && await isSame(token, this.#token)) return;
    throw new HttpError(401, "Cannot answer without the right token", {
      "www-authenticate": "Bearer",
    });
  }
}

function positive(name: string, value: number): number {
  if (typeof value === "number" && value > 0) return value;
  throw new ValueError(`Cannot serve with ${name} ${value}: wanted a number above 0`);
}

function asked([, model, version, what]: RegExpExecArray, isDraining: boolean): Asked {
  return { model: nameIn(model), version, what: what ?? "", isDraining };
}

/** The name that a part of a path says, as "a b" in `a%20b`. Throws `HttpError` 400 for one that says none. */
function nameIn<T extends string | undefined>(part: T): T {
  try {
    return part === undefined ? part : decodeURIComponent(part) as T;
  } catch {
    throw new HttpError(400, `Cannot read the path's "${part}": wanted characters or %XX in UTF-8`);
  }
}

/** Throws `HttpError` 405 for a request of another method. */
export function allow(request: Pick<Request, "method">, method: "GET" | "POST"): void {
  if (request.method === method || (method === "GET" && request.method === "HEAD")) return;
  throw new HttpError(405, `Cannot ${request.method} here: wanted ${method}`, { allow: method });
}

/** Answers a GET request by a value, as JSON. */
function get(request: AskedRequest, value: unknown, status = 200): Answer {
  allow(request, "GET");
  return jsonAnswer(value, status);
}

/** Returns the time limit of a request's header, in milliseconds. Throws `HttpError` for one that is none. */
export function timeoutOf({ headers }: { readonly headers: Pick<Headers, "get"> }): number {
  const ms = headers.get("x-timeout-ms");
  if (ms === null) return Infinity;
  if (Number(ms) > 0) return Number(ms);
  throw new HttpError(400, `Cannot wait for x-timeout-ms "${ms}": wanted milliseconds above 0`);
}

/** Compares two texts in a time that does not tell where they differ. */
async function isSame(a: string, b: string): Promise<boolean> {
  const digest = async (text: string): Promise<Uint8Array> =>
    new Uint8Array(await crypto.subtle.digest("SHA-256", new TextEncoder().encode(text)));
  const [x, y] = await Promise.all([digest(a), digest(b)]);
  return x.reduce((different, byte, i) => different | (byte ^ y[i]), 0) === 0;
}
