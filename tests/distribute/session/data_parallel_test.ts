/** Replicas that train one model: exactly as one process would, with late and lost ones, and after the task itself was lost. */

import * as tf from "@weft/weft";
import { assert, assertAlmostEquals, assertEquals, assertRejects, assertThrows } from "@std/assert";
import { stub } from "@std/testing/mock";
import {
  DataParallel,
  type DataParallelOptions,
  MemoryTransport,
  remoteTarget,
  Server,
} from "@weft/weft/distribute";
import { testOnDevices } from "../../devices.ts";
import { near, Replica, together } from "./replica.ts";

const { errors } = tf, { train } = tf.compat.v1;
const optimizers: Record<string, () => DataParallelOptions["optimizer"]> = {
  "gradient descent": () => new train.GradientDescentOptimizer(0.1),
  momentum: () => new train.MomentumOptimizer(0.05, 0.9),
  Adam: () => new train.AdamOptimizer(0.01),
  "rates of the step": () => (step) =>
    new train.GradientDescentOptimizer(train.exponentialDecay(0.2, step, 5, 0.5)),
};
for (const [name, optimizer] of Object.entries(optimizers)) {
  testOnDevices(
    `four replicas have the losses of one with four times the batch, ${name}`,
    async () => {
      await using server = await Server.createLocal();
      const one = await together(server, 12, { replicas: 1, optimizer: optimizer(), name: "one" });
      const four = await together(server, 12, {
        replicas: 4,
        optimizer: optimizer(),
        name: "four",
      });
      near(four.losses, one.losses);
      for (const p of four.parameters) near(p, one.parameters[0]);
      assert(one.losses[11] < one.losses[0]);
    },
  );
}

Deno.test("training over gRPC, with a secret", async () => {
  await using server = new Server({ cluster: { ps: ["127.0.0.1:0"] }, secret: "ours" });
  await server.start();
  const target = (secret: string) => remoteTarget(server.target, { secret });
  await together(server, 3, { replicas: 2, target: target("ours") });
  await using stranger = new Replica(server, { target: target("other") });
  await assertRejects(() => stranger.train(5), errors.UnauthenticatedError);
});

Deno.test("asynchronous replicas train without waiting for each other", async () => {
  await using server = await Server.createLocal();
  const all = [0, 1, 2].map((replica) =>
    new Replica(server, { replica, replicas: 4, mode: "async" })
  );
  const given = await Promise.all(all.map((r) => r.train(60)));
  const steps = given.reduce((a, b) => a + b, 0);
  // Each gradient is a step; those that were under way when the last was made are steps too.
  assert(steps >= 60 && steps < 63, `${given}`);
  // Which replica makes the first step, and which the last, is open.
  const first = all.find((r) => r.losses[0] !== undefined)!.losses[0];
  const last = all.map((r) => r.losses).sort((a, b) => b.length - a.length)[0].at(-1)!;
  assert(last < first / 2, `${first} to ${last}`);
  for (const r of all) await r[Symbol.asyncDispose]();
});

Deno.test("a replica that is slow holds nobody up where fewer gradients make a step, and its late ones are dropped", async () => {
  await using server = await Server.createLocal();
  const options = { replicas: 4, replicasToAggregate: 3 };
  let go = (): void => {};
  const held = new Promise<void>((resolve) => go = resolve);
  const slow = new Replica(server, { ...options, replica: 3 });
  // Its own second step may be a later one of all.
  const late = slow.train(10, { batch: (step) => step >= 2 ? held : undefined });
  const others = [0, 1, 2].map((replica) => new Replica(server, { ...options, replica }));
  await Promise.all(others.map((r) => r.train(10)));
  go();
  await late;
  assert(slow.losses.filter((l) => l !== undefined).length <= 3);
  near(
    Array.from(slow.variables[0].dataSync() as Float32Array),
    Array.from(others[0].variables[0].dataSync() as Float32Array),
  );
  for (const r of [slow, ...others]) await r[Symbol.asyncDispose]();
});

Deno.test("a replica that joins late begins where the others are", async () => {
  await using server = await Server.createLocal();
  const first = new Replica(server, { replica: 0, replicas: 2 });
  const training = first.train(6);
  const second = new Replica(server, { replica: 1, replicas: 2 });
  assertEquals(await second.train(6), 6);
  await training;
  const third = new Replica(server, { replica: 1, replicas: 2 });
  assertEquals(await third.train(6), 0);
  near(third.losses, []);
  assertEquals(
    third.variables.map((v) => v.arraySync()),
    first.variables.map((v) => v.arraySync()),
  );
  for (const r of [first, second, third]) await r[Symbol.asyncDispose]();
});

