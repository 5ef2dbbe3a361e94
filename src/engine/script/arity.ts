/**
 * How many arguments a body takes: its inputs, and the context of the call after them.
 */
import { TypeError } from "../core/throwing/builtin_errors.ts";

/** A body, seen from here. */
interface Body {
  readonly name: string;
  readonly length: number;
}

/**
 * Throws `TypeError` with Python's phrase for a function that declares more parameters than it gets: inputs, and `more` after them. Those
 * from a default or a rest parameter on are not counted.
 */
export function checkArity(body: Body, inputs: number, more = 1): void {
  if (body.length <= inputs + more) return;
  throw new TypeError(takes(body, inputs));
}

/** What the context of a call is as text. Throws `TypeError` where it is taken for a number, as a body does that wants one more input. */
export function contextAs(hint: string, body: Body, inputs: number): string {
  if (hint === "string") return "[object ScriptContext]";
  throw new TypeError(
    body.length > inputs
      ? `${takes(body, inputs)}: its last parameter is the context of the call, which is no number`
      : "Cannot use the context of a call as a number: it follows the inputs of the body",
  );
}

function takes({ name, length }: Body, inputs: number): string {
  return `${name || "<lambda>"}() takes ${length} positional arguments but ${inputs} were given`;
}
