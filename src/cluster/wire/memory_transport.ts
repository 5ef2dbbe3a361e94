/**
 * A network within one process, for tests and for services that need no other: calls are function calls, with the errors of the real one.
 */
import { deferred } from "../../engine/runtime/run/timers.ts";
import { showAs } from "../../engine/core/arrays/shown.ts";
import { UnauthenticatedError, UnavailableError } from "../../engine/core/errors.ts";
import {
  type Channel,
  checkSecret,
  errorOf,
  type Handler,
  type Listener,
  type Parts,
  sameSecret,
  statusOf,
  targetOf,
  type Transport,
  type TransportOptions,
} from "./transport.ts";
import { joinParts } from "./fields.ts";

interface Place {
  readonly handler: Handler;
  readonly secret: string | undefined;
  /** Callbacks that end the open calls. */
  readonly calls: Set<() => void>;
}

/** A network that only holders of this object can reach. */
export class MemoryTransport implements Transport {
  readonly #places = new Map<string, Place>();
  #ports = 1;

  /** Answers calls at an address; port 0 takes a free one. */
  listen(
    { host, port }: { readonly host: string; readonly port: number },
    handler: Handler,
    options: TransportOptions = {},
  ): Promise<Listener> {
    checkSecret(options);
    const { secret } = options;
    const address = `${host}:${port === 0 ? this.#ports++ : port}`;
    if (this.#places.has(address)) {
      return Promise.reject(new UnavailableError(`Cannot listen on ${address}: it is taken`));
    }
    const calls = new Set<() => void>();
    this.#places.set(address, { handler, secret, calls });
    const close = (): Promise<void> => {
      this.#places.delete(address);
      for (const lose of [...calls]) lose();
      return Promise.resolve();
    };
    return Promise.resolve({ address, close });
  }

  /** Returns a channel to `host:port`. */
  connect(target: string, options: TransportOptions = {}): Channel {
    checkSecret(options);
    const { secret = "" } = options;
    const address = targetOf(target);
    const open = new Set<() => void>();
    let isClosed = false;
    const call: Channel["call"] = async (path, request, { signal: ended } = {}) => {
      const place = this.#places.get(address);
      if (place === undefined) throw new UnavailableError(`Cannot reach ${address} for ${path}`);
      if (place.secret !== undefined && !sameSecret(place.secret, secret)) {
        throw new UnauthenticatedError("Cannot answer: the call does not have the shared secret");
      }
      if (isClosed) throw new UnavailableError(`The connection to ${address} was lost`);
      ended?.throwIfAborted();
      const gone = new AbortController();
      const answer = deferred<Parts>();
      const end = (why: unknown): void => {
        answer.reject(why);
        gone.abort();
      };
      const lose = (): void => end(new UnavailableError(`The connection to ${address} was lost`));
      const leave = (): void => end(ended!.reason);
      place.calls.add(lose);
      open.add(lose);
      ended?.addEventListener("abort", leave, { once: true });
      try {
        place.handler(path, request.slice(), { signal: gone.signal }).then(
          answer.resolve,
          (error) => {
            const { code, message } = statusOf(error);
            answer.reject(errorOf(code, message));
          },
        );
        // Each end owns its bytes, as over a network.
        return joinParts(await answer.promise);
      } finally {
        place.calls.delete(lose);
        open.delete(lose);
        ended?.removeEventListener("abort", leave);
      }
    };
    const close = (): void => {
      isClosed = true;
      for (const lose of [...open]) lose();
    };
    return { call, close };
  }

  /** Formats it for `console.log`. */
  toString(): string {
    return `<MemoryTransport: ${[...this.#places.keys()].join(", ") || "no listener"}>`;
  }
}
showAs(MemoryTransport);
