// What the training rows share: the optimizers' constants, a jit-compiled update for jax-js, and reading first losses.

import type { JaxArray, JaxPeer } from "./peers/jax.ts";
import type { Output } from "./row.ts";

/** Optimizers the rows train with. */
export type OptimizerName = "sgd" | "adam";

/** Constants of Adam. */
export interface Adam {
  readonly rate: number;
  readonly beta1: number;
  readonly beta2: number;
  readonly epsilon: number;
}

/** The same constants for every system; their defaults differ in epsilon. */
export const ADAM: Adam = { rate: 0.001, beta1: 0.9, beta2: 0.999, epsilon: 1e-7 };

/** Rows with a one at each label. */
export function oneHotOf(labels: Int32Array, classes: number): Float32Array<ArrayBuffer> {
  const rows = new Float32Array(labels.length * classes);
  for (const [row, label] of labels.entries()) rows[row * classes + label] = 1;
  return rows;
}

/** Number of losses that are compared with the reference. */
const CHECKED_STEPS = 3;

/** Does the first steps and reads their losses. */
export async function firstLosses(step: () => Output | Promise<Output>): Promise<number[]> {
  const losses: number[] = [];
  for (let i = 0; i < CHECKED_STEPS; i++) {
    const loss = await step();
    losses.push((await loss.data())[0]!);
    loss.dispose();
  }
  return losses;
}

type JaxLoss = (parameters: JaxArray[], ...data: JaxArray[]) => JaxArray;

/** Training state of jax-js: parameters, and for Adam both moments and the step number. */
type State = JaxArray[][];

/** A training step of jax-js, compiled whole: loss, gradients and update in one `jit`. */
export function jaxUpdate(
  peer: JaxPeer,
  loss: JaxLoss,
  parameters: JaxArray[],
  data: JaxArray[],
  optimizer: Adam | { readonly rate: number },
): { call(): Promise<Output>; dispose(): void } {
  const { jax } = peer;
  const { numpy } = jax;

  function zerosLike(values: readonly JaxArray[]): JaxArray[] {
    return values.map((value) => numpy.zeros(value.shape));
  }

  function update(state: State, gradients: JaxArray[]): State {
    if (!("beta1" in optimizer)) {
      return [state[0]!.map((value, i) => value.sub(gradients[i]!.mul(optimizer.rate)))];
    }
    const { rate, beta1, beta2, epsilon } = optimizer;
    const [values, first, second, [steps]] = state as [
      JaxArray[],
      JaxArray[],
      JaxArray[],
      [JaxArray],
    ];
    const step = steps.add(1);
    const correct1 = numpy.array(1).sub(numpy.power(numpy.array(beta1), step.ref));
    const correct2 = numpy.array(1).sub(numpy.power(numpy.array(beta2), step.ref));
    const next = values.map((value, i) => {
      const m = first[i]!.mul(beta1).add(gradients[i]!.ref.mul(1 - beta1));
      const v = second[i]!.mul(beta2).add(numpy.square(gradients[i]!).mul(1 - beta2));
      const root = numpy.sqrt(v.ref.div(correct2.ref)).add(epsilon);
      return { value: value.sub(m.ref.div(correct1.ref).div(root).mul(rate)), m, v };
    });
    correct1.dispose();
    correct2.dispose();
    return [next.map(({ value }) => value), next.map(({ m }) => m), next.map(({ v }) => v), [step]];
  }

  const step = jax.jit((state: State, data: JaxArray[]): [JaxArray, State] => {
    const differentiate = jax.valueAndGrad((values: JaxArray[], data: JaxArray[]) =>
      loss(values, ...data)
    );
    const [value, gradients] = differentiate(state[0]!.map((array) => array.ref), data);
    return [value, update(state, gradients as JaxArray[])];
  });

  let state: State = "beta1" in optimizer
    ? [parameters, zerosLike(parameters), zerosLike(parameters), [numpy.zeros([])]]
    : [parameters];
  return {
    async call(): Promise<Output> {
      const [value, next] = step(state, data.map((array) => array.ref)) as [JaxArray, State];
      state = next;
      // What is not asked for is not computed: the new parameters are started as well.
      for (const array of state.flat()) (await peer.start(array.ref)).dispose();
      return await peer.start(value);
    },
    dispose(): void {
      for (const array of [...state.flat(), ...data]) array.dispose();
    },
  };
}
