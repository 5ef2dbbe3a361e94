/**
 * The ways in which a program is run: eagerly, compiled with shapes known and unknown, in a session, and differentiated in each.
 *
 * @module
 */

import * as tf from "@weft/weft";
import { arrayValue, type Value, valuesOf } from "./compare.ts";
import { datasetModes } from "./dataset_modes.ts";
import { gradientOf, isSource, lossOf } from "./gradient_of.ts";
import { type Results, withInputs } from "./inputs.ts";
import { bodyOf, changesVariables, inOtherWords, inputArrays, type Program } from "./program.ts";
import { transformModes } from "./transform_modes.ts";

/** A way to run a program. */
export interface Mode {
  readonly name: string;
  /** With which mode it is compared. */
  readonly like: "eager" | "gradient";
  /** Results that replace those of that mode in the comparison. */
  readonly want?: (program: Program, relative?: number) => Promise<Results>;
  /** Times that it gives the results, if not once. */
  readonly times?: number;
  /** Runs the program; `relative` moves its inputs. */
  run(program: Program, relative?: number): Promise<Results>;
}

type Shapes = "known" | "unknown dims" | "unknown rank";

/** A signature for a program's inputs. */
function specsOf(program: Program, shapes: Shapes): ReturnType<typeof tf.TensorSpec>[] {
  return program.inputs.map(({ dtype, shape }) =>
    tf.TensorSpec(
      shapes === "known" ? shape : shapes === "unknown dims" ? shape.map(() => null) : null,
      dtype,
    )
  );
}

function eager(program: Program, relative?: number): Promise<Results> {
  return withInputs(program, (inputs) => valuesOf(bodyOf(program)(...inputs)), relative);
}

function gradient(program: Program, relative?: number): Promise<Results> {
  return withInputs(
    program,
    (inputs) => valuesOf(gradientOf(bodyOf(program))(...inputs)),
    relative,
  );
}

/** Checks results against the shapes and dtypes that were known while the function was traced. */
function checkStatic(traced: readonly (tf.Tensor | null)[], results: Results): void {
  traced.forEach((t, i) => {
    const value = results[i];
    if (t === null || !value) return;
    const known = t.staticShape;
    const fits = known === null || known === undefined ||
      (known.length === value.shape.length &&
        known.every((d, k) => d === null || d === value.shape[k]));
    if (!fits) {
      throw new Error(`result ${i} has static shape [${known}], its value [${value.shape}]`);
    }
  });
}

/** A call of a function of the inputs that are no variables, which it uses from outside. */
function functionOf<R>(
  program: Program,
  fn: (...inputs: tf.Tensor[]) => R,
  { inputs, shapes }: { readonly inputs: readonly tf.Tensor[]; readonly shapes: Shapes },
): { now: () => R; later: () => Promise<R> } {
  const isGiven = (_: unknown, i: number): boolean => !program.inputs[i]!.variable;
  const body = (...given: tf.Tensor[]): R => {
    const next = given.values();
    return fn(...inputs.map((x, i) => isGiven(x, i) ? next.next().value! : x));
  };
  const f = tf.function(body, { inputSignature: specsOf(program, shapes).filter(isGiven) });
  const given = inputs.filter(isGiven);
  return { now: () => f(...given), later: () => f.async(...given) };
}

function compiled(shapes: Shapes, differentiates: boolean): Mode["run"] {
  return (program) =>
    withInputs(program, async (inputs) => {
      const fn = differentiates ? gradientOf(bodyOf(program)) : bodyOf(program);
      let traced: (tf.Tensor | null)[] = [];
      const noting = (...xs: tf.Tensor[]): (tf.Tensor | null)[] =>
        traced = fn(...xs).map((t) => t ?? null);
      const results = await valuesOf(await functionOf(program, noting, { inputs, shapes }).later());
      checkStatic(traced, results);
      return results;
    });
}

/** The gradient of a call of a compiled function. */
function gradientOfCall(program: Program): Promise<Results> {
  return withInputs(program, async (inputs) => {
    const f = functionOf(program, bodyOf(program), { inputs, shapes: "known" });
    using tape = new tf.GradientTape();
    const sources = inputs.filter(isSource);
    tape.watch(sources);
    const losses = lossOf(await f.later());
    return await valuesOf(tape.gradient(losses, sources) as (tf.Tensor | null)[]);
  });
}

/** The graph as a file has it. Throws `NotImplementedError` for what no file holds. */
function reread(
  graph: tf.Graph,
  wanted: readonly tf.Tensor[],
): { read: tf.Graph; names: string[] } {
  const read = new tf.Graph(), names = wanted.map((t) => t.name);
  try {
    const def = graph.toGraphDef();
    read.asDefault(() => tf.importGraphDef(def, { prefix: "" }));
  } catch (cause) {
    throw new tf.NotImplementedError("The program is in no file", { cause });
  }
  return { read, names };
}

