/** Requests in a worker: more of a body comes when it is asked for. */
import { UnavailableError } from "../engine/core/errors.ts";
import { deferred } from "../engine/runtime/run/timers.ts";
import { type AskedHeaders, type AskedRequest, FlatHeaders } from "./asked_request.ts";

/** A request as a message. */
export interface RequestMessage {
  readonly kind: "request";
  readonly id: number;
  readonly url: string;
  readonly method: string;
  /** Names, in lower case, and values by turns. */
  readonly headers: readonly string[];
  /** False where its client waits for answers to others already. */
  readonly isAlone: boolean;
  /** The client: requests of one share turns. */
  readonly client: string;
  /** All of the body; "later" where the worker must ask for it. */
  readonly body: ArrayBuffer | "later" | null;
}

/** The next bytes of a body, its end, or why there are none. */
export type BodyPart = Uint8Array<ArrayBuffer> | null | { readonly failed: string };

/** A request that another thread has. */
export class WorkerRequest implements AskedRequest {
  readonly url: string;
  readonly method: string;
  readonly headers: AskedHeaders;
  readonly whole?: Uint8Array<ArrayBuffer>;
  readonly #controller = new AbortController();
  readonly #pull: () => void;
  readonly #isLater: boolean;
  #body: ReadableStream<Uint8Array<ArrayBuffer>> | null = null;
  /** Takes the part that was asked for. */
  #wanted: ((part: BodyPart) => void) | null = null;

  /** `pull` asks for the next bytes of a body that comes later. */
  constructor({ url, method, headers, body }: RequestMessage, pull: () => void) {
    this.url = url;
    this.method = method;
    this.headers = new FlatHeaders(headers);
    this.#isLater = body === "later";
    this.#pull = pull;
    if (body instanceof ArrayBuffer) this.whole = new Uint8Array(body);
  }

  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  /** Says that its client has gone. */
  abort(): void {
    this.#controller.abort();
  }

  /** Takes the next bytes of its body. */
  take(part: BodyPart): void {
    this.#wanted?.(part);
    this.#wanted = null;
  }

  /** The body. One that comes later costs two messages for each part, and none where it is not read. */
  get body(): ReadableStream<Uint8Array<ArrayBuffer>> | null {
    const { whole } = this;
    if (whole !== undefined) {
      return this.#body ??= new ReadableStream({
        start(controller) {
          if (whole.length > 0) controller.enqueue(whole);
          controller.close();
        },
      });
    }
    if (!this.#isLater) return null;
    return this.#body ??= new ReadableStream({
      pull: async (controller) => {
        const { promise, resolve } = deferred<BodyPart>();
        this.#wanted = resolve;
        this.#pull();
        const part = await promise;
        if (part === null) controller.close();
        else if (part instanceof Uint8Array) controller.enqueue(part);
        else controller.error(new UnavailableError(part.failed));
      },
    }, { highWaterMark: 0 });
  }
}