Deno.test("chiefs that begin at once do no harm", async () => {
  await using server = await Server.createLocal();
  const wanted = await together(server, 8, { replicas: 1, name: "one" });
  for (let i = 0; i < 3; i++) {
    const found = await together(server, 8, { replicas: 4, chief: true, name: `chiefs_${i}` });
    near(found.losses, wanted.losses);
  }
});

Deno.test("a chief that died as it began is replaced by one of the others", async () => {
  await using server = await Server.createLocal();
  const wanted = await together(server, 8, { replicas: 1, name: "one" });
  const graph = new tf.Graph();
  const claim = graph.asDefault(() => {
    const claims = new tf.compat.v1.ConditionalAccumulator("float32", {
      shape: [],
      sharedName: "died/claims",
    });
    return tf.controlDependencies([claims.applyGrad(0)!], () => claims.takeGrad(1));
  });
  const target = remoteTarget(server.target, { transport: server.transport });
  await using dead = new tf.Session({ graph, target });
  await dead.run(claim);
  // A tenth of a second passes with each look at the clock.
  let clock = 0;
  using _ = stub(performance, "now", () => clock += 100);
  const patienceMs = 600_000;
  const found = await together(server, 8, { replicas: 4, chief: true, name: "died", patienceMs });
  near(found.losses, wanted.losses);
});

for (const replica of [0, 2]) {
  for (const moment of ["computes", "waits"] as const) {
    Deno.test(`replica ${replica} is killed while it ${moment}, and comes back`, async () => {
      await using server = await Server.createLocal();
      const options = { replicas: 4 }, stop = new AbortController();
      const make = (replica: number) => new Replica(server, { ...options, replica });
      const others = [0, 1, 2, 3].filter((r) => r !== replica).map(make);
      const trainings = others.map((r) => r.train(30));
      const victim = make(replica);
      const killed = victim.train(30, {
        signal: stop.signal,
        ...(moment === "computes" && {
          batch: (step: number) => {
            if (step === 7) stop.abort(new Error("killed"));
          },
        }),
        onStep: (step) => {
          if (moment === "waits" && step === 7) stop.abort(new Error("killed"));
        },
      });
      await assertRejects(() => killed, errors.CancelledError, "cancelled");
      await victim[Symbol.asyncDispose]();
      const again = make(replica);
      await again.train(30);
      await Promise.all(trainings);
      const whole = await together(server, 30, { ...options, name: "whole" });
      const last = others[0].losses[29];
      assert(
        last < 1.2 * whole.losses[29] + 0.02,
        `${last} where nobody was killed ${whole.losses[29]}`,
      );
      assertEquals(
        again.variables.map((v) => v.arraySync()),
        others[0].variables.map((v) => v.arraySync()),
      );
      for (const r of [...others, again]) await r[Symbol.asyncDispose]();
    });
  }
}

type Accumulator = tf.compat.v1.ConditionalAccumulator;
const strangers: Record<string, (acc: Accumulator) => tf.Tensor> = {
  "were taken by somebody who died": (acc) => acc.takeGrad(1),
  "are dropped, as somebody counted on": (acc) =>
    tf.controlDependencies(
      [acc.setGlobalStep(1000)!],
      () =>
        tf.controlDependencies([acc.applyGrad(tf.zeros([25]), 1000)!], () => acc.numAccumulated()),
    ),
};
for (const [what, does] of Object.entries(strangers)) {
  Deno.test(`gradients that ${what} are given again`, async () => {
    await using server = await Server.createLocal();
    await using a = new Replica(server, { replica: 0, replicas: 2, name: "lost" });
    await using b = new Replica(server, { replica: 1, replicas: 2, name: "lost" });
    const graph = new tf.Graph();
    const done = graph.asDefault(() =>
      does(
        new tf.compat.v1.ConditionalAccumulator("float32", {
          shape: [25],
          sharedName: "lost/accumulator",
        }),
      )
    );
    await using session = new tf.Session({
      graph,
      target: remoteTarget(server.target, { transport: server.transport }),
    });
    let stranger: Promise<unknown> | null = null;
    await Promise.all([
      a.train(6, { onStep: (step) => void (step === 2 && (stranger ??= session.run(done))) }),
      b.train(6),
    ]);
    assert(stranger !== null);
    await stranger;
    // The stranger's gradient may complete the last step in place of one replica's.
    const last = [a, b].map((r) => r.losses[5]).filter((loss) => loss !== undefined);
    assert(last.length > 0 && Math.max(...last) < Math.min(a.losses[0], b.losses[0]), `${last}`);
  });
}

