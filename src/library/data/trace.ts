/** Functions of elements: traced once into a graph on the CPU, run on host arrays. */
import { packComponents } from "../../engine/core/composite.ts";
import { describe } from "../../engine/core/convert.ts";
import { TypeError } from "../../engine/core/throwing/builtin_errors.ts";
import { InvalidArgumentError, OpError, OutOfRangeError } from "../../engine/core/errors.ts";
import { type Nest, refusePromise } from "../../engine/core/nest.ts";
import type { NdArray } from "../../engine/core/nd_array.ts";
import { withScope } from "../../engine/core/scope_context.ts";
import type { Tensor } from "../../engine/core/tensor.ts";
import { TensorSpec } from "../../engine/core/tensor_spec.ts";
import type { DrawCounts } from "../../engine/ops/random/state.ts";
import { identity } from "../../engine/ops/array/view.ts";
import { asTensor, toInput } from "../../engine/ops/input.ts";
import { ConcreteFunction, liveInputs } from "../../engine/runtime/functions/concrete_function.ts";
import { runRowsOnHost, stackedRun, takesBatches } from "../../engine/runtime/control/lockstep.ts";
import { tfFunction } from "../../engine/runtime/functions/function.ts";
import { newRunContext } from "../../engine/runtime/run/run_context.ts";
import { type RunValue, settled, toHost } from "../../engine/runtime/run/run_value.ts";
import { checkCallable } from "../../engine/script/script.ts";
import { checkElement, type Element, type ElementType, takeApart } from "./element.ts";
import { type Place, Stacked } from "./source.ts";
import { checkArity } from "../../engine/script/arity.ts";

/** A user's function of elements: of the whole element, or of a list's components. */
// deno-lint-ignore no-explicit-any
export type ElementFunction = (...args: any[]) => unknown;

/** A traced function of elements. */
export interface Traced extends ElementType {
  readonly concrete: ConcreteFunction;
  /** True where each result is a script's, made anew by each run. Others may be constants, or inputs. */
  readonly isFresh: boolean;
  /** Computes element `number`. Rejects with the body's error. */
  run(element: Element, place: Place, number: number): Promise<Element>;
  /** True where scripts in it take batches: several elements are computed together by fewer calls. */
  readonly takesBatches: boolean;
  /** Computes elements side by side; null for a function that may not compute the same so. */
  readonly runStacked: ((elements: Stacked, place: Place) => Promise<Stacked>) | null;
  /** Computes elements of these numbers together. Rejects with the body's error. */
  runAll(
    elements: readonly Element[],
    place: Place,
    numbers: readonly number[],
  ): Promise<readonly Element[]>;
}

/** Returns the draws of the stage at a place, which do not depend on whether it computes elements in parallel. */
export function drawsOf({ draws, path }: Place): DrawCounts {
  return draws.within(path.replaceAll("Parallel", ""));
}

/** A function of elements, its input, and the stage that asks. */
export interface FunctionOf {
  readonly fn: ElementFunction;
  readonly input: ElementType;
  readonly method: string;
}

/**
 * Traces a function for elements of a type. Throws `TypeError` where it is async or returns values that are no tensors.
 */
