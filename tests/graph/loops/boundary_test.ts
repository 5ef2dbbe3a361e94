/** Reads and uploads of runs that wait for each other: each run gets its own arrays, in the order in which they came. */
import * as tf from "@weft/weft";
import { assertEquals } from "@std/assert";
import { cpuDevice } from "../../../src/engine/runtime/devices/devices.ts";
import type { EagerTensor } from "../../../src/engine/runtime/eager/tensor.ts";
import { Boundary } from "../../../src/engine/runtime/plan/boundary.ts";
import { uploadTogether } from "../../../src/engine/runtime/run/host_rows.ts";
import { RunContext } from "../../../src/engine/runtime/run/run_context.ts";

/** A boundary, a run that waits at it for tensors of the CPU, and what each run was told. */
function waiting(): {
  readonly boundary: Boundary;
  readonly add: (name: string, tensors?: readonly tf.Tensor[]) => void;
  readonly told: string[];
} {
  const boundary = new Boundary(new RunContext()), told: string[] = [];
  const add = (name: string, tensors: readonly tf.Tensor[] = []): void =>
    boundary.add({
      reads: tensors.map((t) => (t as EagerTensor).memory),
      device: tensors.length > 0 ? cpuDevice() : null,
      go: (arrays) => void told.push(`${name} ${JSON.stringify(arrays.map((a) => a.toArray()))}`),
      drop: () => void told.push(`${name} dropped`),
      fail: (error) => void told.push(`${name} ${error}`),
    });
  return { boundary, add, told };
}

Deno.test("runs at a boundary get what they wait for, in one read, those without reads none", async () => {
  await tf.setBackend("cpu");
  using _scope = tf.scope();
  const { boundary, add, told } = waiting();
  add("a"), add("b");
  await boundary.pass();
  assertEquals(told.splice(0), ["a []", "b []"]);
  add("c", [tf.tensor([1, 2]), tf.tensor(3)]), add("d"), add("e", [tf.tensor([[4]])]);
  assertEquals(boundary.count, 3);
  await boundary.passAll();
  assertEquals(told, ["c [[1,2],3]", "d []", "e [[[4]]]"]);
  assertEquals(boundary.count, 0);
});

Deno.test("runs that turn out not to be wanted are dropped after the read that says so", async () => {
  await tf.setBackend("cpu");
  using _scope = tf.scope();
  const { boundary, add, told } = waiting();
  add("a", [tf.tensor([5])]);
  const also = {
    reads: [(tf.tensor(false) as unknown as EagerTensor).memory],
    device: cpuDevice(),
  };
  await boundary.pass(also, ([more]) => Boolean(more!.item()));
  assertEquals(told, ["a dropped"]);
});

Deno.test("uploadTogether() gives each array its tensor, alone or among others of its kind", async () => {
  await tf.setBackend("cpu");
  using _scope = tf.scope();
  const arrays = [[1, 2], [[3]], [4, 5], [], [6, 7], []].map((v) => tf.tensor(v).ndarraySync());
  const tensors = uploadTogether(arrays, cpuDevice());
  assertEquals(tensors.map((t) => t.arraySync()), [[1, 2], [[3]], [4, 5], [], [6, 7], []]);
  tensors.forEach((t) => t.dispose());
});
