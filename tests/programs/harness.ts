/**
 * Whole programs, each one entry, run in every way that Weft can run them.
 *
 * An entry says what its variables and inputs are and builds a step. From it come all the modes: eager, `tf.function` around the
 * forward pass, the loss, the whole step or all of them, `.async`, and a graph with a session. Each must give what eager mode gives on
 * the same device, and what TensorFlow gave (`goldens.json`, written by `python/goldens.py` from the same entries in Python), and must
 * leave no tensor behind however often the step is repeated.
 */

import * as tf from "@weft/weft";
import { assert, assertEquals } from "@std/assert";
import { testRowOnDevices } from "../devices.ts";
import { effort } from "../effort.ts";
import {
  assertNear,
  NEAR_EAGER,
  NEAR_TENSORFLOW,
  type Result,
  type Value,
  valueOf,
} from "./result.ts";
import { type Start, valuesOf } from "./values.ts";

/** The outputs of a step: tensors to compare. */
export type Outputs = Record<string, tf.Tensor>;

/** An operation of a graph; null eagerly, where it has run. */
export type Effect = tf.Operation | tf.Tensor | null;

/** The parts of a program. */
export interface Parts {
  /** The variables, by name. */
  readonly v: Record<string, tf.Variable>;
  /** Marks a forward pass, which some modes compile. */
  forward<A extends unknown[], R>(fn: (...args: A) => R): (...args: A) => R;
  /** Marks a loss, which some modes compile. */
  loss<A extends unknown[], R>(fn: (...args: A) => R): (...args: A) => R;
  /** A step of training: the cost, and what {@linkcode Parts.effect} gives for the step. */
  minimize(
    optimizer: tf.Optimizer,
    cost: () => tf.Tensor,
    variables?: readonly tf.Variable[],
  ): { cost: tf.Tensor; train: Effect };
  /** Has a session run this besides the outputs: functions and eager code run their effects anyway. */
  effect(operation: Effect): Effect;
  /** Frees this, an optimizer say, when the program ends. */
  own<T extends Disposable>(resource: T): T;
}

/** A step: from what it is fed to what it gives. */
export type StepFunction = (inputs: Record<string, tf.Tensor>) => Outputs;

/** A program. */
export interface Program {
  /** Its name in the test and the golden file. */
  readonly name: string;
  /** Where its variables start. */
  readonly variables?: Record<string, Start>;
  /** Inputs of each step. */
  readonly inputs?: Record<string, Start>;
  /** Elements of this dataset are what each step is given, instead of `inputs`. */
  readonly dataset?: () => tf.data.Dataset<Record<string, tf.Tensor>>;
  /** Number of steps compared with TensorFlow's. Default 3. */
  readonly steps?: number;
  /** Makes the step; it may keep state of its own, such as optimizers. */
  readonly build: (parts: Parts) => StepFunction;
  /** True: the step frees what it makes but for its outputs, so that eager modes need no scope around it. */
  readonly frees?: boolean;
  /** Modes that it cannot have, each with the reason. */
  readonly without?: Partial<Record<Mode, string>>;
  /** Tolerance against TensorFlow and other modes, if the dtypes do not determine it. */
  readonly tolerance?: { readonly value: number; readonly reason: string };
}

/** The ways to run a program. */
export const MODES = ["eager", "forward", "loss", "step", "nested", "async", "session"] as const;
/** One of {@linkcode MODES}. */
export type Mode = typeof MODES[number];

/** Why a program that only has a step has no modes of a model. */
export const NO_MODEL = "there is only a step";
/** The modes of a program without a forward pass or a loss. */
export const ONLY_STEP: Partial<Record<Mode, string>> = {
  forward: NO_MODEL,
  loss: NO_MODEL,
  nested: NO_MODEL,
};
/** The modes of a program whose loss has no forward pass of its own. */
export const NO_FORWARD: Partial<Record<Mode, string>> = {
  forward: "the loss is all of the model",
};

