/** Replicas of a small network, with the data of their parts of each batch, for tests of training by several. */
import * as tf from "@weft/weft";
import { assertAlmostEquals, assertEquals } from "@std/assert";
import {
  DataParallel,
  type DataParallelOptions,
  remoteTarget,
  type Server,
  type TrainOptions,
} from "@weft/weft/distribute";

const PART = 8, REPLICAS = 4;

/** Where a task is. */
export type Where = Pick<Server, "target" | "transport">;

/** A replica of a small network, and the data of its part of each batch. */
export class Replica implements AsyncDisposable {
  readonly losses: number[] = [];
  readonly variables: tf.Variable[];
  readonly training: DataParallel;
  readonly #first: number;
  readonly #rows: number;

  constructor(
    server: Where,
    options: Partial<DataParallelOptions> = {},
  ) {
    const { replica = 0, replicas = REPLICAS } = options;
    const start = (rows: number, columns: number): number[][] =>
      Array.from(
        { length: rows },
        (_, i) => Array.from({ length: columns }, (_, j) => Math.sin(i + 3 * j) / 2),
      );
    this.variables = [start(3, 5), [start(1, 5)[0]], start(5, 1)].map((v) => tf.variable(v));
    this.#rows = PART * REPLICAS / replicas;
    this.#first = replica * this.#rows;
    this.training = new DataParallel({
      target: remoteTarget(server.target, { transport: server.transport }),
      variables: this.variables,
      optimizer: new tf.compat.v1.train.GradientDescentOptimizer(0.1),
      replica,
      replicas,
      ...options,
    });
  }

  readonly loss = (step: number): tf.Tensor => {
    const [w, b, v] = this.variables;
    const rows = Array.from({ length: this.#rows }, (_, i) => 1000 * step + this.#first + i);
    const x = rows.map((r) => [Math.sin(r), Math.cos(2 * r), Math.sin(3 * r)]);
    const y = x.map(([p, q, r]) => [p * q - r]);
    const made = tf.matMul(tf.tanh(tf.add(tf.matMul(x, w), b)), v);
    return tf.mean(tf.square(tf.sub(made, y)));
  };

  async train<B>(steps: number, options: TrainOptions<B> = {}): Promise<number> {
    return await this.training.train<B>(steps, this.loss, {
      ...options,
      onStep: (step, loss) => {
        this.losses[step] = loss;
        options.onStep?.(step, loss);
      },
    });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.training.close();
    for (const v of this.variables) v.dispose();
  }
}

type Options = Partial<DataParallelOptions>;

/** Trains with all replicas; gives the mean losses of each step and the parameters of each replica. */
export async function together(
  server: Where,
  steps: number,
  options: Options & { readonly replicas: number },
): Promise<{ losses: number[]; parameters: number[][] }> {
  const all = Array.from(
    { length: options.replicas },
    (_, replica) => new Replica(server, { ...options, replica }),
  );
  try {
    await Promise.all(all.map((r) => r.train(steps)));
    return {
      losses: Array.from(
        { length: steps },
        (_, step) => all.reduce((sum, r) => sum + r.losses[step], 0) / all.length,
      ),
      parameters: all.map((r) =>
        r.variables.flatMap((v) => Array.from(v.dataSync() as Float32Array))
      ),
    };
  } finally {
    for (const r of all) await r[Symbol.asyncDispose]();
  }
}

/** Fails where numbers differ. */
export function near(
  actual: readonly number[],
  expected: readonly number[],
  tolerance = 1e-5,
): void {
  assertEquals(actual.length, expected.length);
  actual.forEach((x, i) => assertAlmostEquals(x, expected[i], tolerance));
}
