/**
 * CartPole two ways: whole episodes in a loop of the graph, which calls the simulator at each step, and episodes played by eager code.
 * Both train the same policy by REINFORCE.
 *
 * `deno run examples/cartpole.ts`
 *
 * @module
 */

import * as tf from "@weft/weft";

const MOST_STEPS = 200, EPISODES = 8;

/** Barto, Sutton and Anderson's cart with a pole, as Gym's CartPole-v1 has it. A simulator knows nothing of tensors. */
class CartPole {
  /** The states of the episode, and the actions that were taken in them. */
  states: number[][] = [];
  actions: number[] = [];
  #seed = 1;

  reset(): number[] {
    const start = (): number => (this.#seed = this.#seed * 48271 % 0x7fffffff) / 0x7fffffff;
    [this.states, this.actions] = [[[0, 0, 0, 0].map(() => 0.1 * start() - 0.05)], []];
    return this.states[0];
  }

  step(action: number): [state: number[], done: boolean] {
    const [x, speed, angle, spin] = this.states.at(-1)!,
      cos = Math.cos(angle),
      sin = Math.sin(angle);
    const push = ((action === 1 ? 10 : -10) + 0.05 * spin * spin * sin) / 1.1;
    const turn = (9.8 * sin - cos * push) / (0.5 * (4 / 3 - 0.1 * cos * cos / 1.1));
    const slide = push - 0.05 * turn * cos / 1.1;
    const state = [x, speed, angle, spin].map((v, i) => v + 0.02 * [speed, slide, spin, turn][i]);
    this.states.push(state);
    this.actions.push(action);
    const isLast = this.actions.length === MOST_STEPS;
    return [state, isLast || Math.abs(state[0]) > 2.4 || Math.abs(state[2]) > 0.2095];
  }
}

const env = new CartPole();
const hidden = tf.variable(tf.zeros([4, 32])), output = tf.variable(tf.zeros([32, 2]));
const logits = (states: tf.Tensor): tf.Tensor =>
  tf.matMul(tf.tanh(tf.matMul(states, hidden)), output);
/** An action drawn by the policy, as a scalar. */
const act = (state: tf.Tensor): tf.Tensor =>
  tf.cast(tf.reshape(tf.random.categorical(logits(tf.expandDims(state, 0)), 1), []), "int32");

/** The first way: one call for an episode, however long. On a GPU only the action comes back at each step. */
const inGraph = tf.function((first: tf.Tensor) => {
  const step = (action: tf.NdArray) => env.step(Number(action));
  const Tout = [tf.TensorSpec([4], "float32"), tf.TensorSpec([], "bool")] as const;
  const [, done] = tf.whileLoop(
    (_state, done) => tf.logicalNot(done),
    (state) => tf.numpyFunction(step, [act(state)], Tout),
    [first, tf.scalar(false)],
  );
  return done;
});

/**
 * The second way: the loop is JavaScript, and each action is read where it is used. With a policy this small that is the faster one
 * on a CPU, where a read costs nothing; the first one also goes into a file, and runs where nothing can be read at once.
 */
function eagerly(first: tf.Tensor): void {
  let state = first.arraySync() as number[];
  for (let done = false; !done;) {
    [state, done] = env.step(tf.tidy(() => act(tf.tensor(state)).item()));
  }
}

const optimizer = tf.train.adam(0.02);
/** A step of REINFORCE: what was done in good episodes becomes more likely. Steps differ in number: one trace serves all. */
const learn = tf.function((states: tf.Tensor, actions: tf.Tensor, gains: tf.Tensor) => {
  const loss = (): tf.Tensor => {
    const chosen = tf.mul(tf.logSoftmax(logits(states)), tf.oneHot(actions, 2));
    return tf.neg(tf.mean(tf.mul(tf.sum(chosen, 1), gains)));
  };
  return optimizer.minimize(loss, true);
}, {
  inputSignature: [tf.TensorSpec([null, 4]), tf.TensorSpec([null], "int32"), tf.TensorSpec([null])],
});

const sum = (values: readonly number[]): number => values.reduce((a, b) => a + b);

/** Plays some episodes and learns from them. Returns how many steps they had. */
function round(play: (first: tf.Tensor) => unknown): number {
  using _scope = tf.scope();
  const episodes = Array.from({ length: EPISODES }, () => {
    play(tf.tensor(env.reset()));
    return { states: env.states.slice(0, -1), actions: env.actions };
  });
  const actions = episodes.flatMap((episode) => episode.actions);
  // How long each action kept the pole up, later steps counting less, beside the mean of the round.
  const gains = episodes.flatMap(({ actions: { length } }) =>
    Array.from({ length }, (_, i) => 1 - 0.97 ** (length - i))
  );
  const mean = sum(gains) / gains.length;
  learn(
    tf.tensor(episodes.flatMap((episode) => episode.states)),
    tf.tensor(actions, [actions.length], "int32"),
    tf.tensor(gains.map((g) => 5 * (g - mean))),
  );
  return actions.length;
}

function main(): void {
  for (const [name, play] of Object.entries({ "in the graph": inGraph, eagerly })) {
    tf.setRandomSeed(2);
    hidden.assign(tf.randomNormal([4, 32], 0, 0.5));
    output.assign(tf.zeros([32, 2]));
    const began = performance.now(), steps = Array.from({ length: 40 }, () => round(play));
    const speed = Math.round(sum(steps) / (performance.now() - began) * 1000);
    const [first, last] = [steps[0], steps.at(-1)!].map((n) => Math.round(n / EPISODES));
    console.log(`${name}: ${first} steps an episode at first, ${last} at last, ${speed} a second`);
  }
}

if (import.meta.main) main();