const TITLES: Record<Mode, string> = {
  eager: "eagerly",
  forward: "with tf.function around the forward pass",
  loss: "with tf.function around the loss",
  step: "with tf.function around the step",
  nested: "with functions in a function",
  async: "with tf.function, awaited",
  session: "as a graph in a session",
};

/** Which of the parts a mode compiles. */
const COMPILES: Partial<Record<Mode, readonly ("forward" | "loss")[]>> = {
  forward: ["forward"],
  loss: ["loss"],
  nested: ["forward", "loss"],
};

/** Steps after which the totals of memory must stay as they are. */
const WARM_UP = 3;

/** Number of further steps. A leak in every step shows at once, many steps show occasional ones. */
const REPETITIONS = effort(2, 50);

const goldens: Record<string, Result> = JSON.parse(
  await Deno.readTextFile(new URL("goldens.json", import.meta.url)),
);

/** Registers the tests of programs: one for each and each device, with a step for each mode. */
export function testPrograms(programs: readonly Program[]): void {
  for (const program of programs) {
    testRowOnDevices(`program: ${program.name}`, async (_device, t) => {
      const golden = goldens[program.name];
      assert(
        golden,
        `TensorFlow's results of "${program.name}" are missing: run python/goldens.py`,
      );
      const eager: { result?: Result } = {};
      for (const mode of MODES) {
        if (program.without?.[mode] !== undefined) continue;
        await t.step(TITLES[mode], async () => {
          await using run = new Run(program, mode);
          const result = await run.play();
          assertNear(result, golden, program.tolerance?.value ?? NEAR_TENSORFLOW);
          eager.result ??= result;
          assertNear(result, eager.result, program.tolerance?.value ?? NEAR_EAGER);
          await run.repeat(REPETITIONS);
        });
      }
    });
  }
}

/** A step in some mode: from arrays to arrays. */
type Step = (feeds: Record<string, tf.NdArray>) => Promise<Record<string, Value>>;

/** A program being run in one mode. */
class Run {
  readonly #program: Program;
  readonly #mode: Mode;
  readonly #variables: Record<string, tf.Variable> = {};
  readonly #owned: Disposable[] = [];
  /** Operations that were made outside of functions are of a session's graph. */
  readonly #effects: (tf.Operation | tf.Tensor)[] = [];
  readonly #marked = new Set<string>();
  readonly #step: Step;
  #session: tf.Session | null = null;

  constructor(program: Program, mode: Mode) {
    this.#program = program;
    this.#mode = mode;
    Object.entries(program.variables ?? {}).forEach(([name, start], i) => {
      const { dtype } = valuesOf(start, i + 1);
      this.#variables[name] = tf.variable(valuesOf(start, i + 1), true, undefined, dtype);
    });
    const mark = (kind: "forward" | "loss") => <A extends unknown[], R>(fn: (...args: A) => R) => {
      this.#marked.add(kind);
      return COMPILES[mode]?.includes(kind) ? tf.function(fn) : fn;
    };
    const effect = (operation: Effect): Effect => {
      if (operation) this.#effects.push(operation);
      return operation;
    };
    const step = program.build({
      v: this.#variables,
      forward: mark("forward"),
      loss: mark("loss"),
      own: (resource) => {
        this.#owned.push(resource);
        return resource;
      },
      minimize: (optimizer, cost, variables) => {
        if (mode !== "session") {
          return { cost: optimizer.minimize(cost, true, variables), train: null };
        }
        const value = cost();
        return { cost: value, train: effect(optimizer.minimize(value, false, variables)) };
      },
      effect,
    });
    this.#step = mode === "session"
      ? this.#asGraph(step)
      : mode === "step" || mode === "nested" || mode === "async"
      ? this.#compiled(step)
      : this.#eagerly(step);
  }

