/** Requests as handlers ask them: web-standard ones, or those of sockets. */
import { UnavailableError } from "../engine/core/errors.ts";

/** Says that a client has left, the same to all: a stack for each costs more than to answer for health. */
export const LEFT: Error = new UnavailableError("The client went away");

/** The used members of headers, whose names are taken in lower case. */
export type AskedHeaders = Pick<Headers, "get" | "has"> & Iterable<[string, string]>;

/** Header fields as one list, which is quickly made and sent to other threads. */
export class FlatHeaders implements AskedHeaders {
  /** Names, in lower case, and values by turns. */
  readonly list: readonly string[];

  constructor(list: readonly string[]) {
    this.list = list;
  }

  get(name: string): string | null {
    const { list } = this;
    let found: string | null = null;
    for (let i = 0; i + 1 < list.length; i += 2) {
      if (list[i] === name) found = found === null ? list[i + 1] : `${found}, ${list[i + 1]}`;
    }
    return found;
  }

  has(name: string): boolean {
    return this.get(name) !== null;
  }

  *[Symbol.iterator](): IterableIterator<[string, string]> {
    for (let i = 0; i + 1 < this.list.length; i += 2) yield [this.list[i], this.list[i + 1]];
  }
}

/** Returns names and values of headers by turns. */
export const listOf = (headers: AskedHeaders): readonly string[] =>
  headers instanceof FlatHeaders ? headers.list : [...headers].flat();

/** The used members of a request: to make a whole web-standard one takes longer than to answer for health. */
export interface AskedRequest extends Pick<Request, "method" | "url" | "signal" | "body"> {
  readonly headers: AskedHeaders;
  /** False where its client waits for answers to other requests of its connection already. */
  readonly isAlone?: boolean;
  /** The client: requests of one share turns. */
  readonly client?: string;
  /** All of the body, where it is there already. */
  readonly whole?: Uint8Array<ArrayBuffer>;
}

/** A request whose body may be read in one go. */
export interface ReadableRequest extends AskedRequest, Pick<Request, "bodyUsed" | "arrayBuffer"> {
  /** True where the memory of each part of its body is the reader's alone, to give away as well. */
  readonly givesParts?: boolean;
}
