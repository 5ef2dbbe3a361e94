/** HttpError: a refusal with an HTTP status, and the statuses of other errors. */
import { Error } from "../engine/core/throwing/builtin_errors.ts";
import { OpError, ValueError } from "../engine/core/errors.ts";
import { type Answer, jsonAnswer } from "./answer.ts";

/** The error of a refused request, with its status. */
export class HttpError extends Error {
  /** Name of the class. */
  override readonly name: string = "HttpError";
  /** Status code of the answer. */
  readonly status: number;
  /** Headers of the answer. */
  readonly headers: Readonly<Record<string, string>>;

  constructor(status: number, message: string, headers: Readonly<Record<string, string>> = {}) {
    super(message);
    this.status = status;
    this.headers = headers;
  }
}

/** HTTP statuses of TensorFlow's codes, as gRPC gateways map them. */
const BY_CODE: Readonly<Record<number, number>> = {
  1: 499,
  3: 400,
  4: 504,
  5: 404,
  7: 403,
  8: 429,
  9: 400,
  11: 400,
  12: 501,
  14: 503,
};

/** Returns the status for an error of a model's run. */
export function statusOf(error: unknown): number {
  if (error instanceof HttpError) return error.status;
  if (error instanceof OpError) return BY_CODE[error.code] ?? 500;
  return error instanceof ValueError ? 400 : 500;
}

/** Removes stack traces from a message: clients should not learn the server's paths. */
function withoutStacks(message: string): string {
  const kept: string[] = [];
  for (const line of message.split("\n")) {
    const isStack = /^\s+at .*:\d+:\d+\)?$/.test(line) || /^Original stack trace for /.test(line);
    // A body's error repeats its message above and below its stack.
    if (!isStack && line.trim() !== "" && line !== kept.at(-1)) kept.push(line);
  }
  return kept.join("\n");
}

/** Makes the answer to a request that failed. */
export function failure(error: unknown): Answer {
  const message = withoutStacks(error instanceof Error ? error.message : String(error));
  const headers = error instanceof HttpError ? Object.entries(error.headers) : [];
  return jsonAnswer({ error: message }, statusOf(error), headers);
}
