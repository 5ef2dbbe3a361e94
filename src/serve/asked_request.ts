/** Requests as handlers ask them: web-standard ones, or those of sockets. */
import { UnavailableError } from "../engine/core/errors.ts";

/** Says that a client has left, the same to all: a stack for each costs more than to answer for health. */
export const LEFT: Error = new UnavailableError("The client went away");
/** The used members of headers, whose names are taken in lower case. */
export type AskedHeaders = Pick<Headers, "get" | "has"> & Iterable<[string, string]>;

/** The used members of a request: to make a whole web-standard one takes longer than to answer for health. */
export interface AskedRequest extends
  Pick<
    Request,
    "method" | "url" | "signal" | "body" | "bodyUsed" | "arrayBuffer"
  > {
  readonly headers: AskedHeaders;
  /** False where its client waits for answers to other requests of its connection already. */
  readonly isAlone?: boolean;
}