Deno.test("a task that has lost all goes on with the checkpoint", async () => {
  const folder = await Deno.makeTempDir(), transport = new MemoryTransport();
  try {
    const serve = async () => {
      const server = new Server({ cluster: { ps: ["ps:7"] }, transport, host: "ps" });
      await server.start();
      return server;
    };
    let server = await serve();
    const where = { target: server.target, transport };
    const options = {
      replicas: 2,
      checkpoint: `${folder}/c`,
      checkpointEvery: 4,
      optimizer: new train.AdamOptimizer(0.01),
    };
    const all = [0, 1].map((replica) => new Replica(where, { ...options, replica }));
    let restarted: Promise<void> | null = null;
    const restart = async (): Promise<void> => {
      await server.stop();
      server = await serve();
    };
    const seen: number[][] = [[], []];
    await Promise.all(all.map((r, i) =>
      r.train(16, {
        onStep: (step) => {
          seen[i].push(step);
          if (step === 9) restarted ??= restart();
        },
      })
    ));
    await restarted;
    // Steps since the last checkpoint are made again, no others.
    const again = seen.flatMap((steps) => steps.filter((s, i) => i > 0 && s <= steps[i - 1]));
    assert(again.length > 0 && again.every((s) => s === 8 || s === 9), JSON.stringify(seen));
    assertEquals(seen.map((steps) => steps.at(-1)), [15, 15]);
    const whole = await together({ target: server.target, transport }, 16, {
      ...options,
      checkpoint: `${folder}/d`,
      name: "whole",
    });
    const last = (all[0].losses[15] + all[1].losses[15]) / 2;
    assertAlmostEquals(last, whole.losses[15], 0.1 * whole.losses[15]);
    for (const r of all) await r[Symbol.asyncDispose]();
    await server.stop();
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
});

Deno.test("training that cannot go on says so", async () => {
  await using server = await Server.createLocal();
  // A second passes with each look at the clock: patience ends, and no run takes as long as it lasts.
  let clock = 0;
  using _ = stub(performance, "now", () => clock += 1000);
  const patienceMs = 600_000;
  await using alone = new Replica(server, { replicas: 2, patienceMs });
  await assertRejects(() => alone.train(3), errors.DeadlineExceededError, "some of the 2 replicas");
  await using nobody = new Replica(server, { target: "grpc://127.0.0.1:1", patienceMs });
  await assertRejects(() => nobody.train(3), errors.UnavailableError, "127.0.0.1:1");
  await using waiting = new Replica(server, { replica: 1, name: "no_chief", patienceMs });
  await assertRejects(() => waiting.train(3), errors.DeadlineExceededError, "chief");
  await using failing = new Replica(server, { replicas: 1, name: "failing" });
  const body = () => {
    throw new RangeError("no such batch");
  };
  await assertRejects(() => failing.training.train(3, body), RangeError, "no such batch");
});

Deno.test("another model under the same name is refused", async () => {
  await using server = await Server.createLocal();
  await together(server, 1, { replicas: 1 });
  const v = tf.variable([1, 2]);
  await using other = new DataParallel({
    target: remoteTarget(server.target, { transport: server.transport }),
    variables: [v],
    optimizer: new train.GradientDescentOptimizer(1),
    replica: 0,
    replicas: 1,
  });
  await assertRejects(() => other.train(5, () => tf.sum(v)), errors.InvalidArgumentError, "[25]");
  v.dispose();
});

Deno.test("DataParallel refuses what it cannot train", () => {
  const v = tf.variable([1]), whole = tf.variable([1], true, "whole", "int32");
  const make = (options: Partial<DataParallelOptions>) => () =>
    new DataParallel({
      target: "grpc://nobody:1",
      variables: [v],
      optimizer: new train.GradientDescentOptimizer(1),
      replica: 0,
      replicas: 2,
      ...options,
    });
  for (
    const wrong of [
      { replica: 2 },
      { replica: -1 },
      { replicasToAggregate: 3 },
      { replicasToAggregate: 0 },
      { variables: [] },
      { mode: "both" as "sync" },
    ]
  ) {
    assertThrows(make(wrong), tf.ValueError, "Cannot train");
  }
  assertThrows(make({ variables: [whole] }), tf.ValueError, "int32");
  const none = undefined as unknown as DataParallelOptions;
  assertThrows(() => new DataParallel(none), TypeError, "Missing arguments of DataParallel");
  for (
    const [wrong, name] of [
      [{ target: 3 }, "'target'"],
      [{ variables: undefined }, "'variables'"],
      [{ variables: [null] }, "'variables[0]'"],
      [{ optimizer: "sgd" }, "'optimizer'"],
      [{ replica: "0" }, "'replica'"],
      [{ replicas: undefined }, "'replicas'"],
    ] as const
  ) {
    assertThrows(make(wrong as object), TypeError, `Argument ${name} passed to 'DataParallel'`);
  }
  v.dispose();
  whole.dispose();
});
