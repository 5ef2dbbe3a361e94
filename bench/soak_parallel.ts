// Trains examples/mnist_parallel.ts in four processes, and again while one of them or their task is killed at some moment; says how
// long that took and how well they learned.
//
//   deno task bench soak parallel [--steps 400] [--rounds 1]
//
// A round kills each of the five once. Training must end within 1.5 times the time that it takes undisturbed, which is the mean of the
// undisturbed trainings before and after it, as a machine is not always as busy; and as well.

import { freePort, Killable } from "./killable.ts";

const REPLICAS = 4, MOST_TIMES = 1.5, MOST_WORSE = 1;
const program = (path: string): string => new URL(path, import.meta.url).pathname;

/** The process to kill, and the step. */
interface Kill {
  readonly victim: number;
  readonly step: number;
}

/** The step that a replica has said last. */
function stepOf({ said }: Killable): number {
  return Number(/.*^Step (\d+) /ms.exec(said)?.[1] ?? -1);
}

/** Seconds of a training, and the share of the test images that it recognises, in percent. */
async function train(steps: number, kill?: Kill): Promise<{ seconds: number; percent: number }> {
  const port = freePort(), folder = await Deno.makeTempDir({ prefix: "weft_soak_" });
  const task = Killable.program(
    program("../tests/distribute/session/replica_process.ts"),
    "server",
    port,
  );
  const all = [task];
  let timer: ReturnType<typeof setInterval> | undefined;
  try {
    await task.ready();
    const start = performance.now();
    const options = [`--steps=${steps}`, `--target=grpc://127.0.0.1:${port}`];
    for (let replica = 0; replica < REPLICAS; replica++) {
      const own = [`--replica=${replica}`, `--replicas=${REPLICAS}`, `--checkpoint=${folder}/c`];
      all.push(
        Killable.program(program("../examples/mnist_parallel.ts"), "--each", ...own, ...options),
      );
    }
    let isKilled = false;
    timer = kill && setInterval(() => {
      if (isKilled || stepOf(all[1]!) < kill.step) return;
      isKilled = true;
      void all[kill.victim]!.restart();
    }, 50);
    const codes = await Promise.all(all.slice(1).map((p) => p.ended));
    if (codes.some((code) => code !== 0)) throw new Error(`Replicas ended with ${codes}`);
    if (kill !== undefined && !isKilled) throw new Error("Training had ended before the kill");
    const percent = Number(/([\d.]+) % of the test/.exec(all[1]!.said)?.[1]);
    return { seconds: (performance.now() - start) / 1000, percent };
  } finally {
    clearInterval(timer);
    await Promise.all(all.map((p) => p.kill()));
    await Deno.remove(folder, { recursive: true });
  }
}

/** Trains with and without kills, in turns. */
export async function parallel(
  { steps, rounds }: { readonly steps: number; readonly rounds: number },
): Promise<number> {
  let wrong = 0;
  for (let round = 0; round < rounds; round++) {
    let before = await train(steps);
    for (let victim = 0; victim <= REPLICAS; victim++) {
      const step = Math.floor(steps * (0.2 + 0.6 * Math.random()));
      const hurt = await train(steps, { victim, step }), next = await train(steps);
      const seconds = (before.seconds + next.seconds) / 2, times = hurt.seconds / seconds;
      const percent = Math.min(before.percent, next.percent);
      const isRight = times <= MOST_TIMES && hurt.percent >= percent - MOST_WORSE;
      if (!isRight) wrong++;
      const who = victim === 0 ? "the task" : `replica ${victim - 1}`;
      console.log(
        `${who} killed at step ${step}: ${
          hurt.seconds.toFixed(1)
        } s and ${hurt.percent} %, undisturbed ${before.seconds.toFixed(1)} and ${
          next.seconds.toFixed(1)
        } s and ${percent} %: ${times.toFixed(2)} times as long${isRight ? "" : " WRONG"}`,
      );
      before = next;
    }
  }
  return wrong === 0 ? 0 : 1;
}
