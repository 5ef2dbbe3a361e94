/**
 * Runs one example inside its bundle, in Deno or in a page: makes what is random the same each time, listens to the training, and
 * answers what the example fetches.
 */
import { numbers } from "./made.ts";
import type { Any, Driver, Outcome, Stage } from "./types.ts";

/** The report of a run. */
export interface Told {
  /** Losses of the steps. */
  readonly losses: readonly number[];
  /** Number of applied gradients. */
  readonly steps: number;
  /** Results. */
  readonly values: readonly number[];
  /** The backend that it ran on, and whether tensors were Weft's. */
  readonly backend: string;
}

/** Files of the example by name, started when asked for. */
export type Files = Readonly<Record<string, () => Promise<Any>>>;

/** Runs the example. */
export async function perform(tf: Any, driver: Driver, files: Files): Promise<Told> {
  fixRandomNumbers(tf);
  const heard = listen(tf);
  const bodies: [string, BodyInit][] = [];
  answerFetch(bodies);
  const args: Record<string, Any> = {};
  (globalThis as Any).exampleArguments = args;
  const stage: Stage = {
    tf,
    args,
    serve: (ending, body) => void bodies.push([ending, body]),
    async load(file) {
      const module = await files[file]();
      return module.default ?? module;
    },
  };
  const outcome: Outcome = await driver.run(stage) ?? {};
  const costs = await Promise.all(heard.costs.map(async (t) => Number((await t.data())[0])));
  return {
    losses: outcome.losses ?? costs,
    steps: Math.max(heard.steps, costs.length),
    values: Array.from(outcome.values ?? []),
    backend: tf.getBackend() + (tf.Tensor.prototype.ndarray ? " of Weft" : " of TensorFlow.js"),
  };
}

/** The same numbers for every run and library: those of `Math.random()` and the weights that layers begin with. */
function fixRandomNumbers(tf: Any): void {
  let state = 42;
  Math.random = () => (state = (state * 16807) % 2147483647) / 2147483647;
  const { classNameMap } = tf.serialization.SerializationMap.getMap();
  let made = 0;
  const names = [
    "VarianceScaling",
    "RandomUniform",
    "RandomNormal",
    "TruncatedNormal",
    "Orthogonal",
  ];
  for (const name of names) {
    const [initializer] = classNameMap[name];
    initializer.prototype.apply = (shape: number[], dtype: string) => {
      const size = shape.reduce((a, b) => a * b, 1), columns = shape.at(-1) ?? 1;
      const scale = 2 / Math.sqrt(Math.max(1, size / columns));
      return tf.tensor(numbers(size, ++made).map((x) => (x - 0.5) * scale), shape, dtype);
    };
  }
}

/**
 * Keeps the loss of each step of `fit()` and the cost of each `minimize()` outside of one, and counts how often gradients are applied.
 * A step may be compiled: what it calls is then called once, in a trace, and only what it returns are values.
 */
function listen(tf: Any): { readonly costs: Any[]; steps: number } {
  const heard = { costs: [] as Any[], steps: 0 };
  let inStep = false;
  const keep = (cost: Any) => void heard.costs.push(tf.keep(tf.clone(cost)));
  const replaced = new Set<Any>();
  const replace = (start: Any, name: string, by: (original: Any) => Any) => {
    let owner = start;
    while (!Object.hasOwn(owner, name)) owner = Object.getPrototypeOf(owner);
    const original = owner[name];
    if (replaced.has(original)) return;
    replaced.add(owner[name] = by(original));
  };
  replace(tf.LayersModel.prototype, "makeTrainFunction", (original) =>
    function (this: Any) {
      const step = original.call(this);
      return (data: Any) => {
        inStep = true;
        try {
          const outputs = step(data);
          keep([outputs].flat()[0]);
          return outputs;
        } finally {
          inStep = false;
        }
      };
    });
  for (const kind of ["sgd", "momentum", "rmsprop", "adam", "adadelta", "adamax", "adagrad"]) {
    const optimizer = tf.train[kind](0.1, 0.9);
    replace(
      optimizer,
      "minimize",
      (original) =>
        function (this: Any, f: () => Any, returnCost?: boolean, variables?: Any) {
          if (inStep) return original.call(this, f, returnCost, variables);
          const cost = original.call(this, f, true, variables);
          keep(cost);
          if (returnCost) return cost;
          cost.dispose();
          return null;
        },
    );
    replace(optimizer, "applyGradients", (original) =>
      function (this: Any, gradients: Any) {
        if (!inStep) heard.steps++;
        return original.call(this, gradients);
      });
  }
  return heard;
}

/** Answers from `bodies`; what is not there is not found. */
function answerFetch(bodies: readonly [string, BodyInit][]): void {
  const types: Record<string, string> = { json: "application/json", csv: "text/csv" };
  globalThis.fetch = (input: Any) => {
    const address = String(input.url ?? input).split("?")[0];
    const found = bodies.find(([ending]) => address.endsWith(ending));
    if (found === undefined) return Promise.resolve(new Response("Not found", { status: 404 }));
    const type = types[address.split(".").at(-1)!] ?? "application/octet-stream";
    return Promise.resolve(new Response(found[1], { headers: { "content-type": type } }));
  };
}
