/** Drivers of examples that learn to play. */
import type { Any, Drivers } from "../types.ts";

/** The numbers in all weights of a model. */
async function weightsOf(model: Any): Promise<number[]> {
  const values = await Promise.all(model.getWeights().map((t: Any) => t.data()));
  return values.flatMap((data) => [...data]);
}

/** Examples that play. */
export const GAMES: Drivers = {
  "cart-pole": {
    edits: { "index.js": [["\nsetUpUI();", ""]] },
    isSeeded: false,
    async run({ tf, load }) {
      const { SaveablePolicyNetwork } = await load("index.js");
      const { CartPole } = await load("cart_pole.js");
      const network = new SaveablePolicyNetwork([8]), system = new CartPole();
      const before = await weightsOf(network.policyNet);
      for (let i = 0; i < 2; i++) await network.train(system, tf.train.adam(0.05), 0.95, 3, 30);
      const after = await weightsOf(network.policyNet);
      if (after.every((w, i) => w === before[i])) throw new Error("No weight has changed");
      return { values: after };
    },
  },
  "snake-dqn": {
    isSeeded: false,
    async run({ tf, load }) {
      const { SnakeGame } = await load("snake_game.js");
      const { SnakeGameAgent } = await load("agent.js");
      const { copyWeights } = await load("dqn.js");
      const game = new SnakeGame({ height: 7, width: 7, numFruits: 1, initLen: 2 });
      const agent = new SnakeGameAgent(game, {
        replayBufferSize: 16,
        epsilonInit: 1,
        epsilonFinal: 1,
        epsilonDecayFrames: 10,
        learningRate: 1e-3,
      });
      for (let i = 0; i < 16; i++) agent.playStep();
      const before = await weightsOf(agent.onlineNetwork);
      for (let i = 0; i < 3; i++) agent.trainOnReplayBatch(8, 0.99, tf.train.adam(1e-3));
      copyWeights(agent.targetNetwork, agent.onlineNetwork);
      const after = await weightsOf(agent.targetNetwork);
      if (after.every((w, i) => w === before[i])) throw new Error("No weight has changed");
      return { values: after };
    },
  },
};
