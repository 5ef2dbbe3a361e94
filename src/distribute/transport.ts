/**
 * How programs of a service reach each other: unary calls with bytes in and bytes out. gRPC over HTTP/2 is one way, a table in memory another.
 */
import {
  AbortedError,
  AlreadyExistsError,
  CancelledError,
  DataLossError,
  DeadlineExceededError,
  FailedPreconditionError,
  InternalError,
  InvalidArgumentError,
  NotFoundError,
  OpError,
  OutOfRangeError,
  PermissionDeniedError,
  ResourceExhaustedError,
  UnauthenticatedError,
  UnavailableError,
  UnimplementedError,
  UnknownError,
} from "../core/errors.ts";

/** Bytes of a message, in parts that are sent one after the other: nothing is copied to join them. */
export type Parts = readonly Uint8Array[];

/** Answers calls. What it throws reaches the caller with its class and text. */
export type Handler = (
  path: string,
  request: Uint8Array,
  call: { readonly signal: AbortSignal },
) => Promise<Parts>;

/** Where calls are answered. */
export interface Listener {
  /** `host:port`, as others reach it. */
  readonly address: string;
  /** Ends it: calls that are being answered are left `graceMs` to end. */
  close(options?: { readonly graceMs?: number }): Promise<void>;
}

/** Options of one call. */
export interface CallOptions {
  /** Ends the call. */
  readonly signal?: AbortSignal;
  /** Time after which it is given up with `DeadlineExceededError`. */
  readonly timeoutMs?: number;
}

/** A way to one service. It connects when it is first used, and anew where the connection was lost. */
export interface Channel {
  /** Calls; rejects with the error of the other end, with `UnavailableError` where it cannot be reached. */
  call(path: string, request: Uint8Array, options?: CallOptions): Promise<Uint8Array>;
  /** Ends it and the calls on their way. */
  close(): void;
}

/** Bounds and secrets of a transport. */
export interface TransportOptions {
  /** Most bytes of one message that are taken. Default 1 GiB. */
  readonly maxMessageBytes?: number;
  /** Text that callers must give and that calls give: for programs of our own, as TensorFlow's know no secret. */
  readonly secret?: string;
}

/** A kind of network. */
export interface Transport {
  /** Answers calls at an address; port 0 takes a free one. */
  listen(
    at: { readonly host: string; readonly port: number },
    handler: Handler,
    options?: TransportOptions,
  ): Promise<Listener>;
  /** A way to `host:port`. */
  connect(target: string, options?: TransportOptions): Channel;
}

/** Most bytes of a message where nothing else is said. */
export const MAX_MESSAGE_BYTES: number = 1 << 30;

/** Where a secret stands in a call's metadata. */
export const SECRET_HEADER = "x-weft-secret";

type OpErrorClass = new (message: string, details?: object) => OpError;

const CLASSES: readonly OpErrorClass[] = [
  ...[CancelledError, UnknownError, InvalidArgumentError, DeadlineExceededError, NotFoundError],
  ...[AlreadyExistsError, PermissionDeniedError, ResourceExhaustedError],
  ...[FailedPreconditionError, AbortedError, OutOfRangeError, UnimplementedError, InternalError],
  ...[UnavailableError, DataLossError, UnauthenticatedError],
];

/** The error of a status code, `UnknownError` for numbers that are none. */
export function errorOf(code: number, message: string): OpError {
  return new (CLASSES[code - 1] ?? UnknownError)(message);
}

/** Where a node was made: here by whatever read it from a message, which tells the caller nothing. */
const MADE_AT = /\n\nOriginal stack trace for '[^'\n]*':(\n\s+at .*)*/;

/** Status code and text of what a handler threw. */
export function statusOf(error: unknown): { code: number; message: string } {
  const message = (error instanceof Error ? error.message : String(error)).replace(MADE_AT, "");
  if (error instanceof OpError) return { code: error.code, message };
  // What a caller got wrong is no fault of the server.
  return { code: error instanceof TypeError || error instanceof RangeError ? 3 : 2, message };
}

/** True where two secrets are the same; how long it takes does not tell where they differ. */
export function sameSecret(wanted: string, given: string): boolean {
  const [a, b] = [wanted, given].map((text) => new TextEncoder().encode(text));
  let different = a.length ^ b.length;
  for (let i = 0; i < a.length; i++) different |= a[i] ^ (b[i % Math.max(b.length, 1)] ?? 0);
  return different === 0;
}

/** `host:port` of a target, which may begin with `grpc://`. */
export function targetOf(target: string): string {
  return target.replace(/^grpc:\/\//, "").replace(/\/+$/, "");
}