export function traceFunction(fn: ElementFunction, input: ElementType, method: string): Traced {
  checkCallable(fn);
  let structure: unknown;
  const graph = traceOnHost({ fn, input, method }, (result, leaves) => {
    refusePromise(
      result,
      () =>
        `Cannot trace the function of ${method}(): it returned a promise; put what must be awaited into tf.numpyFunction or tf.pyFunction, whose bodies may be async`,
    );
    const parts = takeApart(result);
    structure = parts.structure;
    const seen = new Set<Tensor>(leaves);
    return parts.leaves.map((leaf) => {
      const t = outputTensor(leaf, method);
      // Each component has its own output, also where two are the same tensor.
      const own = seen.has(t) ? identity(t) : t;
      seen.add(own);
      return own;
    });
  });
  // Promises about outputs are checked here, as properties of the element.
  for (const t of graph.outputs) t.promised = false;
  const concrete = new ConcreteFunction(graph);
  const specs = graph.outputs.map((t) => TensorSpec(t.staticShape, t.dtype));
  const runAll: Traced["runAll"] = async (elements, place, numbers) => {
    const rows = elements.map((element, i) => ({
      inputs: liveInputs(concrete, element),
      draws: drawsOf(place).ofElement(numbers[i]),
    }));
    const width = specs.length, inputs = rows.flatMap((row) => row.inputs);
    const out = runRowsOnHost(concrete, rows, newRunContext(place));
    const arrays = await settled(out, inputs, readAll);
    const results = rows.map((_, k) => arrays.slice(k * width, (k + 1) * width));
    for (const result of results) checkElement(result, specs);
    return results;
  };
  const together = stackedRun(concrete);
  // One element by itself, as most are, awaits nothing where its function does not.
  const runOne: Traced["run"] = async (element, place, number) => {
    const inputs = liveInputs(concrete, element), draws = drawsOf(place).ofElement(number);
    const out = runRowsOnHost(concrete, [{ inputs, draws }], newRunContext(place));
    const arrays = out instanceof Promise ? settled(out, inputs, readAll) : toHost(out);
    const result = arrays instanceof Promise ? await arrays : arrays;
    checkElement(result, specs);
    return result;
  };
  return {
    specs,
    structure,
    concrete,
    isFresh: graph.outputs.every((t) => t.op.type === "PyFunc"),
    takesBatches: takesBatches(concrete),
    runStacked: together &&
      (async ({ arrays, length }, place) =>
        new Stacked(await together(arrays, newRunContext(place), drawsOf(place)), length)),
    run: runOne,
    runAll,
  };
}

function readAll(values: readonly RunValue[]): NdArray[] | Promise<NdArray[]> {
  return toHost(values);
}

/** Runs `fn` on the host, as TensorFlow's pipelines run; nodes may ask for other devices. */
export function onHost<R>(fn: () => R): R {
  return withScope({ device: "/device:CPU:0" }, fn);
}

/** Traces a call of `fn` with an element of the input; the graph returns `outputs`. */
export function traceOnHost(
  { fn, input, method }: FunctionOf,
  outputs: (result: unknown, leaves: readonly Tensor[]) => Tensor[],
): ConcreteFunction["graph"] {
  const body = (...leaves: Tensor[]): Tensor[] =>
    outputs(fn(...argumentsOf(fn, packComponents<Tensor>(input.structure, leaves))), leaves);
  const name = `Dataset_${method}_${fn.name || "fn"}`;
  return onHost(() => tfFunction(body, { name }).getConcreteFunction(...input.specs).graph);
}

/**
 * Returns the arguments for an element: a list is spread over a function of several parameters; anything else, and a
 * list for one parameter, is one argument. Throws `TypeError` with Python's phrase where the function declares more
 * parameters.
 */
export function argumentsOf(fn: ElementFunction, element: Nest<Tensor>): unknown[] {
  const list = Array.isArray(element) && fn.length !== 1 ? element : [element];
  checkArity(fn, list.length, 0);
  return list;
}

function outputTensor(leaf: unknown, method: string): Tensor {
  try {
    return asTensor(toInput(leaf as Tensor, "result", method));
  } catch (cause) {
    throw new TypeError(
      `Cannot use what the function of ${method}() returned: wanted tensors, or lists and objects of them, received ${
        describe(leaf)
      }`,
      { cause },
    );
  }
}

/**
 * Adds TensorFlow's words about its place to an error of a user's function. Its class stays, except the error of an
 * ended sequence.
 */
export function functionError(error: unknown, name: string, { path }: Place): unknown {
  if (!(error instanceof OpError)) return error;
  const where =
    `Error in user-defined function passed to ${name} transformation with iterator: ${path}`;
  const { op, node, inputs, message, cause = error } = error;
  const details = { op, node, inputs, cause };
  if (error instanceof OutOfRangeError) {
    const text = `${where}: Function invocation produced OutOfRangeError: ${message}`;
    return new InvalidArgumentError(text, details);
  }
  const Class = error.constructor as new (m: string, d: object) => OpError;
  return new Class(`${where}: ${message}`, details);
}
