/**
 * Source: one stage of a pipeline. Stages pull from each other; an iteration is a chain of async generators.
 */
import type { PartialShape } from "../core/shape.ts";
import { ValueError } from "../core/errors.ts";
import { TensorSpec } from "../core/tensor_spec.ts";
import type { DrawCounts } from "../ops/random/state.ts";
import type { Element, ElementType } from "./element.ts";

/** Where in an iteration a stage stands. */
export interface Place {
  /** The stages from the consumer down, e.g. `Iterator::Root::Batch::Map`. */
  readonly path: string;
  /** Aborts when the iteration ends early or fails. */
  readonly signal: AbortSignal;
  /** How often random ops in functions of elements have drawn in this iteration. */
  readonly draws: DrawCounts;
}

/** What stands in the place of an element that could not be computed. Those after it come all the same. */
export class Failure {
  /** Why. */
  readonly error: unknown;

  /** Keeps the error. */
  constructor(error: unknown) {
    this.error = error;
  }
}

/** One pass over a stage's elements. Ends its own inputs when it is ended. */
export type Elements = AsyncGenerator<Element | Failure, void, undefined>;

/** What a stage is made of. */
export interface SourceInit extends ElementType {
  /** TensorFlow's name of the stage without `Dataset`, e.g. `Map`. */
  readonly kind: string;
  /** Number of elements: `Infinity` for endless ones, null where it is not known. */
  readonly size: number | null;
  /** Starts a pass. `place` is this stage's own. */
  readonly open: (place: Place) => Elements;
}

/** One stage of a pipeline. */
export interface Source extends SourceInit {
  /** `MapDataset:5`, for messages. */
  readonly name: string;
}

let sources = 0;

/** Names a stage and lets its passes know where they stand. */
export function makeSource(init: SourceInit): Source {
  const { open } = init;
  return {
    ...init,
    name: `${init.kind}Dataset:${sources++}`,
    open: (place) => open({ ...place, path: `${place.path}::${init.kind}` }),
  };
}

/** A stage whose elements are of the type of its input's. */
export function sameType(input: Source): ElementType {
  return { specs: input.specs, structure: input.structure };
}

/** The specs with another leading axis each. */
export function withLeading(specs: readonly TensorSpec[], size: number | null): TensorSpec[] {
  return specs.map(({ shape, dtype }) =>
    TensorSpec(shape === null ? null : leading(size, shape), dtype)
  );
}

function leading(size: number | null, shape: NonNullable<PartialShape>): PartialShape {
  return [size, ...shape];
}

/** A count as the user gave it. Throws `ValueError` for what is no integer of at least `least`. */
export function checkCount(value: unknown, what: string, least: number): number {
  if (typeof value === "number" && Number.isInteger(value) && value >= least) return value;
  throw new ValueError(`Cannot take ${what} = ${value}: wanted an integer of at least ${least}`);
}

/** Marks a promise as looked after: its error is reported where it is awaited, later. */
export function looked<T>(promise: Promise<T>): Promise<T> {
  promise.catch(() => {});
  return promise;
}
