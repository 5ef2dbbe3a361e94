/**
 * Transport of a service's calls: unary calls with bytes in and bytes out. gRPC over HTTP/2 is one, a table in memory
 * another.
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
  ValueError,
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

/** Default limit of a message's bytes. */
export const MAX_MESSAGE_BYTES: number = 1 << 30;

/** Metadata key of a call's secret. */
export const SECRET_HEADER = "x-weft-secret";

type OpErrorClass = new (message: string, details?: object) => OpError;

const CLASSES: readonly OpErrorClass[] = [
  ...[CancelledError, UnknownError, InvalidArgumentError, DeadlineExceededError, NotFoundError],
  ...[AlreadyExistsError, PermissionDeniedError, ResourceExhaustedError],
  ...[FailedPreconditionError, AbortedError, OutOfRangeError, UnimplementedError, InternalError],
  ...[UnavailableError, DataLossError, UnauthenticatedError],
];

/** Makes the error of a status code; `UnknownError` for unknown codes. */
export function errorOf(code: number, message: string): OpError {
  return new (CLASSES[code - 1] ?? UnknownError)(message);
}

/** The stack trace that an error of an imported node ends with, which tells the caller nothing. */
const MADE_AT = /\n\nOriginal stack trace for '[^'\n]*':(\n\s+at .*)*/;

/** Returns the status code and text of an error that a handler threw. */
export function statusOf(thrown: unknown): { code: number; message: string } {
  const error = readable(thrown, ["name", "message", "code"]),
    message = messageOf(error).replace(MADE_AT, "");
  if (error instanceof OpError) return { code: error.code, message };
  // The caller's mistakes are not the server's faults.
  return { code: error instanceof TypeError || error instanceof RangeError ? 3 : 2, message };
}

/** Throws `ValueError` for an empty secret, as of an environment variable that is not set: it would guard nothing. */
export function checkSecret({ secret }: TransportOptions): void {
  if (secret !== "") return;
  throw new ValueError("Cannot use an empty secret: wanted one with characters, or none");
}

/** Compares two secrets in a time that does not tell where they differ. */
export function sameSecret(wanted: string, given: string): boolean {
  const [a, b] = [wanted, given].map((text) => new TextEncoder().encode(text));
  let different = a.length ^ b.length;
  for (let i = 0; i < a.length; i++) different |= a[i] ^ (b[i % Math.max(b.length, 1)] ?? 0);
  return different === 0;
}

/** Returns the `host:port` of a target, which may begin with `grpc://` or `grpcs://`. */
export function targetOf(target: string): string {
  return target.replace(/^grpcs?:\/\//, "").replace(/\/+$/, "");
}

/** Returns the target of a server that listens at an address. */
export function targetAt(address: string, { tls }: TransportOptions): string {
  return `${tls === undefined ? "grpc" : "grpcs"}://${address}`;
}

/** Returns the options for a target: `grpcs://` asks for TLS. */
export function networkOf<T extends TransportOptions>(target: string, options: T): T {
  const asks = options.tls === undefined && target.startsWith("grpcs://");
  return asks ? { ...options, tls: {} } : options;
}
