/** Training that goes on from a file after its GPU was lost. */
import * as tf from "@weft/weft";
import { assert, assertEquals } from "@std/assert";
import { gpuDevice } from "../../src/engine/runtime/devices/devices.ts";
import type { WebGpuDevice } from "../../src/engine/devices/webgpu/webgpu_device.ts";
import { testOnGpu } from "../devices.ts";

testOnGpu(
  "training goes on after a loss from what saveVariables() wrote, as if nothing had happened",
  async () => {
    const path = await Deno.makeTempFile({ suffix: ".safetensors" });
    const x = [[1, 2], [3, 4], [5, 6]], y = [[1], [2], [4]];
    /** Trains for ten steps as the README says, and is struck before one of them. */
    async function train(struckAt: number): Promise<number[]> {
      const model = { w: tf.variable([[0.5], [-0.25]]), b: tf.variable([0]) };
      const optimizer = tf.train.adam(0.05);
      const step = tf.function((x: tf.Tensor, y: tf.Tensor) =>
        optimizer.minimize(
          () => tf.mean(tf.square(tf.sub(tf.add(tf.matMul(x, model.w), model.b), y))),
          true,
          [model.w, model.b],
        )
      );
      const losses: number[] = [];
      for (let i = 0; i < 10;) {
        try {
          if (i % 3 === 0) await tf.io.saveVariables(path, { model, optimizer });
          if (i === struckAt) {
            struckAt = -1;
            (gpuDevice() as WebGpuDevice).gpu.destroy();
          }
          using _scope = tf.scope();
          const loss = step(tf.tensor(x), tf.tensor(y)) as tf.Tensor;
          losses[i] = (await loss.data())[0] as number;
          i++;
        } catch (error) {
          if (!(error instanceof tf.errors.UnavailableError)) throw error;
          assert(
            /tf\.io\.saveVariables\(\).*tf\.io\.loadVariables\(\)/.test(error.message),
            error.message,
          );
          await tf.ready();
          await tf.io.loadVariables(path, { model, optimizer });
          i = optimizer.iterations;
        }
      }
      optimizer.dispose();
      tf.dispose(model);
      return losses;
    }
    const undisturbed = await train(-1);
    assert(undisturbed[9] < undisturbed[0]);
    assertEquals(await train(5), undisturbed);
    assertEquals(await train(6), undisturbed);
    await Deno.remove(path);
  },
);
