/** Checks the number of a body's parameters: its inputs, then the context of the call. */
import { TypeError } from "../core/throwing/builtin_errors.ts";

/** The parts of a body that the check needs. */
interface Body {
  readonly name: string;
  readonly length: number;
}

/**
 * Throws `TypeError` with Python's phrase for a function with more required parameters than inputs and `more` further
 * arguments. Default and rest parameters are not counted.
 */
export function checkArity(body: Body, inputs: number, more = 1): void {
  if (body.length <= inputs + more) return;
  throw new TypeError(takes(body, inputs));
}

/**
 * Converts a call's context to text. Throws `TypeError` for a use as a number, by a body that expects one more input.
 */
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