/** A session on a graph of placeholders, which may go through a file first. */
function session(shapes: Shapes, differentiates: boolean, imports = false): Mode["run"] {
  return async (program) => {
    using _scope = tf.scope();
    const graph = new tf.Graph(), specs = specsOf(program, shapes);
    const { inputs, fetches } = graph.asDefault(() => {
      const inputs = specs.map(({ dtype, shape }, i) => tf.placeholder(dtype, shape, `x${i}`));
      const results = bodyOf(program)(...inputs);
      // A file may hold other nodes for an op, but for these the same.
      const outputs = imports ? results.map((t) => tf.identity(t)) : results;
      const fetches: (tf.Tensor | null)[] = differentiates
        ? gradientsOf(lossOf(outputs), inputs.filter(isSource))
        : outputs;
      return { inputs, fetches };
    });
    const arrays = inputArrays(program);
    const wanted = fetches.filter((t) => t !== null);
    if (imports) {
      const { read, names } = reread(graph, wanted);
      await using sess = new tf.Session({ graph: read });
      const feeds = Object.fromEntries(inputs.map((x, i) => [x.name, arrays[i]!]));
      const found: unknown[] = await sess.run(names as never, { feeds } as never) as never;
      return wanted.map((t, i) => valueOf(found[i], t.dtype));
    }
    await using sess = new tf.Session({ graph });
    const feeds = new Map(inputs.map((x, i) => [x, arrays[i]!]));
    const found: unknown[] = await sess.run(wanted as never, { feeds: feeds as never }) as never;
    let next = 0;
    const results = fetches.map((t) => t && valueOf(found[next++], t.dtype));
    checkStatic(fetches, results);
    return results;
  };
}

/** A session on a graph that calls a function, in which the program's changes of variables are in order. */
function sessionOfCall(differentiates: boolean): Mode["run"] {
  return async (program) => {
    using _scope = tf.scope();
    const graph = new tf.Graph(), arrays = inputArrays(program);
    const { inputs, fetches, initializer } = graph.asDefault(() => {
      const inputs = program.inputs.map(({ dtype, shape, variable }, i) =>
        variable
          ? tf.variable(tf.tensor(arrays[i]!)) as unknown as tf.Tensor
          : tf.placeholder(dtype, shape)
      );
      const body = differentiates ? gradientOf(bodyOf(program)) : bodyOf(program);
      // A session runs what a fetch needs: one result of a call needs all of it.
      const fn = (...xs: tf.Tensor[]): (tf.Tensor | null)[] => [...body(...xs), tf.constant(1)];
      const fetches = functionOf(program, fn, { inputs, shapes: "known" }).now();
      return { inputs, fetches, initializer: tf.compat.v1.globalVariablesInitializer() };
    });
    await using sess = new tf.Session({ graph });
    await sess.run(initializer as never);
    const isVariable = (x: unknown): boolean => x instanceof tf.Variable;
    const feeds = new Map(
      inputs.map((x, i) => [x, arrays[i]!] as const).filter(([x]) => !isVariable(x)),
    );
    const read = async (list: readonly tf.Tensor[]): Promise<Results> => {
      const found: unknown[] = await sess.run(list as never, { feeds: feeds as never }) as never;
      return list.map((t, i) => valueOf(found[i], t.dtype));
    };
    const found = (await read(fetches.filter((t) => t !== null))).values();
    const results = fetches.slice(0, -1).map((t) => t && found.next().value!);
    return changesVariables(program)
      ? [...results, ...await read(inputs.filter(isVariable))]
      : results;
  };
}

function gradientsOf(ys: tf.Tensor[], xs: tf.Tensor[]): (tf.Tensor | null)[] {
  return ys.length === 0 ? xs.map(() => null) : tf.gradients(ys, xs) as (tf.Tensor | null)[];
}

/** A session gives scalars as numbers. */
function valueOf(v: unknown, dtype: string): Value {
  if (v instanceof tf.NdArray) return arrayValue(v);
  return { dtype, shape: [], data: [v].flat().map(Number) };
}

/** Runs on a device, and goes back to the one before. */
export async function onDevice<R>(device: string, run: () => Promise<R>): Promise<R> {
  const before = tf.getBackend();
  await tf.setBackend(device as never);
  try {
    return await run();
  } finally {
    await tf.setBackend(before as never);
  }
}

/** With what modes are compared. */
export const REFERENCES: Readonly<Record<Mode["like"], Mode["run"]>> = { eager, gradient };

/** True where a program needs variables, which placeholders are not: a script reads them unseen, or a module lists them. */
function needsVariables(program: Program): boolean {
  return program.lines.some(({ code, operands }) =>
    /pyFunction|tf\.Module/.test(code) && operands.some((o) => program.inputs[o]?.variable)
  );
}

/** Every mode that can run a program on a device; those that compare devices where there are two. */
export function modesFor(program: Program, device: string): Mode[] {
  const both = (name: string, run: (differentiates: boolean) => Mode["run"]): Mode[] => [
    { name, like: "eager", run: run(false) },
    { name: `gradient, ${name}`, like: "gradient", run: run(true) },
  ];
  const inOther = (g: boolean): Mode["run"] => (program) =>
    REFERENCES[g ? "gradient" : "eager"](inOtherWords(program) ?? program);
  const all = [
    ...(inOtherWords(program) === null ? [] : both("other words", inOther)),
    ...both("function", (g) => compiled("known", g)),
    ...both("function of unknown dims", (g) => compiled("unknown dims", g)),
    ...both("function of unknown rank", (g) => compiled("unknown rank", g)),
    // Nothing orders the changes of variables in a graph.
    ...(changesVariables(program) ? both("session of a call", sessionOfCall) : []),
    ...(changesVariables(program) || needsVariables(program) ? [] : [
      ...both("session", (g) => session("known", g)),
      ...both("session of unknown rank", (g) => session("unknown rank", g)),
      { name: "session of a file", like: "eager" as const, run: session("known", false, true) },
      ...datasetModes(program),
      ...transformModes(program),
    ]),
    { name: "gradient of a call", like: "gradient" as const, run: gradientOfCall },
  ];
  if (device === "cpu") return all;
  const onCpu = (g: boolean): Mode["run"] => (program) =>
    onDevice("cpu", () => REFERENCES[g ? "gradient" : "eager"](program));
  return [...all, ...both("cpu", onCpu)];
}
