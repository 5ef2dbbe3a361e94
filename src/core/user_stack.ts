/**
 * Stack texts without the library's own frames, so that the user's line comes first.
 */

import { textOf } from "./thrown.ts";

/**
 * Where this library's modules are: its sources, or the files of its package, as tools/build.ts names them. Null in a user's bundle,
 * where nothing tells its lines from the user's.
 */
const HOME = /^(.*\/)(?:core\/user_stack\.[jt]s|weft-chunk-\w+\.js)$/.exec(import.meta.url)?.[1] ??
  null;

/** Frames of the engine, and of the code that a package holds for its workers. */
const NOBODYS = /\((<anonymous>|native)\)|ext:|weft_worker\.js/;

/** The frames of a stack text that are not this library's, one a line; all of them where nothing else is left. */
export function userFrames(stack = ""): string {
  const frames = framesOf(stack);
  const theirs = frames.filter(isUsers);
  return (theirs.length > 0 ? theirs : frames).join("\n");
}

/** Runs `fn`, whose errors have frames enough to reach the user's line from below the library's. */
export function withLongStacks<R>(fn: () => R): R {
  // V8 has this limit, other engines do not mind. Where intrinsics are frozen it stays as it is.
  const before = (Error as { stackTraceLimit?: number }).stackTraceLimit;
  Reflect.set(Error, "stackTraceLimit", 40);
  try {
    return fn();
  } finally {
    if (before !== undefined) Reflect.set(Error, "stackTraceLimit", before);
  }
}

/** Gives an error a stack that begins at the user's line. */
export function trimStack(error: Error): void {
  const frames = framesOf(stackBelow(error)).filter(isUsers);
  Reflect.set(error, "stack", [`${error.name}: ${error.message}`, ...frames].join("\n"));
}

/** The stack of an error without its message, in which there may be lines of other stacks. */
export function stackBelow(error: Error): string {
  const stack = stackOf(error), at = stack.indexOf(error.message);
  return at < 0 ? stack : stack.slice(at + error.message.length);
}

/**
 * The stack of an error as a text, empty where it has none that can be read. A program's `Error.prepareStackTrace` may give call sites,
 * or throw.
 */
export function stackOf(error: Error): string {
  try {
    const stack: unknown = error.stack;
    if (Array.isArray(stack)) return stack.map((site) => `    at ${textOf(site)}`).join("\n");
    return typeof stack === "string" ? stack : "";
  } catch {
    return "";
  }
}

function framesOf(stack: string): string[] {
  return stack.split("\n").filter((line) => /^\s+at |@.+:\d+/.test(line));
}

function isUsers(frame: string): boolean {
  return (HOME === null || !frame.includes(HOME)) && !NOBODYS.test(frame);
}