  /** The steps that TensorFlow was given too. */
  async play(): Promise<Result> {
    for (const kind of COMPILES[this.#mode] ?? []) {
      const says = this.#program.without?.[kind] === undefined;
      assertEquals(this.#marked.has(kind), says, `whether there is a ${kind} to compile`);
    }
    const steps: Result["steps"] = [];
    for (const feeds of await this.#feeds()) steps.push(await this.#step(feeds));
    const variables: Result["variables"] = {};
    for (const [name, v] of Object.entries(this.#variables)) {
      variables[name] = valueOf(v.ndarraySync());
    }
    return { steps, variables };
  }

  /** Repeats the first step, and sees that nothing stays. */
  async repeat(times: number): Promise<void> {
    const [feeds] = await this.#feeds();
    for (let i = 0; i < WARM_UP; i++) await this.#step(feeds);
    const before = totals();
    for (let i = 0; i < times; i++) await this.#step(feeds);
    assertEquals(totals(), before, `what is alive after ${times} more steps`);
  }

  async #feeds(): Promise<Record<string, tf.NdArray>[]> {
    const { dataset, inputs = {}, steps = 3 } = this.#program;
    if (dataset) return await Array.fromAsync(dataset().asNumpyIterator());
    return Array.from({ length: steps }, (_, k) =>
      Object.fromEntries(
        Object.entries(inputs).map((
          [name, start],
          i,
        ) => [name, valuesOf(start, 100 * (i + 1) + k)]),
      ));
  }

  #eagerly(step: StepFunction): Step {
    return (feeds) =>
      withTensors(
        feeds,
        async (inputs) =>
          await read(this.#program.frees ? step(inputs) : tf.tidy(() => step(inputs))),
      );
  }

  #compiled(step: StepFunction): Step {
    const f = tf.function(step);
    return (feeds) =>
      withTensors(
        feeds,
        async (inputs) => await read(this.#mode === "async" ? await f.async(inputs) : f(inputs)),
      );
  }

  #asGraph(step: StepFunction): Step {
    const graph = new tf.Graph();
    const session = this.#session = new tf.Session({ graph });
    let built: { inputs: Record<string, tf.Tensor>; outputs: Outputs } | null = null;
    return async (feeds) => {
      built ??= graph.asDefault(() => {
        const inputs = Object.fromEntries(
          Object.entries(feeds).map((
            [name, { dtype, shape }],
          ) => [name, tf.placeholder(dtype, shape, name)]),
        );
        return { inputs, outputs: step(inputs) };
      });
      const { inputs, outputs } = built;
      const { values } = await session.run(
        { values: outputs, effects: this.#effects.filter((o) => o.graph === graph) },
        { feeds: new Map(Object.entries(feeds).map(([name, a]) => [inputs[name], a])) },
      ) as { values: Record<string, unknown> };
      return Object.fromEntries(
        Object.entries(outputs).map(([name, x]) => [name, valueOf(values[name], x.dtype)]),
      );
    };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#session?.close();
    for (const resource of this.#owned) resource[Symbol.dispose]();
    for (const v of Object.values(this.#variables)) v.dispose();
  }
}

function totals(): Partial<tf.MemoryInfo> {
  const { numTensors, numBytes, numDataBuffers, registeredScripts, liveTapes } = tf.memory();
  return { numTensors, numBytes, numDataBuffers, registeredScripts, liveTapes };
}

async function withTensors<R>(
  feeds: Record<string, tf.NdArray>,
  use: (inputs: Record<string, tf.Tensor>) => Promise<R>,
): Promise<R> {
  const inputs = Object.fromEntries(
    Object.entries(feeds).map(([name, a]) => [name, tf.tensor(a)]),
  );
  try {
    return await use(inputs);
  } finally {
    for (const t of Object.values(inputs)) t.dispose();
  }
}

async function read(outputs: Outputs): Promise<Record<string, Value>> {
  const values: Record<string, Value> = {};
  for (const [name, t] of Object.entries(outputs)) {
    values[name] = valueOf(await t.ndarray());
    t.dispose();
  }
  return values;
}

/** Runs `fn` after these operations where a graph is being built; eagerly they have run. */
export function after<R>(operations: readonly (Effect | tf.Tensor)[], fn: () => R): R {
  return tf.controlDependencies(operations.filter((o) => o !== null), fn);
}
