// One op of many: written once, for Weft and TensorFlow.js, whose names are the same.

import type { Tensor } from "@tensorflow/tfjs-core";
import type { Tf } from "../peers/tfjs.ts";
import { readFirstElement } from "../peers/weft.ts";
import { normals, sizeOf } from "../random.ts";
import type { Case, Output, Row } from "../row.ts";

/** The result of a call: tensors, or values on the host. */
export type Given = Tensor | readonly Tensor[] | readonly number[];

/** Sets a case up: makes its inputs and returns what to call. */
export type Make = (tf: Tf) => () => Given;

/** An op over inputs of these shapes. */
export type Apply<T extends readonly Tensor[]> = (tf: Tf, ...inputs: T) => Given;

/** Properties of a row beside its work. */
export interface OpCaseOptions {
  /** Relative error that is allowed; absent where results are random. */
  readonly tolerance?: number | null;
  readonly what?: string;
}

function isTensors(given: Given): given is readonly Tensor[] {
  return Array.isArray(given) && typeof given[0] === "object";
}

function outputOf(tf: Tf, given: Given): Output {
  if (!isTensors(given) && Array.isArray(given)) {
    return { data: () => Promise.resolve(given as readonly number[]), dispose() {} };
  }
  const tensors = isTensors(given) ? given : [given as Tensor];
  return {
    data: async () => await tensors[0]!.data(),
    dispose: () => tensors.forEach((t) => t.dispose()),
    firstElement: () => readFirstElement(tf, tensors[0]!),
  };
}

function caseOf(tf: Tf, make: Make): Case {
  // What the set-up makes on the way is freed; the inputs live as long as the process.
  const call = make(tf);
  return { call: () => outputOf(tf, call()) };
}

/** A row for both systems. */
export function opCase(
  id: string,
  make: Make,
  { tolerance = 1e-4, what = "" }: OpCaseOptions = {},
): Row {
  return {
    id,
    what,
    weft: ({ tf }) => caseOf(tf, make),
    tfjs: ({ tf }) => caseOf(tf, make),
    // Two systems that agree; nothing here says what is right, which is for the tests.
    ...(tolerance === null ? {} : {
      check: { expected: () => [], agrees: true, tolerance },
    }),
  };
}

/** Shapes as text. */
export function shapesText(shapes: readonly (readonly number[])[]): string {
  return shapes.map((shape) => `[${shape.join(", ")}]`).join(", ");
}

/** A row of an op on one tensor of random numbers. */
export function unaryCase(
  id: string,
  shape: readonly number[],
  apply: Apply<[Tensor]>,
  dtype: "float32" | "int32" | "bool" = "float32",
): Row {
  return opCase(id, (tf) => {
    const values = normals(sizeOf(shape), 1, dtype === "int32" ? 20 : 1);
    const x = dtype === "int32"
      ? tf.tensor(Int32Array.from(values), [...shape], "int32")
      : tf.tensor(values, [...shape]);
    const input = dtype === "bool" ? tf.greater(x, 0) : x;
    return () => apply(tf, input);
  }, { what: shapesText([shape]) });
}

/** A row of an op on two tensors of random numbers; whole numbers are never 0. */
export function binaryCase(
  id: string,
  shapes: readonly [readonly number[], readonly number[]],
  apply: Apply<[Tensor, Tensor]>,
  dtype: "float32" | "int32" = "float32",
): Row {
  return opCase(id, (tf) => {
    const [a, b] = shapes.map((shape, i) => {
      const values = normals(sizeOf(shape), i + 1, dtype === "int32" ? 20 : 1);
      return dtype === "int32"
        ? tf.tensor(Int32Array.from(values, (v) => Math.trunc(v) || 7), [...shape], "int32")
        : tf.tensor(values, [...shape]);
    });
    return () => apply(tf, a!, b!);
  }, { what: shapesText(shapes) });
}
