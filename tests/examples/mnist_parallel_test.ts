/** examples/mnist_parallel.ts in processes of their own. They run what the example says, with fewer steps. */

import { assert, assertAlmostEquals, assertEquals } from "@std/assert";

const PROGRAM = new URL("../../examples/mnist_parallel.ts", import.meta.url).href;
const STEP = /^Step (\d+) of replica (\d+): loss (.+)$/gm;

/** Returns the output of the example. */
async function run(...options: readonly string[]): Promise<string> {
  const { code, stdout, stderr } = await new Deno.Command(Deno.execPath(), {
    args: ["run", "-A", "--quiet", "--no-check", PROGRAM, ...options],
    // It begins sooner than a GPU, and four processes would share one.
    env: { NO_COLOR: "1", WEFT_DEVICE: "cpu" },
  }).output();
  const [out, errors] = [stdout, stderr].map((text) => new TextDecoder().decode(text));
  assertEquals(code, 0, errors);
  return out!;
}

/** The losses of each step, one for each replica that gave a gradient for it. */
function losses(out: string): number[][] {
  const steps: number[][] = [];
  for (const [, step, , loss] of out.matchAll(STEP)) {
    (steps[Number(step)] ??= []).push(Number(loss));
  }
  return steps;
}

const mean = (values: readonly number[]): number =>
  values.reduce((a, b) => a + b, 0) / values.length;

/** The share of the test images that it recognised, in percent. */
const accuracy = (out: string): number => Number(/([\d.]+) % of the test images/.exec(out)![1]);

Deno.test("four processes train with the losses of one that has four times the batch", async () => {
  const [four, one] = [
    await run("--replicas=4", "--steps=12", "--each"),
    await run("--replicas=1", "--steps=12", "--each"),
  ];
  const each = losses(four), whole = losses(one);
  assertEquals(each.map((l) => l.length), Array(12).fill(4));
  assertEquals(whole.map((l) => l.length), Array(12).fill(1));
  each.forEach((l, step) => assertAlmostEquals(mean(l), whole[step]![0]!, 1e-5));
  // A digit may be seen otherwise where two are about as likely.
  assertAlmostEquals(accuracy(four), accuracy(one), 0.2);
});

Deno.test("a process that is killed in the middle comes back, and training ends as well as without that", async () => {
  const out = await run("--replicas=4", "--steps=60", "--each", "--kill=2");
  assertEquals([...out.matchAll(/Replica (\d) was killed/g)].map(([, r]) => r), ["2"]);
  const steps = losses(out);
  assertEquals(steps.length, 60);
  // Each step used all four gradients, even if the process that made one has ended.
  assertEquals(steps.filter((l) => l.length < 3 || l.length > 5), []);
  assert(accuracy(out) > 80, out);
});
