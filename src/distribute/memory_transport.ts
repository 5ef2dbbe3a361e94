/**
 * A network within one process, for tests and for services that need no other: calls are function calls, with the errors of the real one.
 */
import { UnauthenticatedError, UnavailableError } from "../core/errors.ts";
import {
  type Channel,
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

interface Place {
  readonly handler: Handler;
  readonly secret: string | undefined;
  readonly gone: AbortController;
}

/** A network that only those who hold it can see. */
export class MemoryTransport implements Transport {
  readonly #places = new Map<string, Place>();
  #ports = 1;

  /** Answers calls at an address; port 0 takes a free one. */
  listen(
    { host, port }: { readonly host: string; readonly port: number },
    handler: Handler,
    { secret }: TransportOptions = {},
  ): Promise<Listener> {
    const address = `${host}:${port === 0 ? this.#ports++ : port}`;
    if (this.#places.has(address)) {
      return Promise.reject(new UnavailableError(`Cannot listen on ${address}: it is taken`));
    }
    const gone = new AbortController();
    this.#places.set(address, { handler, secret, gone });
    const close = (): Promise<void> => {
      this.#places.delete(address);
      gone.abort();
      return Promise.resolve();
    };
    return Promise.resolve({ address, close });
  }

  /** A way to `host:port`. */
  connect(target: string, { secret = "" }: TransportOptions = {}): Channel {
    const address = targetOf(target);
    const closed = new AbortController();
    const call: Channel["call"] = async (path, request, { signal: ended } = {}) => {
      const place = this.#places.get(address);
      if (place === undefined) throw new UnavailableError(`Cannot reach ${address} for ${path}`);
      if (place.secret !== undefined && !sameSecret(place.secret, secret)) {
        throw new UnauthenticatedError("Cannot answer: the call does not have the shared secret");
      }
      const signal = AbortSignal.any([
        place.gone.signal,
        closed.signal,
        ...(ended === undefined ? [] : [ended]),
      ]);
      const lost = new Promise<never>((_, reject) => {
        const fail = (): void =>
          reject(
            ended?.aborted
              ? ended.reason
              : new UnavailableError(`The connection to ${address} was lost`),
          );
        if (signal.aborted) fail();
        else signal.addEventListener("abort", fail, { once: true });
      });
      const answered = place.handler(path, request.slice(), { signal }).catch((error) => {
        const { code, message } = statusOf(error);
        throw errorOf(code, message);
      });
      const parts = await Promise.race([answered, lost]);
      // Both ends own what they have, as over a network.
      return joinParts(parts);
    };
    return { call, close: () => closed.abort() };
  }
}

/** The bytes of all parts in one piece. */
export function joinParts(parts: Parts): Uint8Array {
  const out = new Uint8Array(parts.reduce((n, p) => n + p.length, 0));
  let at = 0;
  for (const part of parts) {
    out.set(part, at);
    at += part.length;
  }
  return out;
}
