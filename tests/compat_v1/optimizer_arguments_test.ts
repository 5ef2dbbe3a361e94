/** The constructors of TensorFlow 1's optimizers, called with values of other kinds. */
import * as tf from "@weft/weft";
import { assertThrows } from "@std/assert";

const v1 = tf.compat.v1;

Deno.test("optimizers refuse arguments of another kind, and take numbers, tensors and functions", () => {
  const { train } = v1, wrong: readonly unknown[] = ["0.1", {}, [0.1], true, null, () => {}];
  const classes: Record<
    string,
    [make: (...args: never[]) => tf.compat.v1.train.Optimizer, string[]]
  > = {
    GradientDescentOptimizer: [(r) => new train.GradientDescentOptimizer(r), ["learningRate"]],
    MomentumOptimizer: [
      (r, m, n) => new train.MomentumOptimizer(r, m, n),
      ["learningRate", "momentum", "useNesterov"],
    ],
    AdagradOptimizer: [(r) => new train.AdagradOptimizer(r), ["learningRate"]],
    AdadeltaOptimizer: [
      (r, d, e) => new train.AdadeltaOptimizer(r, d, e),
      ["learningRate", "rho", "epsilon"],
    ],
    RMSPropOptimizer: [
      (r, d, m, e, c) => new train.RMSPropOptimizer(r, d, m, e, c),
      ["learningRate", "decay", "momentum", "epsilon", "centered"],
    ],
    AdamOptimizer: [
      (r, a, b, e) => new train.AdamOptimizer(r, a, b, e),
      ["learningRate", "beta1", "beta2", "epsilon"],
    ],
    FtrlOptimizer: [(r) => new train.FtrlOptimizer(r), ["learningRate"]],
  };
  const isFlag = (name: string): boolean => ["useNesterov", "centered"].includes(name);
  for (const [kind, [make, names]] of Object.entries(classes)) {
    const good = names.map((name): unknown => isFlag(name) ? true : 0.5);
    names.forEach((name, at) => {
      for (const value of wrong) {
        const isRight = isFlag(name) ? value === true : typeof value === "function";
        const build = (): unknown => make(...good.with(at, value) as never[]);
        if (isRight) build();
        else assertThrows(build, TypeError, `Argument '${name}' passed to '${kind}' must be`);
      }
      if (!isFlag(name)) make(...good.with(at, tf.scalar(0.5)) as never[]);
    });
  }
  assertThrows(
    () => new train.AdamOptimizer(0.1, 0.9, 0.999, 1e-8, 3 as never),
    TypeError,
    "'name'",
  );
});
