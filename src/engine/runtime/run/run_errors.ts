/** Errors of a run: each is an `OpError` that names its node and the place where the node was made. */
import {
  InvalidArgumentError,
  NotImplementedError,
  OpError,
  UnimplementedError,
  UnknownError,
} from "../../core/errors.ts";
import { type PartialShape, shapeText } from "../../core/shape.ts";
import { messageOf, readable } from "../../core/thrown.ts";
import { causeBehind, trimStack, userFrames } from "../../core/throwing/user_stack.ts";

/** The name of a node in errors. */
export interface ErrorPlace {
  readonly name: string;
  readonly def: { readonly name: string };
  /** The operation that it comes from. */
  readonly source: { readonly definitionSite: string };
}

/** Formats the lines below an error's text: the node, as in TensorFlow, and where it was made. */
export function placeText(node: string | undefined, definitionSite: string | undefined): string {
  if (node === undefined) return "";
  const site = userFrames(definitionSite);
  const within = /^In (.+)\n/.exec(definitionSite ?? "")?.[1];
  return `\n\t [[{{node ${node}}}]]${
    site === ""
      ? ""
      : `\n\nOriginal stack trace for '${node}'${within ? `, in ${within}` : ""}:\n${site}`
  }`;
}

/** Returns the error as one of this node. Errors that name a node stay as they are. */
export function locatedAt(thrown: unknown, { name, def, source }: ErrorPlace): unknown {
  const e = readable(thrown);
  if (e instanceof OpError && e.node !== undefined) return thrown;
  const Class = e instanceof OpError ? e.constructor as OpErrorClass : classOf(e);
  const error = new Class(messageOf(e) + placeText(name, source.definitionSite), {
    op: e instanceof OpError && e.op !== undefined ? e.op : def.name,
    node: name,
    inputs: e instanceof OpError ? e.inputs : undefined,
    cause: e instanceof OpError ? e.cause : causeBehind(thrown),
  });
  trimStack(error);
  return error;
}

type OpErrorClass = new (message: string, details: object) => OpError;

/** Returns the error class for an error of a kernel or a shape rule. */
function classOf(e: unknown): OpErrorClass {
  if (e instanceof RangeError || e instanceof TypeError) return InvalidArgumentError;
  if (e instanceof NotImplementedError) return UnimplementedError;
  return UnknownError;
}

/** Makes the error of an output whose shape differs from the promised one. */
export function brokenPromise(
  output: number,
  node: string,
  actual: readonly number[],
  declared: PartialShape,
): InvalidArgumentError {
  return new InvalidArgumentError(
    `Shape of output ${output} of ${node} is ${
      shapeText(actual)
    }, which is not compatible with the declared shape ${shapeText(declared)}`,
  );
}
