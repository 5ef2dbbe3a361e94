/** The scope of a worker in this thread, in which a handler answers what it is told. */
import { answerFrom, type Handler } from "@weft/weft/serve";

/** A message of a worker. */
export interface Reply {
  readonly kind: string;
  readonly id?: number;
  readonly answer?: {
    readonly status: number;
    readonly headers: readonly (readonly [string, string])[];
    readonly body: Uint8Array;
  };
}

export class WorkerScope implements Disposable {
  readonly replies: Reply[] = [];
  readonly #own = Object.getOwnPropertyDescriptors(globalThis);
  /** Tells the worker of a message. */
  hear!: (data: unknown) => void;
  /** Called with each reply. */
  said: (reply: Reply) => void = () => {};

  constructor(handler: Handler) {
    this.#define("postMessage", (reply: Reply) => {
      this.replies.push(reply);
      this.said(reply);
    });
    this.#define("addEventListener", (_: string, listener: (event: { data: unknown }) => void) => {
      this.hear = (data) => listener({ data });
    });
    answerFrom(handler);
  }

  #define(name: "postMessage" | "addEventListener", value: unknown): void {
    Object.defineProperty(globalThis, name, { value, configurable: true });
  }

  [Symbol.dispose](): void {
    for (const name of ["postMessage", "addEventListener"]) {
      Reflect.deleteProperty(globalThis, name);
      if (name in this.#own) Object.defineProperty(globalThis, name, this.#own[name]!);
    }
  }
}
