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
} from "../../engine/core/errors.ts";

import type { TransportOptions } from "../../engine/core/network.ts";
import { messageOf, readable } from "../../engine/core/thrown.ts";

export type {
  CallOptions,
  Channel,
  Handler,
  Listener,
  Parts,
  TlsOptions,
  Transport,
  TransportOptions,
} from "../../engine/core/network.ts";

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
export function statusOf(thrown: unknown): { code: number; message: string } {
  const error = readable(thrown), message = messageOf(error).replace(MADE_AT, "");
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

/** `host:port` of a target, which may begin with `grpc://` or `grpcs://`. */
export function targetOf(target: string): string {
  return target.replace(/^grpcs?:\/\//, "").replace(/\/+$/, "");
}

/** The target of who listens at an address. */
export function targetAt(address: string, { tls }: TransportOptions): string {
  return `${tls === undefined ? "grpc" : "grpcs"}://${address}`;
}

/** How a target is reached: `grpcs://` asks for TLS. */
export function networkOf<T extends TransportOptions>(target: string, options: T): T {
  const asks = options.tls === undefined && target.startsWith("grpcs://");
  return asks ? { ...options, tls: {} } : options;
}
